"""The program of a worker process: receives function calls, and sends their results or errors.

It ends with its parent process. It also ends when its memory has grown, to free it.
"""

import copyreg
import gc
import os
import resource
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

MOST_BYTES: Final = 256 * 1024 * 1024
"""The memory limit of one call in bytes, including the interpreter."""
_GROWN_BYTES: Final = 128 * 1024 * 1024
_COLLECTOR: Final = (50_000, 20, 20)
"""Thresholds of the garbage collector for few collections, because most objects live until the end of a call."""


class WorkerCall(NamedTuple):
    """A module-level function, its arguments, and the limit of its CPU time."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cpu_seconds: float


class CallResult(NamedTuple):
    """Result of a call, or the `error` that it raised. If `is_last` is True, the worker ends after it."""

    value: Any
    error: Exception | MemoryError | None = None
    is_last: bool = False


def register_reducers() -> None:
    """Register a reducer for read-only mappings, which pickle does not support."""
    copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


def main(socket: int) -> None:
    """Answer the calls from the socket with that file descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    register_reducers()
    _limit()
    with Connection(socket) as connection, suppress(EOFError, ConnectionError):
        is_last = False
        while not is_last:
            answer = _run(connection.recv())
            connection.send(answer)
            is_last = answer.is_last


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


def _run(call: WorkerCall) -> CallResult:
    signal.setitimer(signal.ITIMER_PROF, call.cpu_seconds)  # no code can prevent that its signal ends the process
    try:
        value = call.function(*call.arguments)
    except MemoryError:
        return CallResult(None, MemoryError(), is_last=True)
    except Exception as error:  # noqa: BLE001 - the parent process raises it again
        error.add_note(traceback.format_exc())
        return CallResult(None, error, is_last=_has_grown())
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return CallResult(value, is_last=_has_grown())


def _has_grown() -> bool:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() > _GROWN_BYTES


def _limit() -> None:
    """Limit the memory, and lower the priority below that of the parent process."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = MOST_BYTES if hard == resource.RLIM_INFINITY else min(MOST_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    os.nice(5)
    gc.set_threshold(*_COLLECTOR)
