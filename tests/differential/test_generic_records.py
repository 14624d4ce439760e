"""Messages as a consumer with AUTO_CONSUME gets them, beside the generic records of Pulsar's Java client."""

import base64
import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from differential import oracle
from support.payloads import avro_values, generic_records, primitive_values, protobuf_values
from support.payloads.generic_records import GenericRecord
from support.sizes import sized
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import Instant, LocalDateTime, Pair, numbers

pytestmark = pytest.mark.differential

ORACLE = oracle.CLIENT.with_name("GenericOracle.java")
MESSAGES = sized(300, 600)
SEED = 31_077
OFFSET = "__AVRO_READ_OFFSET__"


def avro(rng: random.Random) -> tuple[Schema, bytes]:
    text = avro_values.schema(rng)
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(text).encode()))
    content = payload.encode(schema, avro_values.value(rng, text)).payload or b""
    skipped = rng.choice((0, 0, 5))
    if skipped:
        schema = formats.parse(SchemaInfo(SchemaType.AVRO, schema.info.schema, {OFFSET: str(skipped)}))
    return schema, rng.randbytes(skipped) + content


def odd_offset(rng: random.Random) -> tuple[Schema, bytes]:
    """Return an AVRO message with any property, attribute and number of bytes before it."""
    offset = rng.choice(("5", "+5", "-5", "05", "0", "", "five", " 5", "2147483648", "2147483647"))
    attribute = rng.choice((None, None, offset, 5, "0", "x"))
    text: dict[str, Any] = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}][: rng.randrange(2)]}
    text |= {} if attribute is None else {OFFSET: attribute}
    info = SchemaInfo(SchemaType.AVRO, json.dumps(text).encode(), {OFFSET: offset} if rng.random() < 0.8 else {})
    return formats.parse(info), rng.randbytes(5)[rng.choice((0, 0, 1, 5)) :] + b"\2"


def plain_json(rng: random.Random) -> tuple[Schema, bytes]:
    while True:
        text = avro_values.schema(rng)
        schema = formats.parse(SchemaInfo(SchemaType.JSON, json.dumps(text).encode(), {OFFSET: "5"}))
        try:
            return schema, payload.encode(schema, avro_values.value(rng, text)).payload or b""
        except InvalidPayloadError:
            continue  # JSON has no way to say that value


def native(rng: random.Random) -> tuple[Schema, bytes]:
    schema = protobuf_values.schema(rng)
    root = payload.protobuf_native.of(schema).root
    return schema, payload.encode(schema, protobuf_values.value(rng, root)).payload or b""


def primitive(rng: random.Random) -> tuple[Schema, bytes]:
    while True:
        schema = PrimitiveSchema(rng.choice(primitive_values.INFOS), "")
        content = payload.encode(schema, primitive_values.value(rng, schema.info)).payload
        if content is not None:
            return schema, content


def pair(rng: random.Random) -> tuple[Schema, bytes, bytes | None]:
    """Return a KEY_VALUE and its message: the payload, and the message's key if that is a part of its value."""
    (key, of_key), (value, of_value) = (rng.choice((avro, plain_json, native, primitive))(rng) for _ in range(2))
    encoding = rng.choice(list(Encoding))
    schema = formats.parse(encode(KeyValue(Part(key.info), Part(value.info), encoding)))
    if encoding is Encoding.SEPARATED:
        return schema, of_value, of_key
    return schema, b"".join(len(each).to_bytes(4) + each for each in (of_key, of_value)), None


def request_of(schema: Schema, content: bytes, key: bytes | None) -> dict[str, Any]:
    of_key = {} if key is None else {"key": base64.b64encode(key).decode()}
    return {**oracle.wire(schema.info), "payload": base64.b64encode(content).decode(), **of_key}


def ours(schema: Schema, value: Any) -> Any:
    """Return a value as `theirs` has it."""
    if isinstance(value, GenericRecord):
        return (
            ours(schema, value.value)
            if not value.fields
            else [[name, field_of(schema, value, name)] for name in value.fields]
        )
    if isinstance(value, Pair):
        return [ours(schema.key, value.key), ours(schema.value, value.value)]  # type: ignore[attr-defined]
    return plain(value)


def field_of(schema: Schema, record: GenericRecord, name: str) -> Any:
    if record.type is SchemaType.PROTOBUF_NATIVE:
        return None if record[name] is None else "set"
    if record.type is not SchemaType.JSON:
        return plain(record[name])
    tree = json.loads(payload.encode(schema, record.value).payload or b"")
    return tree.get(name)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted([key, plain(each)] for key, each in value.items())
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return str(numbers.canonical_bits_of_double(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Instant | LocalDateTime):
        return " ".join(map(str, value))
    return value if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def theirs(value: Any, *, is_outer: bool = True) -> Any:
    """Return a value of the oracle's, in which an inner record is sorted like a map."""
    if value is None:
        return None
    kind, of = value
    if kind == "record":
        fields = [[name, theirs(each, is_outer=False)] for name, each in of]
        return fields if is_outer else sorted(fields)
    if kind == "pair":
        return [theirs(each) for each in of]
    if kind == "map":
        return [[key, theirs(each, is_outer=False)] for key, each in of]
    if kind == "list":
        return [theirs(each, is_outer=False) for each in of]
    return (of[1] or of[0]) if kind == "number" else of


Make = Callable[[random.Random], tuple[Schema, bytes] | tuple[Schema, bytes, bytes | None]]


@pytest.mark.parametrize("make", [avro, odd_offset, plain_json, native, primitive, pair])
def test_a_message_is_the_record_that_the_client_has(make: Make) -> None:
    messages = [(*made, None)[:3] for number in range(MESSAGES) for made in (make(random.Random(SEED + number)),)]  # noqa: S311  # seeds
    answers = oracle.query((request_of(*each) for each in messages), ORACLE)
    met: Counter[bool] = Counter()
    wrong = []
    for (schema, content, key), answer in zip(messages, answers, strict=True):
        try:
            result = ours(schema, generic_records.record(schema, content, key))
        except (InvalidPayloadError, InvalidSchemaError) as error:
            result = error
        is_read = answer["verdict"] is True
        met[is_read] += 1
        if is_read is isinstance(result, Exception) or (is_read and result != theirs(answer["value"])):
            wrong.append((schema.info, content, key, result, answer))
    assert wrong == []
    assert met[True] > MESSAGES / (10 if make is odd_offset else 2)
