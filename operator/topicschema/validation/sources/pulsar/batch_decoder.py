"""Decoder from frames to Arrow batches of messages: it unpacks them, joins chunks and splits batches."""

import base64
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from topicschema.payload import text
from topicschema.validation.run.batches import (
    BATCH,
    DAMAGED,
    ENCRYPTED,
    INVALID_KEY,
    MAX_BYTES,
    MAX_MESSAGES,
    NO_TIME,
    UNKNOWN_SCHEMA_VERSION,
)
from topicschema.validation.sources.pulsar import batch_splitter, details, frames
from topicschema.validation.sources.pulsar.chunks import Chunks
from topicschema.validation.sources.pulsar.compiled import Content, Table
from topicschema.validation.sources.pulsar.ranges import Position

_DETAILED: Final = pa.schema([*BATCH, *details.DETAILS])
_MOST_BYTES: Final = 128 << 20
"""Maximum bytes of an unpacked entry. Brokers accept 5 MiB, and chunked messages are larger."""
_MOST_COUNT: Final = 1_000_000
"""Maximum messages of an entry. More fit only into an entry that is packed."""
_MOST_SEALED: Final = 10_000
"""Maximum messages that are counted for an encrypted entry, whose own count cannot be verified."""
_ASCII: Final = 0x7F
_MAX_BYTES: Final = 64 << 20
_MAX_COUNT: Final = 250_000
"""Maximum messages, and above maximum bytes, that are unpacked and split at once. A larger entry is alone."""


def _codec(name: str) -> Callable[[bytes, int], bytes]:
    def unpacked(packed: bytes, size: int) -> bytes:
        content: bytes = pa.Codec(name).decompress(packed, decompressed_size=size, asbytes=True)
        return content

    return unpacked


def _inflated(packed: bytes, size: int) -> bytes:
    return zlib.decompressobj().decompress(packed, max(1, size))


_CODECS: Final[dict[int, Callable[[bytes, int], bytes]]] = {
    1: _codec("lz4_raw"),
    2: _inflated,
    3: _codec("zstd"),
    4: _codec("snappy"),
}


@dataclass(frozen=True, slots=True)
class BatchDecoder:
    """Decoder of frames to batches.

    With `straddled`, it returns only messages that begin before that entry and end at or after it. With `has_details`,
    the columns of `details.DETAILS` follow those of BATCH.
    """

    partition: int
    chunks: Chunks
    has_keys: bool
    has_details: bool = False
    straddled: Position | None = None

    def batches(self, content: Content, table: Table) -> Iterator[pa.RecordBatch]:
        """Yield the messages of the frames in order. All frames must be of the kind MESSAGE."""
        table = _bounded(_undamaged(table))
        pieces = list(_pieces(_weights(table), 1, len(table)))
        for start, stop in pieces:
            piece = table[start:stop]
            yield from self._of(*(_cut_out(content, piece) if len(pieces) > 1 else (content, piece)))

    def _of(self, content: Content, table: Table) -> Iterator[pa.RecordBatch]:
        content, table = self._unpacked(content, table)
        if not len(table):
            return
        is_broken = table[:, frames.IS_BROKEN] != 0  # otherwise each of its messages would have all bytes of the entry
        table[is_broken, frames.BODY_SIZE], table[is_broken, frames.KEY_AT] = 0, -1
        rows = batch_splitter.split(content, table)
        for start, stop in _pieces(np.maximum(rows[:, batch_splitter.SIZE], 0), MAX_BYTES, MAX_MESSAGES):
            yield self._batch(content, table, rows[start:stop])

    def _unpacked(self, content: Content, table: Table) -> tuple[Content, Table]:
        """Return the frames that are complete messages, with unpacked bodies."""
        is_plain = (table[:, frames.CODEC] == 0) & (table[:, frames.IS_SEALED] == 0)
        special = ~is_plain | (table[:, frames.CHUNKS] > 1)
        if not special.any() and self.straddled is None:
            return content, table
        more = [content.tobytes()]
        end, is_used = len(content), np.ones(len(table), bool)
        for number, row in enumerate(table):
            if not special[number]:
                is_used[number] = self.straddled is None
                continue
            body = self._body(more[0], row)
            is_used[number] = body is not None
            if body:
                row[frames.BODY_AT], row[frames.BODY_SIZE] = end, len(body)
                more.append(body)
                end += len(body)
        return np.frombuffer(b"".join(more), np.uint8), table[is_used]

    def _body(self, content: bytes, row: Any) -> bytes | None:
        """Return a new body, or b"" if the body stays in `content`. Return None if there is no message (yet)."""
        begins = position = Position(int(row[frames.LEDGER]), int(row[frames.ENTRY]))
        moved: bytes | None = b""
        if row[frames.CHUNKS] > 1:
            uuid = content[row[frames.UUID_AT] : row[frames.UUID_AT] + row[frames.UUID_SIZE]]
            body = content[row[frames.BODY_AT] : row[frames.BODY_AT] + row[frames.BODY_SIZE]]
            message = self.chunks.add(uuid, (int(row[frames.CHUNK]), int(row[frames.CHUNKS])), position, body)
            if message is None:
                return None
            begins, moved = message.begins, message.body
        if self.straddled is not None and not begins < self.straddled <= position:
            return None
        if moved is None:
            row[frames.COUNT], row[frames.IS_BROKEN] = 0, 1
            return b""
        if row[frames.IS_SEALED]:
            row[frames.BODY_SIZE], row[frames.VERSION] = 0, ENCRYPTED
            return b""
        if row[frames.CODEC]:
            packed = moved or content[row[frames.BODY_AT] : row[frames.BODY_AT] + row[frames.BODY_SIZE]]
            moved = _unpack(row, packed)
        return moved

    def _batch(self, content: Content, table: Table, rows: Table) -> pa.RecordBatch:
        of = table[rows[:, batch_splitter.ROW]]
        writer = np.where(rows[:, batch_splitter.AT] < 0, UNKNOWN_SCHEMA_VERSION, of[:, frames.VERSION])
        writer = np.where(of[:, frames.IS_BROKEN] != 0, UNKNOWN_SCHEMA_VERSION, writer)
        keys, is_invalid_key = self._keys(content, rows, writer)
        writer = np.where(is_invalid_key, INVALID_KEY, writer)
        has_none = (rows[:, batch_splitter.AT] < 0) | (of[:, frames.IS_BROKEN] != 0) | (writer == ENCRYPTED)
        sizes = np.where(has_none, 0, rows[:, batch_splitter.SIZE])
        columns = [
            _column(content, rows[:, batch_splitter.AT], sizes, rows[:, batch_splitter.IS_NULL] != 0),
            keys,
            pa.array(writer),
            pa.array(np.full(len(rows), self.partition, np.int32)),
            pa.array(of[:, frames.LEDGER]),
            pa.array(of[:, frames.ENTRY]),
            pa.array(rows[:, batch_splitter.BATCH_INDEX].astype(np.int32)),
            pa.array(of[:, frames.TIME]),
        ]
        if not self.has_details:
            return pa.RecordBatch.from_arrays(columns, schema=BATCH)
        return pa.RecordBatch.from_arrays([*columns, *details.columns(content, table, rows)], schema=_DETAILED)

    def _keys(self, content: Content, rows: Table, writer: Any) -> tuple[pa.Array, Any]:
        """Return the keys as Java's client decodes them, and a flag for each key on which it fails."""
        is_invalid_key = np.zeros(len(rows), bool)
        if not self.has_keys:
            return pa.nulls(len(rows), pa.large_binary()), is_invalid_key
        is_absent = (rows[:, batch_splitter.KEY_AT] < 0) | (writer == ENCRYPTED)
        sizes = np.where(is_absent, 0, rows[:, batch_splitter.KEY_SIZE])
        keys = _column(content, rows[:, batch_splitter.KEY_AT], sizes, is_absent)
        flags = rows[:, batch_splitter.KEY_IS_BASE64] != 0
        if not flags.any() and not _has_high_bytes(keys):
            return keys, is_invalid_key
        contents = keys.to_pylist()
        for number, (key, is_base64) in enumerate(zip(contents, flags, strict=True)):
            if key is not None:
                contents[number] = _decoded(key) if is_base64 else text.encode(text.decode(key)[0])
                is_invalid_key[number] = contents[number] is None
        return pa.array(contents, pa.large_binary()), is_invalid_key


def _undamaged(table: Table) -> Table:
    """Return the frames with messages. Of a damaged frame, even of a marker, only the position is trusted."""
    is_damaged = table[:, frames.IS_DAMAGED] != 0
    table = table[is_damaged | (table[:, frames.IS_MARK] == 0)]
    damaged = np.flatnonzero(table[:, frames.IS_DAMAGED])
    if len(damaged):
        table[damaged, frames.TIME :] = 0
        table[damaged, frames.VERSION], table[damaged, frames.TIME] = DAMAGED, NO_TIME
        table[damaged, frames.KEY_AT] = -1
    return table


def _bounded(table: Table) -> Table:
    """Return the frames with possible counts. Each message of a batch takes four or more bytes before compression.

    An entry with more messages than `_MOST_COUNT` is not decoded but marked as broken.
    """
    is_sealed = table[:, frames.IS_SEALED] != 0
    raw_size = np.clip(table[:, frames.RAW_SIZE], 0, _MOST_BYTES)
    size = np.where(table[:, frames.CODEC] == 0, table[:, frames.BODY_SIZE], raw_size)
    counts = np.clip(table[:, frames.COUNT], 0, np.where(is_sealed, _MOST_SEALED, size // 4 + 1))
    table[:, frames.IS_BROKEN] |= counts > _MOST_COUNT
    table[:, frames.COUNT] = np.minimum(counts, _MOST_COUNT)
    return table


def _weights(table: Table) -> Any:
    """Return the share of each frame in the memory limits, after unpacking and splitting. 1 is all of it."""
    is_packed = (table[:, frames.CODEC] != 0) & (table[:, frames.IS_SEALED] == 0)
    size = np.where(is_packed, np.clip(table[:, frames.RAW_SIZE], 0, _MOST_BYTES), 0)
    return np.maximum(size / _MAX_BYTES, table[:, frames.COUNT] / _MAX_COUNT)


def _cut_out(content: Content, table: Table) -> tuple[Content, Table]:
    """Return the frames and only their own bytes of the content."""
    begin, table = int(table[0, frames.AT]), table.copy()
    end = max(begin, int((table[:, frames.BODY_AT] + table[:, frames.BODY_SIZE]).max()))
    places = [frames.AT, frames.KEY_AT, frames.UUID_AT, frames.BODY_AT, frames.META_AT]
    table[:, places] = np.where(table[:, places] < begin, np.minimum(table[:, places], 0), table[:, places] - begin)
    return content[begin:end], table


def _unpack(row: Any, packed: bytes) -> bytes:
    """Return the unpacked bytes. An entry that cannot be unpacked is not a message and is marked as broken."""
    codec, size = _CODECS.get(int(row[frames.CODEC])), int(row[frames.RAW_SIZE])
    content = b""
    is_possible = codec is not None and 0 <= size <= _MOST_BYTES
    if codec is not None and is_possible and size:
        with suppress(ValueError, OSError, zlib.error):
            content = codec(packed, size)
    row[frames.IS_BROKEN] |= int(not is_possible or len(content) != size)
    row[frames.BODY_SIZE] = len(content)
    row[frames.COUNT] = min(row[frames.COUNT], len(content) // 4 + 1)
    return content


def _column(content: Content, places: Any, sizes: Any, nulls: Any) -> pa.Array:
    offsets, values = batch_splitter.gather(content, np.maximum(places, 0), np.where(nulls, 0, sizes))
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.large_binary(), len(places), buffers)


def _has_high_bytes(keys: pa.Array) -> bool:
    """Return True if any byte of the keys is not ASCII. ASCII text has the same bytes after decoding."""
    values = keys.buffers()[2]
    return values is not None and bool((np.frombuffer(values, np.uint8) > _ASCII).any())


def _decoded(key: bytes) -> bytes | None:
    """Return the key from base64, with or without padding, as Java does. Return None if Java rejects it."""
    padding = b"" if b"=" in key else b"=" * (-len(key) % 4)
    try:
        return base64.b64decode(key + padding, validate=True)
    except ValueError:
        return None


def _pieces(weights: Any, weight: float, most: int) -> Iterator[tuple[int, int]]:
    """Yield slices with at most this `weight` and `most` rows. A row above `weight` is a slice of its own."""
    ends = np.cumsum(weights)
    start = 0
    while start < len(ends):
        before = 0 if start == 0 else ends[start - 1]
        stop = int(np.searchsorted(ends, before + weight, "right"))
        stop = min(max(stop, start + 1), start + most, len(ends))
        yield start, stop
        start = stop
