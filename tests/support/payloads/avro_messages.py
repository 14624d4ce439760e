"""Random pairs of Avro schemas and messages of the writer: valid, in all kinds of blocks, truncated, broken, longer."""

import random
import re
import struct
from typing import Any

from support.payloads import avro_node_values
from support.schemas import avro_readings
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.schemas import SchemaInfo, SchemaType

_SMALL = 700
_MAP_VALUES = re.compile(r'"values": "([a-z]+)"')
_LOGICAL = {
    "long": '{"type": "long", "logicalType": "timestamp-millis"}',
    "int": '{"type": "int", "logicalType": "date"}',
    "string": '{"type": "string", "logicalType": "uuid"}',
    "bytes": '{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}',
}


def parsed(text: str) -> AvroSchema:
    """Parse an AVRO schema. Raise InvalidSchemaError."""
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()))
    assert isinstance(schema, AvroSchema)
    return schema


def pair(rng: random.Random) -> tuple[AvroSchema, AvroSchema] | None:
    """Return a reader and a writer; None if a text is invalid."""
    reader, writer = avro_readings.pair(rng)
    while len(reader) + len(writer) < _SMALL and rng.random() < 0.9:  # most valid ones have few fields
        reader, writer = avro_readings.pair(rng)
    if rng.random() < 0.5:
        reader, writer = (
            _MAP_VALUES.sub(r'"values": {"type": "array", "items": "\1"}', each) for each in (reader, writer)
        )
    try:
        reader = _promote(rng, reader)
        return parsed(_with_logical_types(rng, reader)), parsed(_with_logical_types(rng, writer))
    except InvalidSchemaError:
        return None


def _promote(rng: random.Random, text: str) -> str:
    """Replace some types by types that read their values."""
    for kind, wider in avro_readings.PROMOTED.items():
        if rng.random() < 0.3:
            text = text.replace(f'"{kind}"', f'"{rng.choice(wider)}"', rng.randint(1, 2))
    return text


def _with_logical_types(rng: random.Random, text: str) -> str:
    for kind, logical in _LOGICAL.items():
        if rng.random() < 0.3:
            text = text.replace(f'"{kind}"', logical)
    return text


def messages(rng: random.Random, root: Node, count: int) -> list[bytes]:
    """Return at most that number of messages: values that do not end, or that do not exist, are left out."""
    contents = []
    for _ in range(count):
        try:
            content = written(rng, root, 6)
        except (RecursionError, IndexError):
            continue
        contents.append(content if rng.random() < 0.35 else broken(rng, content))
    return contents


def broken(rng: random.Random, content: bytes) -> bytes:
    """Return the bytes truncated, extended or with flipped bits; or random bytes."""
    out = bytearray(content or b"\0")
    roll = rng.random()
    if roll < 0.3:
        return bytes(out[: rng.randrange(len(out))])
    if roll < 0.4:
        return bytes(out + rng.randbytes(rng.randint(1, 3)))
    if roll < 0.5:
        return bytes(rng.choice((0, 0, 0, 1, 2, 2, 3, 4, 128, 255)) for _ in range(rng.randint(0, 12)))
    for _ in range(rng.randint(1, 3)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def written(rng: random.Random, node: Node, depth: int) -> bytes:
    """Return the bytes of a value. Raise RecursionError if no value ends, IndexError if the schema has none."""
    if depth < -3:
        raise RecursionError
    if isinstance(node, Union):
        flat = [each for each in node.branches if isinstance(each, Primitive)]
        branch = rng.choice(flat if flat and depth < 1 else node.branches)
        return number(node.branches.index(branch)) + written(rng, branch, depth)
    if isinstance(node, Record):
        return b"".join(written(rng, field.type, depth - 1) for field in node.fields)
    if isinstance(node, Array | Map):
        return _blocks(rng, node, depth)
    if isinstance(node, Enum):
        return number(rng.randrange(len(node.symbols)))
    if isinstance(node, Fixed):
        return rng.randbytes(node.size)
    value = avro_node_values.value(rng, node)
    is_float = isinstance(node, Primitive) and node.kind == "float"
    return struct.pack("<f", value) if is_float else _primitive(value)


def _blocks(rng: random.Random, node: Array | Map, depth: int) -> bytes:
    content = b""
    for _ in range(rng.choice((0, 1, 1, 2)) if depth > 0 else 0):
        count = rng.randint(1, 2)
        items = b"".join(_item(rng, node, depth - 1) for _ in range(count))
        is_sized = rng.random() < 0.4
        content += (number(-count) + number(len(items)) if is_sized else number(count)) + items
    return content + b"\0"


def _item(rng: random.Random, node: Array | Map, depth: int) -> bytes:
    if isinstance(node, Array):
        return written(rng, node.items, depth)
    return _primitive(rng.choice(("", "k", "é"))) + written(rng, node.values, depth)


def _primitive(value: Any) -> bytes:
    if isinstance(value, float):
        return struct.pack("<d", value)
    if value is None or isinstance(value, bool):
        return b"" if value is None else bytes([value])
    if isinstance(value, int):
        return number(value)
    content = value.encode() if isinstance(value, str) else value
    return number(len(content)) + content


def number(value: int) -> bytes:
    """Return a zigzag integer."""
    bits = value << 1 ^ value >> 63
    out = bytearray()
    while bits > 0x7F:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*out, bits])
