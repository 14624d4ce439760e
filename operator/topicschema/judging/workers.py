"""Processes for long computations. They do not block the event loop, and they can be ended.

A thread would share the interpreter, and cannot be ended from outside.
"""

import asyncio
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from topicschema.child_process import ChildProcess, StoppedError
from topicschema.core.errors import WaitingError
from topicschema.core.reasons import Reason
from topicschema.judging import worker
from topicschema.judging.cpu_time import MOST_SECONDS, OutOfTimeError
from topicschema.judging.worker import MOST_BYTES, CallResult, WorkerCall

T = TypeVar("T")

_AT_ONCE: Final = 2
_SECONDS: Final = 60.0
"""The timeout of one call. Only a machine that is very busy reaches it, because the CPU time has a limit, too."""


class WorkerOutOfMemoryError(Exception):
    """The call needs more memory than a worker may use."""

    def __init__(self) -> None:
        super().__init__(f"takes more than {MOST_BYTES >> 20} MiB of memory")


BEYOND_LIMITS: Final = (WorkerOutOfMemoryError, OutOfTimeError)
"""The errors of a call that is not worth another try."""


class Workers:
    """Worker processes, started on demand. Calls wait for a free one.

    Each Pulsar namespace has at most one call in a worker or waiting for one. So one policy's topics do not hold up
    those of another.
    """

    def __init__(
        self, at_once: int = _AT_ONCE, seconds: float = _SECONDS, *, cpu_seconds: float = MOST_SECONDS
    ) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self._namespaces: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._threads = ThreadPoolExecutor(at_once, "worker")
        self._seconds = seconds
        self.cpu_seconds: Final = cpu_seconds
        self._idle: deque[_Worker] = deque()
        self._running: set[_Turn] = set()
        worker.register_reducers()

    async def call(
        self, namespace: str, function: Callable[..., T], *arguments: Any, cpu_seconds: float | None = None
    ) -> T:
        """Call the module-level function in a worker, for a topic of the Pulsar namespace.

        Return its result or raise its error.

        Cancellation ends the process. Raise OutOfMemoryError or OutOfTimeError if the call takes too much memory or CPU
        time. Raise WaitingError if the machine is too busy, or if the process did not start or was ended from outside.
        """
        slot = self._namespaces.setdefault(namespace, asyncio.Lock())
        async with slot, self._turns:
            turn = _Turn(self._idle, WorkerCall(function, arguments, cpu_seconds or self.cpu_seconds))
            self._running.add(turn)
            try:
                async with asyncio.timeout(self._seconds):
                    answer = await turn.process.run(self._threads, turn.answer)
            except OutOfTimeError:
                raise OutOfTimeError(self.cpu_seconds) from None  # earlier calls may have used a part of it
            except TimeoutError:
                message = f"a worker had no answer within {self._seconds:g} seconds; the machine is busy"
                raise WaitingError(Reason.WORKER_TIMEOUT, message) from None
            except OSError as error:  # no memory, no more threads, processes or files
                raise WaitingError(
                    Reason.WORKER_UNAVAILABLE, f"a worker cannot be started: {error.strerror}"
                ) from error
            finally:
                self._running.discard(turn)
        if isinstance(answer.error, MemoryError):
            raise WorkerOutOfMemoryError
        if answer.error is not None:
            raise answer.error
        value: T = answer.value
        return value

    def close(self) -> None:
        """End all processes. Pending calls fail."""
        for turn in tuple(self._running):
            turn.process.stop()
        self._threads.shutdown()
        while self._idle:
            self._idle.pop().end()


class _Turn:
    """One call, in an idle process or a new one."""

    def __init__(self, idle: "deque[_Worker]", call: WorkerCall) -> None:
        self._idle = idle
        self._call = call
        self.process = ChildProcess()

    def answer(self) -> CallResult:
        """Return the answer; block until the worker sends it.

        Raise OutOfTimeError if the kernel ended the process for its CPU time, WaitingError if it ended otherwise.
        """
        try:
            process = self.process.start(self._worker)
        except StoppedError:
            raise WaitingError(Reason.WORKER_UNAVAILABLE, "the call was given up before it began") from None
        try:
            answer = process.call(self._call)
        except (EOFError, OSError) as error:
            status = process.end()
            if status == -signal.SIGPROF:
                raise OutOfTimeError(self._call.cpu_seconds) from None
            raise WaitingError(Reason.WORKER_UNAVAILABLE, f"a worker ended with {status}") from error
        except BaseException:
            process.end()
            raise
        finally:
            self.process.release()
        if answer.is_last:
            process.end()
        else:
            self._idle.append(process)
        return answer

    def _worker(self) -> "_Worker":
        while self._idle:
            idle = self._idle.pop()
            if idle.is_alive:
                return idle
            idle.end()
        return _Worker()


class _Worker:
    """A process, and the socket for its calls. One thread at a time uses it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            program = f"from {worker.__name__} import main; main({theirs.fileno()})"
            self._process = subprocess.Popen(  # noqa: S603 - our own program; only the calls have foreign data
                [sys.executable, "-c", program], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )
            self._connection = Connection(ours.detach())

    @property
    def is_alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def call(self, call: WorkerCall) -> CallResult:
        """Return the answer. Raise EOFError or OSError if the process has ended."""
        self._connection.send(call)
        answer: CallResult = self._connection.recv()
        return answer

    def kill(self) -> None:
        """End the process. A thread that waits for its answer gets EOFError."""
        self._process.kill()

    def end(self) -> int:
        """End the process and return its exit status."""
        self._process.kill()
        self._connection.close()
        return self._process.wait()
