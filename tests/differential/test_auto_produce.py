"""The messages that a producer with AUTO_PRODUCE sends and refuses, beside the client's own class."""

import base64
import json
import random
from collections import Counter
from typing import Any

import pytest

from differential import oracle
from support.payloads import avro_values, primitive_values, protobuf_values
from support.sizes import sized
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import auto_produce
from topicschema.payload.protobuf_native import of

pytestmark = pytest.mark.differential

MESSAGES = sized(1_000, 4_000)
SEED = 4_007
PIECES = (b"", b" ", b"{}", b'{"a":1}', b"[]", b"null", b"\xff", b"{", b"1 2", b'{"a":1}x', b"//", b'"\xff"', b"nul")


def single(rng: random.Random) -> tuple[SchemaInfo, bytes]:
    """Return a schema and bytes for it: right ones, broken ones, those of another schema."""
    roll = rng.random()
    if roll < 0.25:
        info = rng.choice(primitive_values.INFOS)
        return info, primitive_values.content(rng, info)
    if roll < 0.45:
        parsed = protobuf_values.schema(rng)
        content = payload.encode(parsed, protobuf_values.value(rng, of(parsed).root)).payload or b""
        return parsed.info, protobuf_values.broken(rng, content) if rng.random() < 0.5 else content
    return struct(rng, rng.choice((SchemaType.AVRO, SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)))


def struct(rng: random.Random, kind: SchemaType) -> tuple[SchemaInfo, bytes]:
    text = {"type": "record", "name": "Root", "fields": [{"name": "a", "type": avro_values.schema(rng)}]}
    info = SchemaInfo(kind, json.dumps(text).encode())
    as_avro = formats.parse(SchemaInfo(SchemaType.AVRO, info.schema))
    content = payload.encode(as_avro, avro_values.value(rng, text)).payload or b""
    if kind is SchemaType.JSON and rng.random() < 0.8:
        return info, rng.choice(PIECES)
    return info, protobuf_values.broken(rng, content) if rng.random() < 0.6 else content


def pair(rng: random.Random) -> tuple[SchemaInfo, bytes]:
    (key, first), (value, second) = single(rng), single(rng)
    encoding = rng.choice(list(Encoding))
    info = encode(KeyValue(Part(key), Part(value), encoding))
    if encoding is Encoding.SEPARATED:
        return info, second
    parts = [len(each).to_bytes(4, "big") + each for each in (first, second)]
    return info, b"".join(parts)[: rng.choice((None, None, None, 5))]


def message(number: int) -> tuple[Schema, bytes] | None:
    rng = random.Random(SEED + number)  # noqa: S311  # a seed, not a secret
    info, content = pair(rng) if rng.random() < 0.2 else single(rng)
    if SchemaType.PROTOBUF.value in (info.properties.get("key.schema.type"), info.properties.get("value.schema.type")):
        return None  # the client fails on such a pair before it sees a message
    if info.type is SchemaType.BYTES:
        return None
    return formats.parse(info), content


def request_of(schema: Schema, content: bytes) -> dict[str, Any]:
    wire = oracle.wire(schema.info)
    return {"op": "send", "info": wire, "payload": base64.b64encode(content).decode(), "schema": None}


def test_a_message_is_sent_exactly_if_the_client_sends_it() -> None:
    messages = [each for each in map(message, range(MESSAGES)) if each is not None]
    answers = oracle.query((request_of(*each) for each in messages), oracle.CLIENT)
    wrong: list[object] = []
    met: Counter[object] = Counter()
    for (schema, content), answer in zip(messages, answers, strict=True):
        refused = auto_produce.refusals(schema, content)
        met.update([(schema.info.type, not refused)])
        if (answer["verdict"] is True) != (not refused):
            wrong.append((schema.info, content, refused, answer))
    assert wrong == []
    assert len(met) > 30
