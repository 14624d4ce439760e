"""Recursion without the stack: generators that ask for the results of others, driven by one loop.

A schema may be ten thousand levels deep, Python's stack may not. A step is written as a generator; where it would call
itself it yields the call (another generator) and gets back what that returns.
"""

from collections.abc import Generator
from types import GeneratorType
from typing import Any, TypeVar

T = TypeVar("T")

Step = Generator["Step[Any]", Any, T]
"""A computation that yields the computations it depends on and returns a T."""


def run(step: Step[T]) -> T:
    """What `step` returns, however deep its computations nest."""
    waiting: list[Step[Any]] = []
    current: Step[Any] = step
    answer: Any = None
    while True:
        try:
            asked = current.send(answer)
        except StopIteration as finished:
            answer = finished.value
            if not waiting:
                return answer  # type: ignore[no-any-return]  # the first step is the last to finish: a T
            current = waiting.pop()
        else:
            waiting.append(current)
            current, answer = asked, None


def settled(answer: Any) -> Step[Any]:
    """The answer, once the computation that it may be is done."""
    return (yield answer) if answer.__class__ is GeneratorType else answer
