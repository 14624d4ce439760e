"""Values and bytes of Pulsar's primitive types, by the seed: limits, NaNs, broken text, lengths that are wrong."""

import base64
import random
import struct
from collections.abc import Callable
from typing import Any

from topicschema import payload
from topicschema.core.formats.key_value import KeyValueSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import Instant, LocalDateTime, Pair, numbers
from topicschema.payload.primitives import Integer

CHARSETS = ("UTF-8", "us-ascii", "ISO-8859-1", "UTF-16", "UTF-16BE", "utf-16le")
INFOS = [
    *(SchemaInfo(kind) for kind in sorted(payload.primitives.TYPES) if kind is not SchemaType.NONE),
    *(SchemaInfo(SchemaType.STRING, b"", {"__charset": charset}) for charset in CHARSETS),
]
_DAYS = range(-365_243_219_162, 365_241_780_472)
_NANOS = range(86_400 * 10**9)
_SECONDS = range(-31_557_014_167_219_200, 31_556_889_864_403_200)
_SIZES = {
    SchemaType.BOOLEAN: 1,
    SchemaType.FLOAT: 4,
    SchemaType.DOUBLE: 8,
    SchemaType.INSTANT: 12,
    SchemaType.LOCAL_DATE_TIME: 16,
}
_PIECES = (
    b"text", b"\x00", b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xff", b"\x80", b"\xc0\x80", b"\xe2\x82",
    b"\xed\xa0\x80", b"\xed\xbf", b"\xed", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xe0\x80", b"\xf8\x88", b"\xfe\xff",
    b"\xff\xfe", b"\xd8\x00", b"\xdc\x00", b"\x00\xd8", b"\x00\xdc",
)  # fmt: skip
_TEXTS = ("", "text", "é", "€", "\U0001f600", "\ud800", "\udc00", "\x00", "\ufeff", "ÿ", "\ufffd")


def value(rng: random.Random, info: SchemaInfo) -> Any:
    """Return a value of the type, sometimes None."""
    if rng.random() < 0.03:
        return None
    codec = payload.primitives.codec(info)
    return _within(rng, codec.allowed) if isinstance(codec, Integer) else _MAKERS[info.type](rng)


_MAKERS: dict[SchemaType, Callable[[random.Random], Any]] = {
    SchemaType.BOOLEAN: lambda rng: rng.random() < 0.5,
    SchemaType.STRING: lambda rng: "".join(rng.choices(_TEXTS, k=rng.randint(0, 4))),
    SchemaType.BYTES: lambda rng: rng.randbytes(rng.randint(0, 9)),
    SchemaType.FLOAT: lambda rng: numbers.float_of(_float_bits(rng)),
    SchemaType.DOUBLE: lambda rng: numbers.double_of(_double_bits(rng)),
    SchemaType.INSTANT: lambda rng: Instant(_within(rng, _SECONDS), _within(rng, range(10**9))),
    SchemaType.LOCAL_DATE_TIME: lambda rng: LocalDateTime(_within(rng, _DAYS), _within(rng, _NANOS)),
}


def content(rng: random.Random, info: SchemaInfo) -> bytes:
    """Bytes for the type: right ones, any, too few or too many."""
    if info.type in (SchemaType.STRING, SchemaType.BYTES):
        return b"".join(rng.choices(_PIECES, k=rng.randint(0, 5)))
    good = value(rng, info)
    codec = payload.primitives.codec(info)
    encoded = b"" if good is None else codec.write(good)
    size = codec.size if isinstance(codec, Integer) else _SIZES[info.type]
    roll = rng.random()
    if roll < 0.5:
        return encoded
    if roll < 0.8:
        return rng.randbytes(size)
    return rng.randbytes(max(0, size + rng.choice((-1, 1, 3)))) if roll < 0.9 else encoded + b"\x01"


def pair(rng: random.Random, schema: Schema) -> Pair:
    """Return a value of a KEY_VALUE."""
    assert isinstance(schema, KeyValueSchema)
    return Pair(value(rng, schema.key.info), value(rng, schema.value.info))


def inline(rng: random.Random, schema: Schema) -> bytes:
    """Bytes for an INLINE pair; some with wrong lengths."""
    assert isinstance(schema, KeyValueSchema)
    out = b""
    for part in (schema.key.info, schema.value.info):
        inner = payload.primitives.codec(part).write(good) if (good := value(rng, part)) is not None else None
        length = -1 if inner is None else len(inner)
        if rng.random() < 0.1:
            length += rng.choice((-1, 1, -2, 1000))
        out += struct.pack(">i", length) + (inner or b"")
    roll = rng.random()
    return out[: rng.randint(0, len(out))] if roll < 0.1 else out + b"\x00" if roll < 0.2 else out


def shown(schema: Schema, of: Any) -> Any:
    """Return a value in the form of the Java client's oracle."""
    if of is None:
        return None
    if isinstance(schema, KeyValueSchema):
        return [shown(schema.key, of.key), shown(schema.value, of.value)]
    if isinstance(of, float):
        bits = numbers.bits_of_float if schema.info.type is SchemaType.FLOAT else numbers.bits_of_double
        return str(bits(of))
    if isinstance(of, bytes):
        return base64.b64encode(of).decode()
    if isinstance(of, tuple):
        return " ".join(map(str, of))
    return str(of).lower() if isinstance(of, bool) else str(of)


def _within(rng: random.Random, allowed: range) -> int:
    near = (allowed[0], allowed[-1], *(each for each in (-1, 0, 1, 999_999_999) if each in allowed))
    return rng.choice(near) if rng.random() < 0.4 else rng.randrange(allowed.start, allowed.stop)


def _float_bits(rng: random.Random) -> int:
    odd = (0, 1, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00001, 0x7F800001, 0xFFC12345, 0xFFFFFFFF)
    return rng.choice(odd) if rng.random() < 0.4 else rng.getrandbits(32)


def _double_bits(rng: random.Random) -> int:
    odd = (0, 1, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0x7FF << 52) + 1, (0xFFF8 << 48) + 77, 2**64 - 1)
    return rng.choice(odd) if rng.random() < 0.4 else rng.getrandbits(64)
