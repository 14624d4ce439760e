"""Avro object containers. Each record is a message, written with the container's own schema.

A piece is a range of bytes. It has the blocks after each sync marker that begins in this range. So a container is read
in pieces without the positions of its blocks. Source: Apache Avro 1.11 specification, "Object Container Files".
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import fastavro
import pyarrow as pa

from topicschema.validation.errors import SourceError
from topicschema.validation.request import Columns
from topicschema.validation.sources.files import avro_blocks
from topicschema.validation.sources.files.avro_blocks import Damaged
from topicschema.validation.sources.files.opened import MessageRows, Piece, SourceFile, ranges

_MAGIC: Final = b"Obj\x01"
_SYNC: Final = 16
_CHUNK: Final = 1024 * 1024
_MAX_PART: Final = avro_blocks.MAX_BLOCK + 1024
"""Maximum bytes of a header, or of a block with its counts and marker."""


def _record(name: str, **fields: Any) -> Any:
    """Return the schema of a part of a container: a record with these fields and a sync marker."""
    types = fields | {"sync": {"type": "fixed", "name": "Sync", "size": _SYNC}}
    named = [{"name": name, "type": type_} for name, type_ in types.items()]
    return fastavro.parse_schema({"type": "record", "name": name, "fields": named})


_HEADER: Final = _record("Header", meta={"type": "map", "values": "bytes"})
_BLOCK: Final = _record("Block", count="long", packed="bytes")


def pieces(file: SourceFile, size: int, demanded: Sequence[str]) -> Sequence[Piece]:
    """Return ranges of about `size` bytes. The number of messages is estimated from the first block.

    A container has no columns, so `demanded` is ignored.
    """
    del demanded
    with file.opened() as raw:
        container = _Container(file, raw)
        first = container.at
        if first == file.size:
            return []
        count = container.block()["count"]
        messages = max(1, round((file.size - first) * count / (container.at - first)))
    return [Piece(*each, max(1, messages * (each[1] - each[0]) // file.size)) for each in ranges(file.size, size)]


def writer(file: SourceFile) -> bytes:
    """Return the container's schema."""
    with file.opened() as raw:
        return _Container(file, raw).schema


def read(file: SourceFile, piece: Piece, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the records as messages, in the bytes of the container. The caller sets their writer."""
    del columns
    with file.opened() as raw:
        container = _Container(file, raw)
        rows = MessageRows(file)
        with container.damage("header", 0):
            cutter = avro_blocks.Cutter(container.schema)
        container.seek(piece)
        while container.at - _SYNC < piece.last and container.at < file.size:
            start = container.at
            block = container.block()
            with container.damage("block", start):
                content = avro_blocks.unpacked(block["packed"], container.codec)
                for index, record in enumerate(cutter.records(content, block["count"])):
                    rows.add(record, start, index)
                    if rows.are_enough:
                        yield from rows.taken()
        yield from rows.taken()


class _Container:
    """Container that is read forwards. `at` is the position of the next byte, at first the one after the header."""

    def __init__(self, file: SourceFile, raw: Any) -> None:
        self._file = file
        self._buffer = io.BufferedReader(raw, _CHUNK)
        self._end = file.size
        self.at = 0
        with self.damage("header", 0):
            if self.read(len(_MAGIC)) != _MAGIC:
                raise Damaged("it is no Avro container")
            header = self._part(_HEADER)
            if "avro.schema" not in header["meta"]:
                raise Damaged("it has no schema")
            self.schema: bytes = header["meta"]["avro.schema"]
            self.codec: str = header["meta"].get("avro.codec", b"null").decode(errors="replace")
            avro_blocks.demand_codec(self.codec)
            self._sync: bytes = header["sync"]

    @contextmanager
    def damage(self, what: str, start: int) -> Iterator[None]:
        """Turn Damaged into a SourceError with the place."""
        try:
            yield
        except Damaged as error:
            raise SourceError(str(error), self._file.place(f"the {what} at byte {start}")) from None

    def block(self) -> Any:
        """Return the next block: the number of its records, and their bytes in packed form."""
        with self.damage("block", self.at):
            block = self._part(_BLOCK)
            if block["sync"] != self._sync:
                raise Damaged("no sync marker follows it")
        return block

    def seek(self, piece: Piece) -> None:
        """Go to the byte after the first marker that begins in the piece, or to the end of the file if it has none."""
        self.at = piece.first
        self._buffer.seek(self.at)
        held = b""
        while self.at - len(held) < piece.last and (chunk := self._buffer.read(_CHUNK)):
            held += chunk
            self.at += len(chunk)
            position = held.find(self._sync)
            if position >= 0:
                self.at += position + _SYNC - len(held)
                self._buffer.seek(self.at)
                return
            held = held[-_SYNC + 1 :]
        self.at = self._file.size

    def read(self, size: int) -> bytes:
        """Return exactly this number of bytes, for fastavro. Raises Damaged if there are fewer, or it is invalid."""
        if not 0 <= size <= self._end - self.at:
            raise Damaged("it ends too early, or a length in it cannot be")
        self.at += size
        return self._buffer.read(size)

    def _part(self, schema: Any) -> Any:
        self._end = min(self._file.size, self.at + _MAX_PART)
        stream: Any = self  # fastavro calls only `read`
        return fastavro.schemaless_reader(stream, schema, None, handle_unicode_errors="replace")
