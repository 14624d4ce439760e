"""Compiled scan of the broker's frames: a row of numbers for each, without copies.

A frame is `size | command size | command`. After a MESSAGE, the producer's content follows: an optional entry of the
broker, an optional checksum, `metadata size | metadata | body`. Positions are bytes from the start of the received
content. Source: as `protocol`, with MessageMetadata and SingleMessageMetadata of PulsarApi.proto.
"""

# ruff: noqa: PLR2004  # the numbers are those of the protocol's definition

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from topicschema.payload.columnar.column import unwritable
from topicschema.payload.columnar.compiled import cached, fast, mark
from topicschema.validation.run.batches import NO_VERSION, UNKNOWN_SCHEMA_VERSION
from topicschema.validation.sources.pulsar import checksums, compiled
from topicschema.validation.sources.pulsar.checksums import checksum
from topicschema.validation.sources.pulsar.compiled import Content, Table, four, member

MAX_FRAME: Final = 128 << 20
_SMALLEST: Final = 12
MOST_ROWS: Final = 4_096
"""Maximum frames of a scan."""
_MESSAGE: Final = 9
_ENTRY_MAGIC: Final = 0x0E02
_CHECKSUM_MAGIC: Final = 0x0E01


KIND, AT, SIZE, LEDGER, ENTRY, TIME, VERSION, CODEC, RAW_SIZE, COUNT, IS_NULL, KEY_AT = range(12)
KEY_SIZE, KEY_IS_BASE64, IS_SEALED, CHUNK, CHUNKS, UUID_AT, UUID_SIZE, IS_MARK, BODY_AT, BODY_SIZE = range(12, 22)
IS_BROKEN, IS_DAMAGED, META_AT, META_SIZE, WIDTH = range(22, 27)
"""Columns of a frame's row, and their number. Missing values are 0, or -1 for positions, versions and chunk numbers.

A broken message violates the protocol, and a damaged one does not match its producer's checksum.
"""


@fast
def _message_id(content: Any, at: Any, end: Any, row: Any) -> Any:
    while 0 <= at < end:
        number, value, _, at = member(content, at, end)
        if number == 1:
            row[LEDGER] = value
        elif number == 2:
            row[ENTRY] = value


@fast
def _command(content: Any, at: Any, end: Any, row: Any) -> Any:
    """Write the command's kind to the row, and the position of a MESSAGE."""
    body = body_end = np.int64(-1)
    while 0 <= at < end:
        number, value, begin, at = member(content, at, end)
        if number == 1:
            row[KIND] = value
        elif number == _MESSAGE:
            body, body_end = begin, at
    if row[KIND] != _MESSAGE:
        return
    while 0 <= body < body_end:
        number, _, begin, body = member(content, body, body_end)
        if number == 2 and body > 0:
            _message_id(content, begin, body, row)


@fast
def _version(content: Any, at: Any, size: Any) -> Any:
    """Return the schema version from eight bytes, or from the first eight of 64 bytes by brokers before 2.4."""
    if size == 0:
        return np.int64(NO_VERSION)
    if at < 0 or (size != 8 and size != 64):  # noqa: PLR1714  # compiled code would have to create the set
        return np.int64(UNKNOWN_SCHEMA_VERSION)
    version = four(content, at) << 32 | four(content, at + 4)
    return version if version >= 0 else np.int64(UNKNOWN_SCHEMA_VERSION)


@fast
def _metadata(content: Any, at: Any, end: Any, row: Any) -> Any:  # noqa: C901, PLR0912  # no dispatch table in numba
    while at < end:
        number, value, begin, at = member(content, at, end)
        if at < 0:
            row[IS_BROKEN] = 1
            return
        if number == 3:
            row[TIME] = value
        elif number == 6:
            row[KEY_AT], row[KEY_SIZE] = begin, value
        elif number == 8:
            row[CODEC] = value
        elif number == 9:
            row[RAW_SIZE] = value
        elif number == 11:
            row[COUNT] = value
        elif number == 13:
            row[IS_SEALED] = 1
        elif number == 16:
            row[VERSION] = _version(content, begin, value)
        elif number == 17:
            row[KEY_IS_BASE64] = value
        elif number == 20:
            row[IS_MARK] = 1
        elif number == 25:
            row[IS_NULL] = value
        elif number == 26:
            row[UUID_AT], row[UUID_SIZE] = begin, value
        elif number == 27:
            row[CHUNKS] = value
        elif number == 29:
            row[CHUNK] = value


@fast
def _content(content: Any, at: Any, end: Any, row: Any) -> Any:
    """Write the producer's content, which follows the command, to the row."""
    row[TIME] = row[VERSION] = row[KEY_AT] = row[CHUNK] = -1
    if end - at >= 6 and (np.int64(content[at]) << 8 | np.int64(content[at + 1])) == _ENTRY_MAGIC:
        at += 6 + four(content, at + 2)
    if end - at >= 6 and (np.int64(content[at]) << 8 | np.int64(content[at + 1])) == _CHECKSUM_MAGIC:
        row[IS_DAMAGED] = checksum(content, at + 6, end) != four(content, at + 2)
        at += 6
    if end - at < 4 or four(content, at) > end - at - 4:
        row[IS_BROKEN] = 1
        return
    body = at + 4 + four(content, at)
    row[META_AT], row[META_SIZE] = at + 4, body - at - 4
    _metadata(content, at + 4, body, row)
    row[BODY_AT] = body
    row[BODY_SIZE] = end - body


@fast
def _scan(content: Any, table: Any) -> Any:
    """Fill the table. Return the number of rows, and the position of the first incomplete frame."""
    at = np.int64(0)
    rows = np.int64(0)
    while rows < len(table) and len(content) - at >= 8:
        size = four(content, at)
        command = four(content, at + 4)
        if size > MAX_FRAME or command > size - 4:
            return np.int64(-1), at
        if len(content) - at - 4 < size:
            break
        row = table[rows]
        row[AT], row[SIZE] = at + 8, command
        _command(content, at + 8, at + 8 + command, row)
        if row[KIND] == _MESSAGE:
            _content(content, at + 8 + command, at + 4 + size, row)
        rows += 1
        at += 4 + size
    return rows, at


def _marked(mark: int) -> Callable[[Any, Any], tuple[int, int, int]]:
    """Return the function to compile and cache: `_scan`, with a number that changes with its source code."""

    def run(content: Any, table: Any) -> tuple[int, int, int]:
        rows, end = _scan(content, table)
        return rows, end, mark

    return run


_RUN: Final = cached(_marked(mark((compiled, checksums, sys.modules[__name__]))))


def scan(content: Content) -> tuple[Table, int]:
    """Return a row for each of the first complete frames, and their end.

    Raises ValueError if the content has no valid frames.
    """
    table = np.zeros((min(len(content) // _SMALLEST + 1, MOST_ROWS), WIDTH), np.int64)
    rows, end, _ = _RUN(unwritable(content), table)
    if rows < 0:
        raise ValueError("what came is no frame of Pulsar's protocol")
    return table[:rows], int(end)


def complete(content: bytes | bytearray, at: int) -> tuple[int, int]:
    """Return the end of the complete frames from position `at` on, and their number."""
    count = 0
    while len(content) - at >= 4 and (size := 4 + int.from_bytes(content[at : at + 4], "big")) <= len(content) - at:
        at, count = at + size, count + 1
    return at, count
