"""A small pair out of a large one: parts are removed as long as the disagreement stays."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

Pair = tuple[str, str]
_MOST_ROUNDS = 60


def shrink(pair: Pair, has_fault: Callable[[list[Pair]], list[bool]]) -> Pair:
    """Return a smallest pair with the fault, which `has_fault` checks for many pairs at once."""
    for _ in range(_MOST_ROUNDS):
        smaller = sorted(set(_smaller(pair)), key=lambda each: len(each[0]) + len(each[1]))
        faulty = [each for each, is_faulty in zip(smaller, has_fault(smaller), strict=True) if is_faulty]
        if not faulty:
            break
        pair = faulty[0]
    return pair


def _smaller(pair: Pair) -> Iterator[Pair]:
    try:
        values = [json.loads(text) for text in pair]
    except ValueError:  # a text that is no JSON is shown as it is
        return
    for side, value in enumerate(values):
        for less in _lessened(value):
            texts = json.dumps(less), pair[1 - side]
            yield texts if side == 0 else texts[::-1]
    if values[0] == values[1]:
        yield from ((json.dumps(less),) * 2 for less in _lessened(values[0]))


def _lessened(value: Any) -> Iterator[Any]:
    """Yield the value with one part removed, or with one part in place of its container."""
    for path in _paths(value):
        less = copy.deepcopy(value)
        holder = less
        for step in path[:-1]:
            holder = holder[step]
        part = holder.pop(path[-1])
        yield less
        if isinstance(part, dict | list):
            yield part
        if isinstance(part, dict) and "type" in part and "fields" not in part:
            again = copy.deepcopy(value)
            holder = again
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = part["type"]
            yield again


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every part of a JSON value."""
    steps = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for step in steps:
        yield (step,)
        yield from ((step, *rest) for rest in _paths(value[step]))
