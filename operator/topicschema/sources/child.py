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
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError, Place, WaitingError
from topicschema.sources import compiler, complaints, sources
from topicschema.sources.sources import PATH, ProtobufSources

AT_ONCE: Final = 2
"""How many children `compile_envelope_async` keeps busy; more wait for their turn."""
_MAX_ANSWER: Final = 4 * 1024 * 1024
_LAST_WORDS: Final = 300


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may take: bytes of address space, seconds of CPU time, seconds by the clock."""

    memory: int = 256 * 1024 * 1024
    cpu_seconds: int = 4
    seconds: float = 8


LIMITS: Final = Limits()
_TURNS: Final = ThreadPoolExecutor(AT_ONCE, "compile")


def compile_envelope(wanted: ProtobufSources, limits: Limits = LIMITS) -> bytes:
    """The envelope that the Java client would send for the root message.

    InvalidSchemaError FILE_NAME, SOURCES_TOO_LARGE, NOT_UTF8, INVALID_PROTO, MISSING_FILE, CIRCULAR_IMPORT,
    UNKNOWN_MESSAGE or TOO_COSTLY, whose path is `$.message`, `$.files` or a file below it; WaitingError when the
    machine is at fault.
    """
    return _Child(wanted.files, wanted.message.removeprefix("."), limits).envelope()[1]


def compile_first(files: Mapping[str, str], limits: Limits = LIMITS) -> tuple[str, bytes]:
    """The root message's full name and the envelope, when the first file has one message only; errors as above."""
    return _Child(files, None, limits).envelope()


async def compile_envelope_async(wanted: ProtobufSources, limits: Limits = LIMITS) -> bytes:
    """`compile_envelope`, without blocking the event loop; the child does not outlive a cancellation."""
    child = _Child(wanted.files, wanted.message.removeprefix("."), limits)
    try:
        return (await asyncio.get_running_loop().run_in_executor(_TURNS, child.envelope))[1]
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
        answer = self._asked()
        if "complaints" in answer:
            raise complaints.error(answer["complaints"], self._files)
        if "messages" in answer:
            raise complaints.unknown_message(self._message, answer["messages"])
        if "size" in answer:
            message = (
                f"the descriptors make {answer['size']:,} bytes, more than {compiler.MAX_ENVELOPE:,}; "
                "give fewer files or messages"
            )
            raise InvalidSchemaError("SOURCES_TOO_LARGE", message, Place(PATH))
        return answer["message"], answer["envelope"].encode()

    def stop(self) -> None:
        """Ends the child, if it runs, and keeps it from being started."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def _asked(self) -> dict[str, Any]:
        with self._started() as process:
            clock = threading.Timer(self._limits.seconds, self.stop)
            clock.start()
            try:
                said = process.stdout.read(_MAX_ANSWER) if process.stdout else b""
                code = process.wait()
            finally:
                clock.cancel()
        if code == 0 and not self._is_stopped:
            answer: dict[str, Any] = json.loads(said)
            return answer
        raise self._end(code, said)

    def _started(self) -> subprocess.Popen[bytes]:
        request = {"path": sys.path, "files": dict(self._files), "message": self._message}
        limits = (str(self._limits.memory), str(self._limits.cpu_seconds))
        command = [sys.executable, "-I", "-S", compiler.__file__, *limits]
        with self._lock, os.fdopen(os.memfd_create("request"), "w+b") as given:
            if self._is_stopped:
                raise WaitingError("CompilerStopped", "the compilation was given up before it began")
            given.write(json.dumps(request).encode())
            given.seek(0)
            try:
                self._process = subprocess.Popen(  # noqa: S603  # our own program; what is foreign is its input
                    command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={}, cwd="/"
                )
            except OSError as error:
                message = f"the compiler cannot be started: {error.strerror}"
                raise WaitingError("CompilerUnavailable", message) from error
            return self._process

    def _end(self, code: int, said: bytes) -> Exception:
        if self._is_stopped:
            message = f"the sources were not compiled within {self._limits.seconds:g} seconds; the machine is busy"
            return WaitingError("CompilerTimeout", message)
        if code in {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGXCPU, compiler.OUT_OF_MEMORY}:
            megabytes = self._limits.memory // (1024 * 1024)
            message = (
                f"compiling takes more than {megabytes} MiB of memory or {self._limits.cpu_seconds} seconds, or breaks "
                "protoc; give smaller or fewer files"
            )
            return InvalidSchemaError("TOO_COSTLY", message, Place(PATH))
        last = said.decode(errors="replace").strip()[-_LAST_WORDS:]
        return WaitingError("CompilerUnavailable", f"the compiler ended with {code}: {last}")
