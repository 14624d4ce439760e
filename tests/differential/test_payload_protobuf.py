"""PROTOBUF_NATIVE payloads, whole and broken, beside the generic schema of Pulsar's Java client."""

import base64
import random
from collections import Counter
from typing import Any

import pytest

from differential import oracle
from support.payloads import protobuf_values
from support.schemas import protobuf_schemas
from support.sizes import sized
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.payload.protobuf_native import FieldPlan, MessagePlan, of

pytestmark = pytest.mark.differential

ORACLE = oracle.CLIENT.with_name("ProtobufOracle.java")
MESSAGES = sized(1_000, 4_000)
SEED = 32_505


def request_of(op: str, schema: ProtobufNativeSchema, **members: Any) -> dict[str, Any]:
    return {"op": op, "schema": base64.b64encode(schema.info.schema).decode(), **members}


def rng_of(number: int) -> random.Random:
    return random.Random(SEED + number)  # noqa: S311  # a seed, not a secret


def test_values_have_the_bytes_that_the_client_gives_them() -> None:
    cases = []
    for number in range(MESSAGES):
        rng = rng_of(number)
        schema = protobuf_values.schema(rng)
        cases.append((schema, protobuf_values.value(rng, of(schema).root)))
    answers = oracle.query(
        (request_of("encode", schema, value=protobuf_values.shown(of(schema).root, value)) for schema, value in cases),
        ORACLE,
    )
    wrong = [
        (schema.info, value, answer)
        for (schema, value), answer in zip(cases, answers, strict=True)
        if payload.encode(schema, value).payload != base64.b64decode(answer.get("payload", "?"))
    ]
    assert wrong == []


def message(number: int) -> tuple[ProtobufNativeSchema, bytes]:
    """Return a schema and bytes for it: right ones, two messages in a row, those of another schema, broken ones."""
    rng = rng_of(number)
    schema = protobuf_values.schema(rng)
    root = of(schema).root
    content = protobuf_values.several(rng, schema, root)
    roll = rng.random()
    if roll < 0.3:
        other = protobuf_values.schema(rng)
        content = payload.encode(other, protobuf_values.value(rng, of(other).root)).payload or b""
    return schema, content if roll > 0.6 else protobuf_values.broken(rng, content)


def odd(number: int) -> tuple[ProtobufNativeSchema, bytes] | None:
    """Return a schema that no compiler writes, but Java accepts, and bytes for it."""
    rng = rng_of(number)
    try:
        schema = formats.parse(
            SchemaInfo(SchemaType.PROTOBUF_NATIVE, protobuf_schemas.random_envelope(rng, number % 3))
        )
    except InvalidSchemaError:
        return None
    assert isinstance(schema, ProtobufNativeSchema)
    return schema, protobuf_values.odd(rng, of(schema).root)


def test_java_reads_what_we_read_and_fails_where_we_refuse() -> None:
    met = compare([message(number) for number in range(MESSAGES)])
    assert met.keys() >= {"read", "TRUNCATED", "VARINT_TOO_LONG", "INVALID_FIELD_NUMBER", "INVALID_WIRE_TYPE"}
    assert met.keys() >= {"NEGATIVE_LENGTH", "UNMATCHED_GROUP", "MISSING_FIELD", "INVALID_UTF8"}
    assert met.keys() >= {"UNKNOWN_FIELD", "WRONG_WIRE_TYPE", "UNKNOWN_SYMBOL"}
    assert met["read"] > MESSAGES // 3


def test_java_reads_what_we_read_also_by_descriptors_that_no_compiler_writes() -> None:
    met = compare([each for each in map(odd, range(MESSAGES)) if each is not None])
    assert met["read"] > MESSAGES // 20


def compare(cases: list[tuple[ProtobufNativeSchema, bytes]]) -> Counter[str]:
    """Return how often each rule was met. Fail if the client gets another value, or none."""
    answers = oracle.query(
        (request_of("decode", schema, payload=base64.b64encode(content).decode()) for schema, content in cases), ORACLE
    )
    wrong: list[object] = []
    met: Counter[str] = Counter()
    for (schema, content), answer in zip(cases, answers, strict=True):
        findings = payload.validate(schema, content)
        fatal = next((each for each in findings if not each.is_tolerated), None)
        met.update([fatal.rule if fatal else "read", *(each.rule for each in findings if each.is_tolerated)])
        if fatal is not None:
            if answer["verdict"] is True:
                wrong.append((schema.info, content, fatal, answer))
            continue
        root = of(schema).root
        ours = in_order(root, protobuf_values.shown(root, payload.decode(schema, content)))
        if answer["verdict"] is not True or ours != in_order(root, answer["value"]):
            wrong.append((schema.info, content, ours, answer))
    assert wrong == []
    return met


def in_order(plan: MessagePlan, message: list[Any]) -> str:
    """Return the value with maps as sets of entries, of which the last of a key counts."""
    fields = {field.number: field for field in plan.written}
    return repr([(number, field_value(fields[number], value)) for number, value in message])


def field_value(field: FieldPlan, value: Any) -> object:
    if field.pair is not None:
        entries = [dict(each) for each in value]
        return sorted({key_of(field, each): value_of(field, each) for each in entries}.items())
    each = value if field.is_repeated else [value]
    return [in_order(field.message, one) for one in each] if field.message_name else each


def key_of(field: FieldPlan, entry: dict[int, Any]) -> str:
    assert field.pair is not None
    return str(entry.get(1, protobuf_values.absent(field.pair.read[1])))


def value_of(field: FieldPlan, entry: dict[int, Any]) -> str:
    assert field.pair is not None
    of_entry = field.pair.read[2]
    if of_entry.message_name:
        return in_order(of_entry.message, entry.get(2, []))
    return str(entry.get(2, protobuf_values.absent(of_entry)))
