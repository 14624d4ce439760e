"""Blocks of an Avro container: unpacked, and divided into their consecutive records."""

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from types import GeneratorType, MappingProxyType
from typing import Any, Final

import fastavro
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.graph.trampoline import run
from topicschema.core.formats.avro.model import Array, Fixed, Node, Primitive, Record
from topicschema.core.schemas import NEWEST, PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.avro.reading import Reading
from topicschema.payload.finding import Unreadable
from topicschema.validation.sources.files.opened import MAX_MESSAGE

MAX_BLOCK: Final = 64 * 1024 * 1024
"""Maximum bytes of a block, packed or not. Writers end a block at 64 kB, or after a single larger record."""
_MAX_EMPTY: Final = 1_000_000
"""Maximum number of records without bytes in a block."""
_MAX_LEVELS: Final = 100
"""Maximum nesting of a schema for fastavro, which recurses on the processor's stack of about 4,000 levels."""
_WINDOW: Final = 512 * 1024
"""Bytes that fastavro reads at least, and at most twice as many. A value takes some hundred times its bytes."""
_CHECKSUM: Final = 4
_XZ_MEMORY: Final = 128 * 1024 * 1024
"""Memory limit of xz, which declares what a stream needs. Its highest preset needs 65 MiB."""


class Damaged(Exception):  # noqa: N818  # internal: callers that know the place turn it into an error
    """Fault of bytes that are not a part of a container."""


def demand_codec(codec: str) -> None:
    """Raise Damaged if the codec is unknown."""
    if codec not in _CODECS:
        raise Damaged(f"its codec {codec[:40]!r} is not known; known are {', '.join(_CODECS)}")


def unpacked(packed: bytes, codec: str) -> bytes:
    """Return a block's bytes. Raises Damaged if they cannot be unpacked, or are too many."""
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
    """Divider of blocks of one schema into records. Raises Damaged if the schema is invalid.

    A record ends where its reader stops. The reader is fastavro. If fastavro fails, or could take too much memory, the
    bounded reader of `payload.avro` reads the record and reports the fault.
    """

    def __init__(self, schema: bytes) -> None:
        self._root = _parsed(schema).root
        self._fast = _fastavro_schema(self._root, schema)

    def records(self, block: bytes, count: int) -> Iterator[bytes]:
        """Yield the records' bytes. Raises Damaged if there are fewer or more than `count`."""
        if not 0 <= count <= len(block) + _MAX_EMPTY:
            raise Damaged(f"it cannot hold {count:,} records")
        at = start = 0
        window = io.BytesIO(block[: 2 * _WINDOW])
        for number in range(count):
            if at - start > _WINDOW:
                start, window = at, io.BytesIO(block[at : at + 2 * _WINDOW])
            window.seek(at - start)
            end = start + window.tell() if self._is_read(window) else self._end(block, at, number)
            if end - at > MAX_MESSAGE:
                raise Damaged(f"its record {number} is larger than 32 MiB")
            yield block[at:end]
            at = end
        if at < len(block):
            raise Damaged(f"it has {len(block) - at:,} bytes after its last record")

    def _is_read(self, window: io.BytesIO) -> bool:
        """Read a record with fastavro. Return False if fastavro must not read it, or fails."""
        if self._fast is None:
            return False
        try:
            fastavro.schemaless_reader(window, self._fast, None, handle_unicode_errors="replace")
        except (EOFError, IndexError):
            return False
        return True

    def _end(self, block: bytes, at: int, number: int) -> int:
        """Return the end of the record that begins at a byte."""
        reading = Reading(block, [])
        reading.at = at
        try:
            value = reading.begin(self._root, None)
            if isinstance(value, GeneratorType):
                run(value)
        except Unreadable as stop:
            raise Damaged(f"its record {number} cannot be read: {stop.finding.message}") from None
        return reading.at


def _parsed(schema: bytes) -> AvroSchema:
    """Return a container's schema. Any release of Avro may have written it, whatever the Pulsar version.

    Avro does not validate a container's defaults. Raises Damaged if no release reads the schema.
    """
    refusals = []
    for version in (NEWEST, PulsarVersion.V4_0):
        try:
            parsed = formats.parse(SchemaInfo(SchemaType.AVRO, schema), version, validate_defaults=False)
        except InvalidSchemaError as error:
            refusals.append(error.sentence)
        else:
            assert isinstance(parsed, AvroSchema)  # noqa: S101  # its type is AVRO
            return parsed
    raise Damaged(f"its schema is none: {refusals[0]}")


def _fastavro_schema(root: Node, schema: bytes) -> Any:
    """Return the schema for fastavro.

    Return None if fastavro refuses it, or if a few bytes could fill the memory or the stack.
    """
    level = {root}
    for _ in range(_MAX_LEVELS):
        if any(map(_may_multiply, level)):
            return None
        level = {part for node in level for part in node.children}
        if not level:
            break
    else:
        return None
    try:
        return fastavro.parse_schema(json.loads(schema, object_hook=_structure))
    except (SchemaParseException, UnknownType, LookupError, TypeError, ValueError, RecursionError):
        return None


def _structure(declared: dict[str, Any]) -> dict[str, Any]:
    """Return the declaration without attributes that only the meaning of a value or other readers need."""
    return {name: value for name, value in declared.items() if name not in {"default", "logicalType"}}


def _may_multiply(node: Node) -> bool:
    """Return True if an unlimited number of values may take no bytes."""
    if isinstance(node, Array):
        return _may_be_empty(node.items)
    return isinstance(node, Record) and all(isinstance(each, Record) or _may_be_empty(each) for each in node.children)


def _may_be_empty(node: Node) -> bool:
    return isinstance(node, Fixed) or (isinstance(node, Primitive) and node.kind == "null")


def _whole(unpacking: Any, packed: bytes) -> bytes:
    """Return the whole content of a stream. Raises ValueError if the stream does not end there."""
    content: bytes = unpacking.decompress(packed, MAX_BLOCK + 1)
    if not unpacking.eof and len(content) <= MAX_BLOCK:
        raise ValueError("the stream has no end")
    return content


def _snappy(packed: bytes) -> bytes:
    """Return the content of a Snappy block: its size comes first, and Avro appends a checksum of four bytes."""
    content, size = packed[:-_CHECKSUM], 0
    for place, byte in enumerate(content[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:  # noqa: PLR2004  # this bit marks that more bytes follow
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
