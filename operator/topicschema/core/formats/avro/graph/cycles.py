"""Cycle detection in a graph, without recursion."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def find(starts: Iterable[T], following: Callable[[T], list[T]]) -> T | None:
    """Return a member of the first cycle on the paths from `starts` along `following`, or None."""
    done: set[T] = set()
    for start in starts:
        if start in done:
            continue
        path = [(start, following(start))]
        on_path = {start}
        while path:
            member, ahead = path[-1]
            if not ahead:
                path.pop()
                on_path.discard(member)
                done.add(member)
                continue
            step = ahead.pop()
            if step in on_path:
                return step
            if step not in done:
                on_path.add(step)
                path.append((step, following(step)))
    return None
