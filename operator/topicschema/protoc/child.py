"""The child process that compiles: its start, its time limit, and the meaning of its exit code.

It gets its request and an empty environment, nothing else, and limits its own memory and CPU time (see `compiler`).
Elapsed time is limited here. If that limit is reached, the machine is at fault, not the sources.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Self

from topicschema.child_process import ChildProcess, StoppedError
from topicschema.core.errors import WaitingError
from topicschema.core.reasons import Reason
from topicschema.core.schemas import PulsarVersion
from topicschema.protoc import compiler, errors, sources
from topicschema.protoc.sources import ProtobufSources

AT_ONCE: Final = 2
"""Maximum number of children that `compile_envelope_async` runs at once. More wait."""
_MAX_ANSWER: Final = 4 * 1024 * 1024
_LAST_WORDS: Final = 300
_MAX_COMPLAINTS: Final = 16 * 1024
_NOT_OF_THE_SOURCES: Final = {1, -signal.SIGKILL, -signal.SIGTERM}
"""Exit codes of an unexpected exception, and of signals that other processes send."""


@dataclass(frozen=True, slots=True)
class ProtocLimits:
    """Limits of one child: bytes of address space, seconds of CPU time, seconds of elapsed time."""

    memory: int = 256 * 1024 * 1024
    cpu_seconds: int = 3
    seconds: float = 8


LIMITS: Final = ProtocLimits()
_TURNS: Final = ThreadPoolExecutor(AT_ONCE, "compile")


def compile_envelope(
    proto_sources: ProtobufSources, limits: ProtocLimits = LIMITS, *, pulsar_version: PulsarVersion = PulsarVersion.V4_0
) -> bytes:
    """Return the envelope that the Java client of that Pulsar version would send for the root message.

    Raises InvalidSchemaError FILE_NAME, SOURCES_TOO_LARGE, NOT_UTF8, INVALID_PROTO, MISSING_FILE, CIRCULAR_IMPORT,
    UNKNOWN_MESSAGE or COMPILATION_TOO_EXPENSIVE. Its path is `$.message`, `$.files` or a file below it. Raises
    WaitingError if the machine is at fault.
    """
    return _Compiler.of(proto_sources, limits, pulsar_version).envelope()[1]


def compile_first(
    files: Mapping[str, str], limits: ProtocLimits = LIMITS, *, pulsar_version: PulsarVersion = PulsarVersion.V4_0
) -> tuple[str, bytes]:
    """Return the root message's full name and the envelope. The first file must have exactly one message.

    Raises the errors of `compile_envelope`.
    """
    return _Compiler(files, None, limits, pulsar_version).envelope()


async def compile_envelope_async(
    proto_sources: ProtobufSources, limits: ProtocLimits = LIMITS, *, pulsar_version: PulsarVersion = PulsarVersion.V4_0
) -> bytes:
    """Run `compile_envelope` without blocking the event loop. A cancellation also ends the child."""
    child = _Compiler.of(proto_sources, limits, pulsar_version)
    try:
        return (await child.process.run(_TURNS, child.envelope))[1]
    except OSError as error:
        raise _not_started(error.strerror) from error


class _Compiler:
    def __init__(
        self, files: Mapping[str, str], message: str | None, limits: ProtocLimits, pulsar_version: PulsarVersion
    ) -> None:
        self._files = files
        self._has_protobuf_4 = pulsar_version.has_protobuf_4
        self._message = message
        self._limits = limits
        self.process = ChildProcess()

    @classmethod
    def of(cls, proto_sources: ProtobufSources, limits: ProtocLimits, pulsar_version: PulsarVersion) -> Self:
        """Return the child that compiles the sources."""
        return cls(proto_sources.files, proto_sources.message.removeprefix("."), limits, pulsar_version)

    def envelope(self) -> tuple[str, bytes]:
        """Return the root message and the envelope. Blocks until the child has ended."""
        sources.check(self._files)
        try:
            answer = self._run()
        except OSError as error:  # no memory, no more processes or files, no interpreter
            raise _not_started(error.strerror) from error
        if "messages" in answer:
            raise errors.unknown_message(self._message, answer["messages"], answer["count"])
        if "size" in answer:
            raise errors.too_large(answer["size"])
        return answer["message"], answer["envelope"].encode()

    def _run(self) -> dict[str, Any]:
        with _memory() as printed, self._started(printed) as process:
            clock = threading.Timer(self._limits.seconds, self.process.stop)
            try:
                clock.start()
            except RuntimeError as error:  # as above
                self.process.stop()
                raise _not_started(str(error)) from error
            try:
                output = process.stdout.read(_MAX_ANSWER) if process.stdout else b""
                code = process.wait()
            finally:
                clock.cancel()
            if code == 0 and not self.process.is_stopped:
                answer: dict[str, Any] = json.loads(output)
                return answer
            printed.seek(0)
            words = printed.read(_MAX_COMPLAINTS).decode(errors="replace")
            raise self._end(code, words) if output else self._unavailable(code, words)

    def _started(self, printed: BinaryIO) -> "subprocess.Popen[bytes]":
        request = {
            "path": sys.path,
            "files": dict(self._files),
            "message": self._message,
            "has_protobuf_4": self._has_protobuf_4,
        }
        limits = (str(self._limits.memory), str(self._limits.cpu_seconds))
        command = [sys.executable, "-I", "-S", compiler.__file__, *limits]
        with _memory() as request_file:
            request_file.write(json.dumps(request).encode())
            request_file.seek(0)
            try:
                return self.process.start(
                    lambda: subprocess.Popen(  # noqa: S603  # our own program; only its input is foreign
                        command, stdin=request_file, stdout=subprocess.PIPE, stderr=printed, env={}, cwd="/"
                    )
                )
            except StoppedError:
                raise WaitingError(Reason.COMPILER_STOPPED, "the compilation was given up before it began") from None

    def _end(self, code: int, printed: str) -> Exception:
        """Return the error for a child that started and ended without an answer."""
        if code == compiler.COMPLAINED:
            return errors.error(printed, self._files, is_cut=len(printed) == _MAX_COMPLAINTS)
        if code == -signal.SIGXCPU:
            return errors.too_costly(f"takes more than {self._limits.cpu_seconds} seconds")
        if code == -signal.SIGXFSZ:
            return errors.too_costly(f"makes protoc write more than {compiler.MAX_WRITTEN >> 20} MiB")
        if self.process.is_stopped or code in _NOT_OF_THE_SOURCES:
            return self._unavailable(code, printed)
        return errors.too_costly(f"takes more than {self._limits.memory >> 20} MiB of memory, or breaks protoc")

    def _unavailable(self, code: int, printed: str) -> Exception:
        if self.process.is_stopped:
            message = f"the sources were not compiled within {self._limits.seconds:g} seconds; the machine is busy"
            return WaitingError(Reason.COMPILER_TIMEOUT, message)
        return WaitingError(
            Reason.COMPILER_UNAVAILABLE, f"the compiler ended with {code}: {printed.strip()[-_LAST_WORDS:]}"
        )


def _not_started(why: str | None) -> WaitingError:
    return WaitingError(Reason.COMPILER_UNAVAILABLE, f"the compiler cannot be started: {why}")


def _memory() -> BinaryIO:
    """Return an anonymous file in memory."""
    return os.fdopen(os.memfd_create("compile"), "w+b")
