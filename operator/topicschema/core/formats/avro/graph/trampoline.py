"""Recursion without the call stack: generators that yield other generators, driven by one loop.

A text has at most 1,000 levels, but a comparison follows the names of types, and pairs of records nest tens of
thousands deep (docs/decisions/0022-deep-schemas-without-the-call-stack.md). A step is a generator: instead of calling
itself, it yields the call (another generator) and receives the return value.
"""

from collections.abc import Generator
from types import GeneratorType
from typing import Any, TypeVar

T = TypeVar("T")

Computation = Generator["Computation[Any]", Any, T]
"""A computation that yields the computations it depends on and returns a T."""


def run(step: Computation[T]) -> T:
    """Return the result of `step`, however deep its computations nest."""
    waiting: list[Computation[Any]] = []
    current: Computation[Any] = step
    answer: Any = None
    while True:
        try:
            step_inside = current.send(answer)
        except StopIteration as finished:
            answer = finished.value
            if not waiting:
                return answer  # type: ignore[no-any-return]  # the first step is the last to finish: a T
            current = waiting.pop()
        else:
            waiting.append(current)
            current, answer = step_inside, None


def settled(answer: Any) -> Computation[Any]:
    """Return the answer. If it is a computation, run it and return its result."""
    return (yield answer) if answer.__class__ is GeneratorType else answer
