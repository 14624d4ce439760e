"""Cycles and strongly connected components of a directed graph, without recursion."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
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


def components(successors: Mapping[T, Sequence[T]]) -> Iterator[list[T]]:
    """Yield each component once, after all components that it leads to (Tarjan's algorithm with an explicit stack).

    Every node must be a key of `successors`.
    """
    index: dict[T, int] = {}
    lowest: dict[T, int] = {}
    open_nodes: dict[T, None] = {}  # in discovery order; a node is removed with its component
    work: list[tuple[T, Iterator[T]]] = []

    def enter(node: T) -> None:
        index[node] = lowest[node] = len(index)
        open_nodes[node] = None
        work.append((node, iter(successors[node])))

    for start in successors:
        if start not in index:
            enter(start)
        while work:
            node, rest = work[-1]
            child = next((child for child in rest if child not in index or child in open_nodes), None)
            if child is not None and child not in index:
                enter(child)
            elif child is not None:
                lowest[node] = min(lowest[node], index[child])
            else:
                work.pop()
                before = work[-1][0] if work else node
                lowest[before] = min(lowest[before], lowest[node])
                yield from _leave(open_nodes, node) if lowest[node] == index[node] else ()


def _leave(open_nodes: dict[T, None], until: T) -> Iterator[list[T]]:
    """Remove `until` and all nodes after it from `open_nodes`, and yield them as one component."""
    component = []
    while until in open_nodes:
        component.append(open_nodes.popitem()[0])
    yield component
