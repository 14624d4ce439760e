"""A function called for many items, by a few processes."""

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import IO, Final, TypeVar

from topicschema.cli.inputs.files import UsageError

T = TypeVar("T")
R = TypeVar("R")

_MOST: Final = 4
"""Maximum number of processes. Each copies a part of the memory."""
_WORTH: Final = 50
"""Minimum number of items for each process. A process takes some milliseconds to start."""


def processes_for(items: int) -> int:
    """Return the number of processes for this number of items."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1  # only Linux has it
    return max(1, min(_MOST, processors, items // _WORTH))


def each_result(function: Callable[[T], R], items: Sequence[T], processes: int) -> list[R]:
    """Return the function's result for each item. Raises the first UsageError.

    The processes are forked, so they have all that the function uses. Results are pickled.
    """
    others = [_start(function, items[number::processes]) for number in range(1, processes)]
    shares = [_results(function, items[::processes])]
    for process, stream in others:
        with stream:
            shares.append(pickle.load(stream))  # noqa: S301  # from a process of ours
        os.waitpid(process, 0)
    results = []
    for number in range(len(items)):
        result = shares[number % processes][number // processes]
        if isinstance(result, UsageError):
            raise result
        results.append(result)
    return results


def _results(function: Callable[[T], R], items: Sequence[T]) -> list[R | UsageError]:
    """Return the results up to the first error, and that error."""
    results: list[R | UsageError] = []
    try:
        for each in items:
            results.append(function(each))  # noqa: PERF401  # the results before an error
    except UsageError as error:
        results.append(UsageError(str(error)))  # a subclass may not be picklable
    return results


def _start(function: Callable[[T], R], items: Sequence[T]) -> tuple[int, IO[bytes]]:
    """Start a process. Return its id, and the stream of its pickled results."""
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        return process, os.fdopen(reader, "rb")
    try:
        os.close(reader)  # else the process waits for ever for a parent process that was killed
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(_results(function, items), stream)
    except Exception:  # noqa: BLE001  # a bug: the parent process fails without the results
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)
