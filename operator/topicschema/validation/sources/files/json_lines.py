"""JSON lines. Each line is a message, and a piece is a range of bytes with the lines that begin in it.

A line is an object, and the payload is a member. A string is its UTF-8, null is a null message, and any other JSON
value is its compact text. Bytes are base64 in a member with the suffix `_base64`. If the columns name no payload, the
whole line is the message.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from topicschema.validation.errors import SourceError
from topicschema.validation.request import Columns
from topicschema.validation.run.batches import NO_TIME, NO_VERSION, UNKNOWN_SCHEMA_VERSION
from topicschema.validation.sources.files import compressed
from topicschema.validation.sources.files.opened import MessageRows, Piece, SourceFile, ranges

_CHUNK: Final = 1024 * 1024
MAX_LINE: Final = 8 * 1024 * 1024
"""Maximum bytes of a line. It fits any message of a broker in base64 (5 MiB by default).

The parsed JSON is larger.
"""
_SAMPLE: Final = 64 * 1024
_BASE64: Final = "_base64"


def pieces(file: SourceFile, size: int, demanded: Sequence[str]) -> Sequence[Piece]:
    """Return ranges of about `size` bytes. The number of messages is estimated from the first lines.

    Raises SourceError if none of the first lines has a demanded member. A file whose first line exceeds the sample is
    not checked.
    """
    with file.opened() as stream:
        head = stream.read(_SAMPLE)
    if not head:
        return []
    compressed.demand_unpacked(head, file)
    whole = head if len(head) == file.size else head[: head.rfind(b"\n") + 1]
    for name in demanded:
        if whole and not any(each in whole for each in _spellings(name)):
            raise SourceError(f"none of its first lines has a member {name!r}", file.uri)
    each = len(head) / max(1, head.count(b"\n"))
    return [Piece(*bounds, max(1, round((bounds[1] - bounds[0]) / each))) for bounds in ranges(file.size, size)]


def _spellings(name: str) -> Iterator[bytes]:
    """Yield the possible spellings of a member's name."""
    for end in ("", _BASE64):
        yield from (json.dumps(name + end, ensure_ascii=is_ascii).encode() for is_ascii in (True, False))


def read(file: SourceFile, piece: Piece, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the lines as messages."""
    rows = MessageRows(file)
    for start, line in _lines(file, piece):
        if line.strip():
            _add(rows, line, start, columns)
        if rows.are_enough:
            yield from rows.taken()
    yield from rows.taken()


def _lines(file: SourceFile, piece: Piece) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that begin in the piece, each with the position of its first byte."""
    with file.opened() as stream:
        # A line begins after a newline. The byte before the piece decides if the piece begins with a line.
        start = max(0, piece.first - 1)
        stream.seek(start)
        rest = b""
        is_whole = piece.first == 0
        while chunk := stream.read(_CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if is_whole:
                    yield start, line
                is_whole = True
                start += len(line) + 1
                if start >= piece.last:
                    return
            if len(rest) > MAX_LINE:
                raise SourceError("the line is longer than 8 MiB", file.place(f"byte {start}"))
        if rest and is_whole:
            yield start, rest


def _add(rows: MessageRows, line: bytes, start: int, columns: Columns) -> None:
    if not columns.payload:
        rows.add(line.removesuffix(b"\r"), start)
        return
    members = _Members(line, rows.file.place(f"the line at byte {start}"))
    columns_of_row: dict[str, Any] = {
        "key": members.content(columns.key, is_needed=False),
        "writer": members.writer(columns.schema_version),
        "publish_time": members.number(columns.publish_time, NO_TIME),
    }
    if columns.partition:
        columns_of_row["partition"] = members.number(columns.partition, -1)
    rows.add(members.content(columns.payload, is_needed=True), start, **columns_of_row)


class _Members:
    """Members of a line's object. They raise SourceError if they have another type."""

    def __init__(self, line: bytes, place: str) -> None:
        self._place = place
        try:
            members = json.loads(line)
        except (ValueError, RecursionError):
            raise SourceError("it is not JSON", place) from None
        if not isinstance(members, dict):
            raise SourceError("it is no JSON object", place)
        self._members: Mapping[str, Any] = members

    def content(self, name: str, *, is_needed: bool) -> bytes | None:
        if name + _BASE64 in self._members:
            return self._decoded(name + _BASE64)
        if is_needed and name not in self._members:
            hint = "from a shell, --column payload=NAME names another (payload= takes the whole line)"
            raise SourceError(f"it has neither a member {name!r} nor {name + _BASE64!r}; {hint}", self._place)
        value = self._members.get(name)
        if value is None:
            return None
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return text.encode(errors="surrogatepass")

    def number(self, name: str, instead: int) -> int:
        value = self._members.get(name)
        if value is None:
            return instead
        if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
            raise SourceError(f"its member {name!r} is no whole number", self._place)
        return value

    def writer(self, name: str) -> int:
        value = self.number(name, NO_VERSION)
        return value if value >= 0 or self._members.get(name) is None else UNKNOWN_SCHEMA_VERSION

    def _decoded(self, name: str) -> bytes | None:
        value = self._members[name]
        try:
            return None if value is None else base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise SourceError(f"its member {name!r} is not base64", self._place) from None
