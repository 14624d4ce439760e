"""Avro object containers: a message is a record of them, written with the container's own schema.

A piece is a range of bytes, whose blocks are those that follow a sync marker which begins in it; so a container is read
in pieces without knowing where its blocks are. Source: Apache Avro 1.11 specification, "Object Container Files".
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
from topicschema.validation.sources.files.opened import File, Piece, Rows, ranges

_MAGIC: Final = b"Obj\x01"
_SYNC: Final = 16
_CHUNK: Final = 1024 * 1024
_MAX_PART: Final = avro_blocks.MAX_BLOCK + 1024
"""Bytes of a header, or of a block with what stands around it."""


def _record(name: str, **fields: Any) -> Any:
    """A record with these fields and a sync marker, as the specification describes parts of a container."""
    types = fields | {"sync": {"type": "fixed", "name": "Sync", "size": _SYNC}}
    named = [{"name": name, "type": type_} for name, type_ in types.items()]
    return fastavro.parse_schema({"type": "record", "name": name, "fields": named})


_HEADER: Final = _record("Header", meta={"type": "map", "values": "bytes"})
_BLOCK: Final = _record("Block", count="long", packed="bytes")


def pieces(file: File, size: int, demanded: Sequence[str]) -> Sequence[Piece]:
    """Ranges of about `size` bytes; how many messages there are is guessed from the first block.

    A container has no columns: none is demanded of it.
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


def writer(file: File) -> bytes:
    """The container's schema."""
    with file.opened() as raw:
        return _Container(file, raw).schema


def read(file: File, piece: Piece, columns: Columns) -> Iterator[pa.RecordBatch]:
    """The records as messages, each cut out as it was written; their writer is filled in by who knows its number."""
    del columns
    with file.opened() as raw:
        container = _Container(file, raw)
        rows = Rows(file)
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
    """A container that is read forwards; `at` is the byte that comes next: first that after the header."""

    def __init__(self, file: File, raw: Any) -> None:
        self._file = file
        self._buffer = io.BufferedReader(raw, _CHUNK)
        self._end = file.size
        self.at = 0
        with self.damage("header", 0):
            if self.read(len(_MAGIC)) != _MAGIC:
                raise Damaged("it is no Avro container")
            header = self._part(_HEADER)
            if "avro.schema" not in header["meta"]:
                raise Damaged("it tells no schema")
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
        """Return the next block: how many records it has, and their bytes as they are packed."""
        with self.damage("block", self.at):
            block = self._part(_BLOCK)
            if block["sync"] != self._sync:
                raise Damaged("no sync marker follows it")
        return block

    def seek(self, piece: Piece) -> None:
        """Go behind the first marker that begins in the piece; where there is none, to the end of the file."""
        self.at = piece.first
        self._buffer.seek(self.at)
        held = b""
        while self.at - len(held) < piece.last and (chunk := self._buffer.read(_CHUNK)):
            held += chunk
            self.at += len(chunk)
            found = held.find(self._sync)
            if found >= 0:
                self.at += found + _SYNC - len(held)
                self._buffer.seek(self.at)
                return
            held = held[-_SYNC + 1 :]
        self.at = self._file.size

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes, for fastavro; Damaged if there are not so many, or they are too many."""
        if not 0 <= size <= self._end - self.at:
            raise Damaged("it ends too early, or a length in it cannot be")
        self.at += size
        return self._buffer.read(size)

    def _part(self, schema: Any) -> Any:
        self._end = min(self._file.size, self.at + _MAX_PART)
        stream: Any = self  # fastavro calls `read` alone
        return fastavro.schemaless_reader(stream, schema, None, handle_unicode_errors="replace")
