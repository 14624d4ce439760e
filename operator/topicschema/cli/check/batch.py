"""`topicschema check --batch`: JSON lines in, JSON lines out, in the same order, in constant memory.

An invalid line never stops the rest. See `json_io` for the lines and `engine` for the answers.
"""

import json
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TextIO

from topicschema.cli.check import engine, json_io
from topicschema.cli.check.engine import CheckResult, Refusal, UnusableVersionError
from topicschema.cli.exits import BUG, COMPATIBLE, WRONG_INPUT
from topicschema.core import formats
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.core.lru_cache import LruCache
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_CACHE_BYTES: Final = 64 * 1024 * 1024
_NOT_COMPILED: Final = "COMPILER_UNAVAILABLE"
_SECONDS_BETWEEN_UPDATES: Final = 0.2

_Key = tuple[SchemaType, bytes, frozenset[tuple[str, str]], PulsarVersion, bool]


def answer_all(lines: BinaryIO, answers: TextIO, errors: TextIO, checkers: Checkers = BUILT_IN) -> int:
    """Answer every line. Return 0, or 2 if a line was no valid request, or 70 if one met a bug.

    `checkers` are the plugged-in checkers. `errors` receives the traceback of a bug and, if it is a terminal, the
    progress.
    """
    ctx = _Context(CachedParse(_CACHE_BYTES), EnvelopeCache(_CACHE_BYTES), checkers, errors)
    progress = _Progress(errors)
    code = COMPATIBLE
    for line in _lines(lines):
        answer, met = _answer(line, ctx)
        code = max(code, met)
        answers.write(json.dumps(answer, separators=(",", ":")) + "\n")
        answers.flush()  # a caller may wait for each line
        progress.add(answer["compatible"])
    progress.end()
    return code


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines, None for one that exceeds the limit."""
    while line := stream.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while (rest := stream.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield None


@dataclass(frozen=True, slots=True)
class _Context:
    parse: engine.ParseSchema
    compiled: json_io.Compile
    checkers: Checkers
    errors: TextIO


def _answer(line: bytes | None, ctx: _Context) -> tuple[dict[str, Any], int]:
    """Return the answer to a line, and its exit code."""
    identity = pulsar_version = None
    try:
        if line is None:
            raise json_io.InvalidLineError(f"the line has more than {MAX_LINE_BYTES:,} bytes")  # noqa: TRY301  # reported like all others
        request = json_io.read(line)
        identity = json_io.id_of(request)
        pulsar_version = json_io.pulsar_version_of(request)
        check_request = json_io.check_request_of(request, ctx.compiled, ctx.checkers)
        return json_io.line_of(identity, engine.answer(check_request, ctx.parse), pulsar_version), COMPATIBLE
    except json_io.InvalidLineError as error:
        return json_io.no_answer(identity, error), WRONG_INPUT
    except InvalidSchemaError as error:
        return json_io.line_of(identity, CheckResult(refusal=Refusal.of(error)), pulsar_version), COMPATIBLE
    except (UnusableVersionError, json_io.UnusableSourcesError) as error:
        return json_io.line_of(identity, CheckResult(refusal=error.refusal), pulsar_version), COMPATIBLE
    except WaitingError as error:
        refusal = Refusal(_NOT_COMPILED, error.message)
        return json_io.line_of(identity, CheckResult(refusal=refusal), pulsar_version), WRONG_INPUT
    except Exception as error:  # noqa: BLE001  # a bug in one line is a refusal, and the rest is answered
        _report_bug(error, ctx.errors)
        refusal = Refusal("INTERNAL_ERROR", f"a bug in topicschema ({type(error).__name__}): please report it")
        return json_io.line_of(identity, CheckResult(refusal=refusal), pulsar_version), BUG


def _report_bug(error: Exception, errors: TextIO) -> None:
    """Write the place of the bug, but not the error's own text, which may quote the schema."""
    where = "".join(traceback.format_tb(error.__traceback__))
    errors.write(f"topicschema: a bug, please report it: {type(error).__name__}\n{where}")


class CachedParse:
    """`formats.parse` with a cache of the last parsed schemas, bounded in estimated bytes."""

    def __init__(self, limit: int) -> None:
        self._cache: LruCache[_Key, Schema] = LruCache(limit)

    def __call__(self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool) -> Schema:
        """Return the parsed schema. Raises InvalidSchemaError, which is not cached."""
        key = (info.type, info.schema, frozenset(info.properties.items()), pulsar_version, validate_defaults)
        schema = self._cache.get(key)
        if schema is None:
            schema = formats.parse(info, pulsar_version, validate_defaults=validate_defaults)
            self._cache.put(key, schema, 4_000 + 10 * len(info.schema))  # the estimated size in memory
        return schema


class EnvelopeCache:
    """Cache of the last compiled envelopes, bounded in bytes."""

    def __init__(self, limit: int) -> None:
        self._cache: LruCache[tuple[str, PulsarVersion], bytes] = LruCache(limit)

    def __call__(self, pulsar_version: PulsarVersion, message: str, files: Mapping[str, str]) -> bytes:
        """Return the envelope.

        Raises InvalidSchemaError for invalid sources, WaitingError if the machine is at fault.
        """
        from topicschema import protoc  # noqa: PLC0415  # a child process and asyncio, only for sources

        sources = protoc.ProtobufSources(message, files)
        key = sources.source_hash, pulsar_version
        envelope = self._cache.get(key)
        if envelope is None:
            envelope = protoc.compile_envelope(sources, pulsar_version=pulsar_version)
            self._cache.put(key, envelope, len(envelope))
        return envelope


class _Progress:
    """Progress in one line on a terminal. It prints nothing elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = stream.isatty()
        self._answered = self._refused = 0
        self._shown_at = 0.0

    def add(self, compatible: bool | None) -> None:  # noqa: FBT001  # the answer itself
        self._answered += 1
        self._refused += compatible is not True
        if self._is_shown and time.monotonic() - self._shown_at > _SECONDS_BETWEEN_UPDATES:
            self._shown_at = time.monotonic()
            self._write("\r")

    def end(self) -> None:
        if self._is_shown:
            self._write("\r")
            self._stream.write("\n")

    def _write(self, start: str) -> None:
        self._stream.write(f"{start}{self._answered:,} answered, {self._refused:,} of them not compatible")
        self._stream.flush()
