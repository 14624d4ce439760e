"""The process of a call: any thread can kill it, even before it starts, and so does a cancellation of the caller."""

import errno
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar


class Process(Protocol):
    """A process that a thread other than its own may kill."""

    def kill(self) -> None:
        """End the process."""


T = TypeVar("T")
P = TypeVar("P", bound=Process)


class StoppedError(Exception):
    """The call was stopped before its process started."""


class ChildProcess:
    """The process of one call. A thread starts it and waits for its answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Process | None = None
        self.is_stopped = False

    def start(self, start: Callable[[], P]) -> P:
        """Return the process that the function returns. Raise StoppedError after `stop`."""
        with self._lock:
            if self.is_stopped:
                raise StoppedError
            self._process = process = start()
            return process

    def release(self) -> None:
        """Make `stop` kill no process from here on: its call has ended."""
        with self._lock:
            self._process = None

    def stop(self) -> None:
        """Kill the process if it runs, and prevent its start."""
        with self._lock:
            self.is_stopped = True
            if self._process is not None:
                self._process.kill()

    async def run(self, threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        """Return the result of the call from one of the threads. A cancellation kills the process.

        Raise OSError if the machine has no thread left.
        """
        import asyncio  # noqa: PLC0415  # a tenth of the command line's startup time

        try:
            turn = asyncio.get_running_loop().run_in_executor(threads, call)
        except RuntimeError as error:  # no memory or no quota for a thread
            raise OSError(errno.EAGAIN, str(error)) from error
        try:
            return await turn
        finally:
            self.stop()
