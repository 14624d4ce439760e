"""A small pair out of a large one: parts are taken away for as long as what is looked for stays."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

Pair = tuple[str, str]
_MOST_ROUNDS = 60


def shrunk(pair: Pair, is_wanted: Callable[[list[Pair]], list[bool]]) -> Pair:
    """The smallest pair met, which `is_wanted` like the first; it is asked of many pairs at once."""
    for _ in range(_MOST_ROUNDS):
        smaller = sorted(set(_smaller(pair)), key=lambda each: len(each[0]) + len(each[1]))
        kept = [each for each, wanted in zip(smaller, is_wanted(smaller), strict=True) if wanted]
        if not kept:
            break
        pair = kept[0]
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
    """The value with one part taken away, or with one part in place of what holds it."""
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
    """The way to every part of a JSON value."""
    steps = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for step in steps:
        yield (step,)
        yield from ((step, *rest) for rest in _paths(value[step]))
