"""Avro object containers: a message is a record of them, written with the container's own schema.

A piece is a range of bytes, whose blocks are those that follow a sync marker which begins in it; so a container is read
in pieces without knowing where its blocks are. Source: Apache Avro 1.11 specification, "Object Container Files".
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from topicschema.validation.errors import SourceError
from topicschema.validation.request import Columns
from topicschema.validation.sources.files import avro_blocks
from topicschema.validation.sources.files.avro_blocks import Damaged
from topicschema.validation.sources.files.opened import File, Piece, Rows, ranges

_MAGIC: Final = b"Obj\x01"
_SYNC: Final = 16
_CHUNK: Final = 1024 * 1024
_MAX_HEADER: Final = 64 * 1024 * 1024
_LONGEST: Final = 10


@dataclass(frozen=True, slots=True)
class Header:
    """What a container says of itself; `size` is where its first block begins."""

    schema: bytes
    codec: str
    sync: bytes
    size: int


def pieces(file: File, size: int, demanded: Sequence[str]) -> Sequence[Piece]:
    """Ranges of about `size` bytes; how many messages there are is guessed from the first block.

    A container has no columns: none is demanded of it.
    """
    del demanded
    with file.opened() as raw:
        stream = _Stream(file, raw)
        header = _header(stream)
        if stream.at == file.size:
            return []
        with stream.damage("block"):
            count, held = stream.number(), stream.number()
    messages = max(1, round((file.size - header.size) * count / max(1, held + _SYNC)))
    return [Piece(*each, max(1, messages * (each[1] - each[0]) // file.size)) for each in ranges(file.size, size)]


def writer(file: File) -> bytes:
    """The container's schema."""
    with file.opened() as raw:
        return _header(_Stream(file, raw)).schema


def read(file: File, piece: Piece, columns: Columns) -> Iterator[pa.RecordBatch]:
    """The records as messages, each cut out as it was written; their writer is filled in by who knows its number."""
    del columns
    with file.opened() as raw:
        stream = _Stream(file, raw)
        header = _header(stream)
        rows = Rows(file)
        with stream.damage("header"):
            cutter = avro_blocks.Cutter(header.schema)
        for start, count, packed in _blocks(stream, piece, header.sync):
            with stream.damage("block", start):
                block = avro_blocks.unpacked(packed, header.codec)
                for index, record in enumerate(cutter.records(block, count)):
                    rows.add(record, start, index)
                    if rows.are_enough:
                        yield from rows.taken()
        yield from rows.taken()


def _header(stream: "_Stream") -> Header:
    with stream.damage("header"):
        if stream.take(len(_MAGIC)) != _MAGIC:
            raise Damaged("it is no Avro container")
        told: dict[str, bytes] = {}
        while count := stream.number():
            if count < 0:
                stream.number()
            for _ in range(abs(count)):
                name = stream.take(stream.number()).decode(errors="replace")
                told[name] = stream.take(stream.number())
                if stream.at > _MAX_HEADER:
                    raise Damaged("it is larger than 64 MiB")
        if "avro.schema" not in told:
            raise Damaged("it tells no schema")
        codec = told.get("avro.codec", b"null").decode(errors="replace")
        avro_blocks.demand_codec(codec)
        sync = stream.take(_SYNC)
    return Header(told["avro.schema"], codec, sync, stream.at)


def _blocks(stream: "_Stream", piece: Piece, sync: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Where each block begins, how many records it has, and its bytes as they stand there."""
    marker = stream.find(sync, piece)
    while marker is not None and marker < piece.last and not stream.is_at_end:
        start = stream.at
        with stream.damage("block", start):
            count, size = stream.number(), stream.number()
            if count < 0 or not 0 <= size <= avro_blocks.MAX_BLOCK:
                raise Damaged("its head cannot be")
            packed = stream.take(size)
            marker = stream.at
            if stream.take(_SYNC) != sync:
                raise Damaged("no sync marker follows it")
        yield start, count, packed


class _Stream:
    """A file read forwards; `at` is the byte that comes next."""

    def __init__(self, file: File, raw: Any) -> None:
        self._file = file
        self._buffer = io.BufferedReader(raw, _CHUNK)
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        return self.at >= self._file.size

    def damage(self, what: str, start: int | None = None) -> "_Damage":
        """Makes a SourceError of what is found damaged, with the place."""
        return _Damage(self._file.place(f"the {what} at byte {self.at if start is None else start}"))

    def take(self, size: int) -> bytes:
        if not 0 <= size <= self._file.size - self.at:
            raise Damaged("it ends too early, or a length in it cannot be")
        self.at += size
        return self._buffer.read(size)

    def number(self) -> int:
        """A zigzag variable-length integer."""
        bits = 0
        for place in range(_LONGEST):
            byte = self.take(1)[0]
            bits |= (byte & 0x7F) << 7 * place
            if byte < 0x80:  # noqa: PLR2004  # the bit that says more bytes follow
                return bits >> 1 ^ -(bits & 1)
        raise Damaged("a number in it does not end")

    def find(self, sync: bytes, piece: Piece) -> int | None:
        """Where the first marker from the piece's begin on begins; the stream is then after it."""
        self._seek(piece.first)
        held = b""
        while self.at - len(held) < piece.last and (chunk := self._buffer.read(_CHUNK)):
            held += chunk
            self.at += len(chunk)
            found = held.find(sync)
            if found >= 0:
                marker = self.at - len(held) + found
                self._seek(marker + _SYNC)
                return marker
            held = held[-_SYNC + 1 :]
        return None

    def _seek(self, place: int) -> None:
        self._buffer.seek(place)
        self.at = place


class _Damage:
    """Turns Damaged into SourceError."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Damaged):
            raise SourceError(str(error), self._place) from None
