"""The blocks of an Avro container: unpacked, and cut into the records that were written one after the other."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from types import GeneratorType, MappingProxyType
from typing import Any, Final

import pyarrow as pa

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.stackless import run
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.avro.reading import Reading
from topicschema.payload.finding import Unreadable
from topicschema.validation.sources.files.opened import MAX_MESSAGE

MAX_BLOCK: Final = 64 * 1024 * 1024
"""Bytes of a block, packed or not; writers end one at 64 kB, or after its only record."""
_MAX_EMPTY: Final = 1_000_000
"""Records of a block that take no bytes."""
_WINDOW: Final = 16 * 1024
_CHECKSUM: Final = 4
_XZ_MEMORY: Final = 128 * 1024 * 1024
"""Of a stream that says how much memory it needs; xz at its best needs 65 MiB."""


class Damaged(Exception):  # noqa: N818  # inside this room only: it says why, and who knows the place makes an error of it
    """What is there is no part of a container."""


def demand_codec(codec: str) -> None:
    """Damaged unless the codec is one that is known here."""
    if codec not in _CODECS:
        raise Damaged(f"its codec {codec[:40]!r} is not known; known are {', '.join(_CODECS)}")


def unpacked(packed: bytes, codec: str) -> bytes:
    """A block's bytes; Damaged where they cannot be unpacked, or are too many."""
    try:
        block = _CODECS[codec](packed)
    except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException):
        raise Damaged(f"it cannot be unpacked ({codec})") from None
    if len(block) > MAX_BLOCK:
        raise _too_large()
    return block


def _too_large() -> Damaged:
    return Damaged("it unpacks to more than 64 MiB")


class Cutter:
    """Cuts blocks of one schema into records; Damaged where the schema is none.

    A record's end is where a reading of it ends.
    """

    def __init__(self, schema: bytes) -> None:
        try:
            parsed = formats.parse(SchemaInfo(SchemaType.AVRO, schema), PulsarLine.V4_0)
        except InvalidSchemaError as error:
            raise Damaged(f"its schema is none: {error.sentence}") from None
        assert isinstance(parsed, AvroSchema)  # noqa: S101  # of the type AVRO
        self._root = parsed.root

    def records(self, block: bytes, count: int) -> Iterator[bytes]:
        """The records' bytes; Damaged where there are not so many, or more."""
        if count > len(block) + _MAX_EMPTY:
            raise Damaged(f"it cannot hold {count:,} records")
        at = 0
        for number in range(count):
            size = self._size(block, at, number)
            yield block[at : at + size]
            at += size
        if at < len(block):
            raise Damaged(f"it has {len(block) - at:,} bytes after its last record")

    def _size(self, block: bytes, at: int, number: int) -> int:
        """The size of the record that begins there: it is read in a window, which widens where it is too small."""
        width = _WINDOW
        while True:
            window = block[at : at + width]
            reading = Reading(window, [])
            try:
                value = reading.begin(self._root, None)
                if isinstance(value, GeneratorType):
                    run(value)
            except Unreadable as stop:
                if len(window) < width:
                    raise Damaged(f"its record {number} cannot be read: {stop.finding.message}") from None
                if width == MAX_MESSAGE:
                    raise Damaged(f"its record {number} is larger than 32 MiB, or: {stop.finding.message}") from None
                width = min(4 * width, MAX_MESSAGE)
            else:
                return reading.at


def _whole(unpacking: Any, packed: bytes) -> bytes:
    """All that a stream holds; ValueError where it does not end there."""
    content: bytes = unpacking.decompress(packed, MAX_BLOCK + 1)
    if not unpacking.eof and len(content) <= MAX_BLOCK:
        raise ValueError("the stream has no end")
    return content


def _snappy(packed: bytes) -> bytes:
    """Snappy tells the size in front; Avro adds four bytes of checksum."""
    content, size = packed[:-_CHECKSUM], 0
    for place, byte in enumerate(content[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:  # noqa: PLR2004  # the bit that says more bytes follow
            break
    if size > MAX_BLOCK:
        raise _too_large()
    return bytes(pa.decompress(content, size, codec="snappy", asbytes=True))


def _zstandard(packed: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(MAX_BLOCK + 1))


_CODECS: Final[Mapping[str, Callable[[bytes], bytes]]] = MappingProxyType(
    {
        "null": lambda packed: packed,
        "deflate": lambda packed: _whole(zlib.decompressobj(-zlib.MAX_WBITS), packed),
        "snappy": _snappy,
        "zstandard": _zstandard,
        "bzip2": lambda packed: _whole(bz2.BZ2Decompressor(), packed),
        "xz": lambda packed: _whole(lzma.LZMADecompressor(memlimit=_XZ_MEMORY), packed),
    }
)
