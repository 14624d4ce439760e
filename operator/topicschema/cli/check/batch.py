"""`topicschema check --batch`: JSON lines in, JSON lines out, in the same order, in constant memory.

One bad line never stops the rest. What the lines mean is `wire`'s matter, what the answers are `asking`'s.
"""

import json
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TextIO

from topicschema.cli.check import engine, json_io
from topicschema.cli.check.engine import Answer, Refusal, UnusableVersionError
from topicschema.cli.exits import BUG, COMPATIBLE, WRONG_INPUT
from topicschema.core import formats
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo, SchemaType
from topicschema.storage.lru_cache import LruCache

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_REMEMBERED_BYTES: Final = 64 * 1024 * 1024
_NOT_COMPILED: Final = "COMPILER_UNAVAILABLE"
_SECONDS_BETWEEN_TELLING: Final = 0.2

_Key = tuple[SchemaType, bytes, frozenset[tuple[str, str]], PulsarLine, bool]


def answer_all(lines: BinaryIO, answers: TextIO, trouble: TextIO, checkers: Checkers = BUILT_IN) -> int:
    """Answer every line; the exit code: 0, or 2 if a line was no valid request, or 70 if one met a bug.

    `checkers` are those that are plugged in. `trouble` gets the traceback of a bug and, where it is a terminal, the
    progress.
    """
    around = _Asking(Remembered(_REMEMBERED_BYTES), Envelopes(_REMEMBERED_BYTES), checkers, trouble)
    progress = _Progress(trouble)
    code = COMPATIBLE
    for line in _lines(lines):
        answer, met = _answer(line, around)
        code = max(code, met)
        answers.write(json.dumps(answer, separators=(",", ":")) + "\n")
        answers.flush()  # whoever asks line by line waits for it
        progress.tell(answer["compatible"])
    progress.end()
    return code


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines, None for one that is too long to be held."""
    while line := stream.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while (rest := stream.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield None


@dataclass(frozen=True, slots=True)
class _Asking:
    parse: engine.Parse
    compiled: json_io.Compile
    checkers: Checkers
    trouble: TextIO


def _answer(line: bytes | None, around: _Asking) -> tuple[dict[str, Any], int]:
    """The answer to a line and what it means for the exit code."""
    identity = None
    try:
        if line is None:
            raise json_io.InvalidRequestError(f"the line has more than {MAX_LINE_BYTES:,} bytes")  # noqa: TRY301  # told as all others
        request = json_io.read(line)
        identity = json_io.id_of(request)
        question = json_io.question_of(request, around.compiled, around.checkers)
        return json_io.line_of(identity, engine.answer(question, around.parse)), COMPATIBLE
    except json_io.InvalidRequestError as error:
        return json_io.no_answer(identity, error), WRONG_INPUT
    except InvalidSchemaError as error:
        return json_io.line_of(identity, Answer(refusal=Refusal.of(error))), COMPATIBLE
    except (UnusableVersionError, json_io.UnusableSourcesError) as error:
        return json_io.line_of(identity, Answer(refusal=error.refusal)), COMPATIBLE
    except WaitingError as error:
        return json_io.line_of(identity, Answer(refusal=Refusal(_NOT_COMPILED, error.message))), WRONG_INPUT
    except Exception as error:  # noqa: BLE001  # a bug of ours in one line is a no, told as such; the rest goes on
        _tell_bug(error, around.trouble)
        refusal = Refusal("INTERNAL_ERROR", f"a bug in topicschema ({type(error).__name__}): please report it")
        return json_io.line_of(identity, Answer(refusal=refusal)), BUG


def _tell_bug(error: Exception, trouble: TextIO) -> None:
    """Where it happened; not the error's own text, which may hold the schema's."""
    where = "".join(traceback.format_tb(error.__traceback__))
    trouble.write(f"topicschema: a bug, please report it: {type(error).__name__}\n{where}")


class Remembered:
    """`formats.parse` with a memory of the schemas parsed last, within a bound of bytes (estimated)."""

    def __init__(self, limit: int) -> None:
        self._cache: LruCache[_Key, Schema] = LruCache(limit)

    def __call__(self, info: SchemaInfo, line: PulsarLine, *, validate_defaults: bool) -> Schema:
        """The parsed schema; InvalidSchemaError, which is never remembered."""
        key = (info.type, info.schema, frozenset(info.properties.items()), line, validate_defaults)
        schema = self._cache.get(key)
        if schema is None:
            schema = formats.parse(info, line, validate_defaults=validate_defaults)
            self._cache.put(key, schema, _weight(info.schema))
        return schema


class Envelopes:
    """What sources were compiled to last, within a bound of bytes."""

    def __init__(self, limit: int) -> None:
        self._cache: LruCache[str, bytes] = LruCache(limit)

    def __call__(self, message: str, files: Mapping[str, str]) -> bytes:
        """The envelope; InvalidSchemaError for bad sources, WaitingError when the machine is at fault."""
        from topicschema import protoc  # noqa: PLC0415  # a child process and asyncio, for sources alone

        wanted = protoc.ProtobufSources(message, files)
        key = wanted.source_hash
        envelope = self._cache.get(key)
        if envelope is None:
            envelope = protoc.compile_envelope(wanted)
            self._cache.put(key, envelope, len(envelope))
        return envelope


def _weight(text: bytes) -> int:
    """About the bytes that a parsed schema takes in memory."""
    return 4_000 + 10 * len(text)


class _Progress:
    """One line on a terminal that tells how far it is; nothing elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = stream.isatty()
        self._answered = self._refused = 0
        self._told = 0.0

    def tell(self, compatible: bool | None) -> None:  # noqa: FBT001  # the answer itself
        self._answered += 1
        self._refused += compatible is not True
        if self._is_shown and time.monotonic() - self._told > _SECONDS_BETWEEN_TELLING:
            self._told = time.monotonic()
            self._write("\r")

    def end(self) -> None:
        if self._is_shown:
            self._write("\r")
            self._stream.write("\n")

    def _write(self, start: str) -> None:
        self._stream.write(f"{start}{self._answered:,} answered, {self._refused:,} of them not compatible")
        self._stream.flush()
