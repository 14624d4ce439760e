"""Hostile documents by seed and number: a schema of any type, a twin of it, and a payload and a value for both."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import exp, log
from random import Random
from typing import Any, Final

from hostile import descriptors, floods, payloads, texts
from support.schemas import avro_schemas
from topicschema.core.formats.key_value import payload as pairs
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

LARGEST: Final = 3_000_000
_SMALLEST, _SMALL = 8, 20_000
_EVERY: Final = 50
"""Period of the large documents: 40 in the 2,000 of every test run."""

_SHAPES: Final[tuple[texts.Shape, ...]] = (
    *(texts.nested, texts.nested_records, texts.circles, texts.doubling, texts.numbers, texts.noise, texts.cut),
    *(texts.flipped, texts.twice, texts.spoilt, texts.good),
    *(floods.strings, floods.blanks, floods.members, floods.members, floods.alike, floods.references),
)
_LARGE_SHAPES: Final[tuple[texts.Shape, ...]] = (
    *(floods.strings, floods.members, floods.blanks, floods.members, texts.doubling, texts.circles, texts.nested),
    *(floods.alike, texts.twice, floods.references, texts.numbers, texts.nested_records, texts.noise),
)
_AVRO_TEXTS: Final = (SchemaType.AVRO, SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)


@dataclass(frozen=True, slots=True)
class Document:
    """A document. `twin` is the same schema after a small change, if there is one; `shape` is the name of its maker.

    `pulsar_version` is that of the broker by which both are read.
    """

    shape: str
    info: SchemaInfo
    twin: SchemaInfo
    pulsar_version: PulsarVersion
    payload: bytes = field(repr=False)
    value: Any = field(repr=False)


def document(seed: int, number: int) -> Document:
    """Return the document with the number, always the same one."""
    rng = avro_schemas.seeded(f"{seed}:{number}")
    is_large = number % _EVERY == _EVERY - 1
    if is_large:
        size = rng.choice((LARGEST, LARGEST // 4, LARGEST // 8))
        make = _MAKERS[(number // _EVERY) % len(_MAKERS)] if number // _EVERY % 2 else _avro
    else:
        size = int(exp(rng.uniform(log(_SMALLEST), log(_SMALL))))
        make = rng.choice((*_MAKERS, _avro, _avro, _avro))
    shape, info, other = make(rng, size, number // _EVERY if is_large else None)
    content = payloads.payload(rng, size)
    return Document(
        shape, info, other, rng.choice(tuple(PulsarVersion)), content, payloads.value(rng, min(size, _SMALL))
    )


_Made = tuple[str, SchemaInfo, SchemaInfo]


def _text(rng: Random, size: int, turn: int | None) -> tuple[str, bytes]:
    """Return a text of some shape. Large ones take turns, so that a few dozen have them all."""
    shape = rng.choice(_SHAPES) if turn is None else _LARGE_SHAPES[turn % len(_LARGE_SHAPES)]
    made = texts.encoded(shape(rng, size))
    if len(made) > LARGEST:  # a shape that estimates its size wrongly makes another
        made = texts.encoded(shape(rng, size * size // len(made)))
    return shape.__name__, made


def _avro(rng: Random, size: int, turn: int | None) -> _Made:
    shape, text = _text(rng, size, turn)
    kind = rng.choice(_AVRO_TEXTS)
    return shape, SchemaInfo(kind, text), SchemaInfo(kind, _change(rng, text))


_HUGE: Final = b'{"type": "fixed", "name": "Huge", "size": 2147483639}'


def _change(rng: Random, text: bytes) -> bytes:
    """Change a schema as people do: promote a type, add or rename a field, add a property."""
    old, instead = rng.choice(
        (
            (b'"int"', b'"long"'),
            (b'"fields": [', b'"fields": [{"name": "added", "type": "int", "default": 0}, '),
            (b'"fields":[', b'"x":1,"fields":['),
            (b'"type": "record"', b'"x": 1, "type": "record"'),
            (b'"null"', b'"string"'),
            (b'"fields": [', b'"fields": [{"name": "added", "type": "double", "default": %s}, ' % (b"9" * 999)),
            (b'"fields": [', b'"fields": [{"name": "added", "type": %s, "default": ""}, ' % _HUGE),
            (b"R", b"Q"),
            (b'"B', b'"C'),
        )
    )
    return text.replace(old, instead, rng.choice((-1, -1, 1)))


def _protobuf_native(rng: Random, size: int, _: int | None) -> _Made:
    content = descriptors.envelope(rng, size)
    twin = content.replace(b'"p.M0"', b'"p.M1"') if rng.random() < 0.5 else content + b" "
    return "envelope", SchemaInfo(SchemaType.PROTOBUF_NATIVE, content), SchemaInfo(SchemaType.PROTOBUF_NATIVE, twin)


def _key_value(rng: Random, size: int, turn: int | None) -> _Made:
    """Return a pair as it is stored: two hostile parts, joined rightly or not."""
    shape, key = _text(rng, size // 2, turn)
    _, value = _text(rng, size // 2, turn)
    if rng.random() < 0.3:
        value = b""
    joined = pairs.join(key, value)
    if rng.random() < 0.2:
        joined = _miscounted(rng, joined)
    other = pairs.join(_change(rng, key), _change(rng, value))
    properties = _pair_properties(rng, size)
    info = SchemaInfo(SchemaType.KEY_VALUE, joined, properties)
    return f"pair of {shape}", info, SchemaInfo(SchemaType.KEY_VALUE, other, properties)


def _miscounted(rng: Random, joined: bytes) -> bytes:
    length = rng.choice((-1, -2, -(2**31), 2**31 - 1, 0, 1, len(joined))).to_bytes(4, "big", signed=True)
    return rng.choice(
        (length + joined[4:], joined[: rng.randrange(len(joined))], joined + b"\xff", length, b"", joined * 2)
    )


def _pair_properties(rng: Random, size: int) -> Mapping[str, str]:
    kinds = (*_AVRO_TEXTS, SchemaType.STRING, SchemaType.BYTES, SchemaType.NONE, SchemaType.PROTOBUF_NATIVE)
    properties: dict[str, str] = {"key.schema.type": rng.choice(kinds), "value.schema.type": rng.choice(kinds)}
    if rng.random() < 0.4:
        properties[rng.choice(("key.schema.type", "value.schema.type"))] = rng.choice(
            ("KEY_VALUE", "", "avro", "\ud800", "AUTO")
        )
    if rng.random() < 0.4:
        properties["kv.encoding.type"] = rng.choice(("SEPARATED", "INLINE", "", "separated", "x" * size))
    if rng.random() < 0.4:
        deep = "[" * rng.choice((1, 999, 1_001, 50_000))
        closed = deep.replace("[", "]")
        texts_of_properties = (
            *(f'{{"a":{deep}"x"{closed}}}', f'{{"a":{deep}', '{"a":1}', '{"a":"\\ud800"}', '{"\\u0000":""}', "[]", "{"),
            *('{"a":"b"} x', "9" * 5_000, json.dumps({f"k{index}": "v" for index in range(size // 12)}), "\ud800"),
        )
        properties[f"{rng.choice(('key', 'value'))}.schema.properties"] = rng.choice(texts_of_properties)
    return properties


def _other(rng: Random, size: int, turn: int | None) -> _Made:
    """Return a type that has no text, with one, or STRING with an unknown charset."""
    shape, text = _text(rng, size, turn)
    kind = rng.choice(sorted(SchemaType))
    schema = rng.choice((b"", b"", b"null", text))
    charset = rng.choice(("UTF-8", "utf-16", "", "klingon", "\ud800", "x" * size, "idna", "hex", "rot13"))
    info = SchemaInfo(kind, schema, {"__charset": charset})
    return f"{kind} with {shape}", info, SchemaInfo(kind, schema)


_MAKERS: Final[tuple[Callable[[Random, int, int | None], _Made], ...]] = (_avro, _protobuf_native, _key_value, _other)
