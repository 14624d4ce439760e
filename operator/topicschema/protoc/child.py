"""The child process that compiles: how it is started, how long it may live, and what its end means.

It gets its request and an empty environment, nothing else, and limits its own memory and CPU time (`compiler`). Time
by the clock is watched here; when that runs out the machine is at fault, not the sources.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from topicschema.core.errors import WaitingError
from topicschema.protoc import compiler, errors, sources
from topicschema.protoc.sources import ProtobufSources

AT_ONCE: Final = 2
"""How many children `compile_envelope_async` keeps busy; more wait for their turn."""
_MAX_ANSWER: Final = 4 * 1024 * 1024
_LAST_WORDS: Final = 300
_MAX_COMPLAINTS: Final = 16 * 1024
_NOT_OF_THE_SOURCES: Final = {1, -signal.SIGKILL, -signal.SIGTERM}
"""An exception that nobody foresaw, and what others do to processes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may take: bytes of address space, seconds of CPU time, seconds by the clock."""

    memory: int = 256 * 1024 * 1024
    cpu_seconds: int = 3
    seconds: float = 8


LIMITS: Final = Limits()
_TURNS: Final = ThreadPoolExecutor(AT_ONCE, "compile")


def compile_envelope(wanted: ProtobufSources, limits: Limits = LIMITS) -> bytes:
    """The envelope that the Java client would send for the root message.

    InvalidSchemaError FILE_NAME, SOURCES_TOO_LARGE, NOT_UTF8, INVALID_PROTO, MISSING_FILE, CIRCULAR_IMPORT,
    UNKNOWN_MESSAGE or COMPILATION_TOO_EXPENSIVE, whose path is `$.message`, `$.files` or a file below it; WaitingError
    if the machine is at fault.
    """
    return _Child(wanted.files, wanted.message.removeprefix("."), limits).envelope()[1]


def compile_first(files: Mapping[str, str], limits: Limits = LIMITS) -> tuple[str, bytes]:
    """The root message's full name and the envelope, when the first file has one message only; errors as above."""
    return _Child(files, None, limits).envelope()


async def compile_envelope_async(wanted: ProtobufSources, limits: Limits = LIMITS) -> bytes:
    """`compile_envelope`, without blocking the event loop; the child does not outlive a cancellation."""
    child = _Child(wanted.files, wanted.message.removeprefix("."), limits)
    try:
        turn = asyncio.get_running_loop().run_in_executor(_TURNS, child.envelope)
    except RuntimeError as error:  # no memory for a thread, or no more of them
        raise _not_started(str(error)) from error
    try:
        return (await turn)[1]
    finally:
        child.stop()


class _Child:
    """One compilation."""

    def __init__(self, files: Mapping[str, str], message: str | None, limits: Limits) -> None:
        self._files = files
        self._message = message
        self._limits = limits
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def envelope(self) -> tuple[str, bytes]:
        """The root message and the envelope; blocks until the child has ended."""
        sources.check(self._files)
        try:
            answer = self._asked()
        except OSError as error:  # no memory, no more processes or files, no interpreter
            raise _not_started(error.strerror) from error
        if "messages" in answer:
            raise errors.unknown_message(self._message, answer["messages"], answer["count"])
        if "size" in answer:
            raise errors.too_large(answer["size"])
        return answer["message"], answer["envelope"].encode()

    def stop(self) -> None:
        """Ends the child, if it runs, and keeps it from being started."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def _asked(self) -> dict[str, Any]:
        with _memory() as printed, self._started(printed) as process:
            clock = threading.Timer(self._limits.seconds, self.stop)
            try:
                clock.start()
            except RuntimeError as error:  # as above
                self.stop()
                raise _not_started(str(error)) from error
            try:
                said = process.stdout.read(_MAX_ANSWER) if process.stdout else b""
                code = process.wait()
            finally:
                clock.cancel()
            if code == 0 and not self._is_stopped:
                answer: dict[str, Any] = json.loads(said)
                return answer
            printed.seek(0)
            words = printed.read(_MAX_COMPLAINTS).decode(errors="replace")
            raise self._end(code, words) if said else self._unavailable(code, words)

    def _started(self, printed: BinaryIO) -> "subprocess.Popen[bytes]":
        request = {"path": sys.path, "files": dict(self._files), "message": self._message}
        limits = (str(self._limits.memory), str(self._limits.cpu_seconds))
        command = [sys.executable, "-I", "-S", compiler.__file__, *limits]
        with self._lock, _memory() as given:
            if self._is_stopped:
                raise WaitingError("CompilerStopped", "the compilation was given up before it began")
            given.write(json.dumps(request).encode())
            given.seek(0)
            self._process = subprocess.Popen(  # noqa: S603  # our own program; what is foreign is its input
                command, stdin=given, stdout=subprocess.PIPE, stderr=printed, env={}, cwd="/"
            )
            return self._process

    def _end(self, code: int, printed: str) -> Exception:
        """What it means that the child began, and ended without an answer."""
        if code == compiler.COMPLAINED:
            return errors.error(printed, self._files, is_cut=len(printed) == _MAX_COMPLAINTS)
        if code == -signal.SIGXCPU:
            return errors.too_costly(f"takes more than {self._limits.cpu_seconds} seconds")
        if code == -signal.SIGXFSZ:
            return errors.too_costly(f"makes protoc write more than {compiler.MAX_WRITTEN >> 20} MiB")
        if self._is_stopped or code in _NOT_OF_THE_SOURCES:
            return self._unavailable(code, printed)
        return errors.too_costly(f"takes more than {self._limits.memory >> 20} MiB of memory, or breaks protoc")

    def _unavailable(self, code: int, printed: str) -> Exception:
        if self._is_stopped:
            message = f"the sources were not compiled within {self._limits.seconds:g} seconds; the machine is busy"
            return WaitingError("CompilerTimeout", message)
        return WaitingError("CompilerUnavailable", f"the compiler ended with {code}: {printed.strip()[-_LAST_WORDS:]}")


def _not_started(why: str | None) -> WaitingError:
    return WaitingError("CompilerUnavailable", f"the compiler cannot be started: {why}")


def _memory() -> BinaryIO:
    """A file that is on no disk."""
    return os.fdopen(os.memfd_create("compile"), "w+b")
