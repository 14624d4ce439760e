"""The blocks of an Avro container: unpacked, and cut into the records that were written one after the other."""

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import GeneratorType, MappingProxyType
from typing import Any, Final

import fastavro
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.graph.trampoline import run
from topicschema.core.formats.avro.model import Array, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.avro.reading import Reading
from topicschema.payload.finding import Unreadable
from topicschema.validation.sources.files.opened import MAX_MESSAGE

MAX_BLOCK: Final = 64 * 1024 * 1024
"""Bytes of a block, packed or not; writers end one at 64 kB, or after its only record."""
_MAX_EMPTY: Final = 1_000_000
"""Records of a block that take no bytes."""
_MAX_LEVELS: Final = 100
"""Levels of a schema that fastavro reads by: it has the processor's stack, which ends at about 4,000."""
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

    A record ends where a reading of it ends. fastavro reads. Where it cannot, or could be made to take any memory, the
    reader of `payload.avro` does: it is bounded, and says what is wrong.
    """

    def __init__(self, schema: bytes) -> None:
        try:
            parsed = formats.parse(SchemaInfo(SchemaType.AVRO, schema), PulsarLine.V4_0)
        except InvalidSchemaError as error:
            raise Damaged(f"its schema is none: {error.sentence}") from None
        assert isinstance(parsed, AvroSchema)  # noqa: S101  # of the type AVRO
        self._root = parsed.root
        self._fast = _fastavro_schema(parsed.root, schema)

    def records(self, block: bytes, count: int) -> Iterator[bytes]:
        """The records' bytes; Damaged where there are not so many, or more."""
        if not 0 <= count <= len(block) + _MAX_EMPTY:
            raise Damaged(f"it cannot hold {count:,} records")
        stream = io.BytesIO(block)
        at = 0
        for number in range(count):
            end = self._end(stream, at, number)
            if end - at > MAX_MESSAGE:
                raise Damaged(f"its record {number} is larger than 32 MiB")
            yield block[at:end]
            at = end
        if at < len(block):
            raise Damaged(f"it has {len(block) - at:,} bytes after its last record")

    def _end(self, stream: io.BytesIO, at: int, number: int) -> int:
        """The end of the record that begins at a byte."""
        if self._fast is not None:
            stream.seek(at)
            with suppress(EOFError, IndexError):
                fastavro.schemaless_reader(stream, self._fast, None, handle_unicode_errors="replace")
                return stream.tell()
        reading = Reading(stream.getvalue(), [])
        reading.at = at
        try:
            value = reading.begin(self._root, None)
            if isinstance(value, GeneratorType):
                run(value)
        except Unreadable as stop:
            raise Damaged(f"its record {number} cannot be read: {stop.finding.message}") from None
        return reading.at


def _fastavro_schema(root: Node, schema: bytes) -> Any:
    """The schema for fastavro; None if it refuses the schema, or a few bytes could fill the memory or the stack."""
    level = {root}
    for _ in range(_MAX_LEVELS):
        if any(map(_may_multiply, level)):
            return None
        level = {part for node in level for part in _parts(node)}
        if not level:
            break
    else:
        return None
    try:
        return fastavro.parse_schema(json.loads(schema, object_hook=_structure))
    except (SchemaParseException, UnknownType, LookupError, TypeError, ValueError, RecursionError):
        return None


def _structure(declared: dict[str, Any]) -> dict[str, Any]:
    """Leave out what only the meaning of a value and other readers need."""
    return {name: value for name, value in declared.items() if name not in {"default", "logicalType"}}


def _may_multiply(node: Node) -> bool:
    """Return whether any number of values may take no bytes."""
    if isinstance(node, Array):
        return _may_be_empty(node.items)
    return isinstance(node, Record) and all(isinstance(each, Record) or _may_be_empty(each) for each in _parts(node))


def _may_be_empty(node: Node) -> bool:
    return isinstance(node, Fixed) or (isinstance(node, Primitive) and node.kind == "null")


def _parts(node: Node) -> Sequence[Node]:
    if isinstance(node, Record):
        return [field.type for field in node.fields]
    if isinstance(node, Array | Map):
        return [node.items if isinstance(node, Array) else node.values]
    return node.branches if isinstance(node, Union) else ()


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
