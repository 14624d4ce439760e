"""The validators of columns beside the readers of single messages: the same reason, place and byte of every message."""

import base64
import json
from contextlib import suppress
from random import Random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from hypothesis import given, settings
from hypothesis import strategies as st

from support.payloads import json_payloads, primitive_values, protobuf_values
from support.payloads.verdicts import FITS, Verdict, losses, verdicts
from support.schemas import avro_schemas
from support.schemas.avro_schemas import seeded
from support.sizes import sized
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.base import in_schema
from topicschema.payload.columnar.verdicts import Validator
from topicschema.payload.finding import MAX_FINDINGS
from topicschema.payload.protobuf_native import of

PULSAR_VERSION = PulsarVersion.V4_0
SEEDS = st.integers(0, 2**32)


def expected(schema: Schema, content: bytes | None, key: bytes | None = None) -> Verdict:
    """Return the first finding of the reader of single messages."""
    findings = payload.validate(schema, content, key)
    return (findings[0].rule, in_schema(findings[0].path), findings[0].offset) if findings else FITS


@pytest.mark.parametrize("info", primitive_values.INFOS, ids=lambda info: f"{info.type}{dict(info.properties)}")
def test_primitives_are_judged_as_they_are_read(info: SchemaInfo) -> None:
    rng = seeded(7)
    contents = [None if rng.random() < 0.05 else primitive_values.content(rng, info) for _ in range(2_000)]
    schema = PrimitiveSchema(info, "")
    assert verdicts(validator_for(info, info, PULSAR_VERSION), *contents) == [
        expected(schema, each) for each in contents
    ]


@settings(deadline=None, max_examples=sized(30, 60))
@given(SEEDS, st.sampled_from(Encoding))
def test_pairs_are_judged_as_they_are_read(seed: int, encoding: Encoding) -> None:
    rng = seeded(seed)
    key, value = rng.choice(primitive_values.INFOS), rng.choice(primitive_values.INFOS)
    info = encode(KeyValue(Part(key), Part(value), encoding))
    schema = formats.parse(info)
    validator = validator_for(info, rng.choice((info, None)), PULSAR_VERSION)
    if encoding is Encoding.INLINE:
        contents = [None if rng.random() < 0.05 else primitive_values.inline(rng, schema) for _ in range(100)]
        assert verdicts(validator, *contents) == [expected(schema, each) for each in contents]
        return
    keys = [None if rng.random() < 0.1 else primitive_values.content(rng, key) for _ in range(100)]
    values = [None if rng.random() < 0.1 else primitive_values.content(rng, value) for _ in range(100)]
    assert verdicts(validator, *values, keys=keys) == [
        expected(schema, *each) for each in zip(values, keys, strict=True)
    ]
    assert verdicts(validator, *values) == [expected(schema, each, None) for each in values]


def json_schema(rng: Random) -> AvroSchema:
    """Return a random schema that parses."""
    while True:
        info = SchemaInfo(SchemaType.JSON, json.dumps(avro_schemas.schema(rng)).encode())
        with suppress(InvalidSchemaError):
            schema = formats.parse(info, validate_defaults=False)
            assert isinstance(schema, AvroSchema)
            return schema


@settings(deadline=None, max_examples=sized(50, 150))
@given(SEEDS)
def test_json_is_judged_as_it_is_read(seed: int) -> None:
    rng = seeded(seed)
    schema = json_schema(rng)
    contents = [json_payloads.content(rng, schema.root) for _ in range(40)]
    assert verdicts(validator_for(schema.info, None, PULSAR_VERSION), *contents) == [
        expected(schema, each) for each in contents
    ]


@settings(deadline=None, max_examples=sized(50, 150))
@given(SEEDS)
def test_protobuf_is_judged_as_it_is_read(seed: int) -> None:
    rng = seeded(seed)
    schema = protobuf_values.schema(rng)
    contents = [protobuf_payload(rng, schema) for _ in range(20)]
    assert verdicts(validator_for(schema.info, None, PULSAR_VERSION), *contents) == [
        expected(schema, each) for each in contents
    ]


def protobuf_payload(rng: Random, schema: ProtobufNativeSchema) -> bytes:
    """Return bytes for the schema: right ones, those of two messages in a row, broken ones, those of another schema."""
    roll = rng.random()
    if roll < 0.2:
        return protobuf_values.odd(rng, of(schema).root)
    other = protobuf_values.schema(rng) if roll < 0.3 else schema
    content = protobuf_values.several(rng, other, of(other).root)
    return content if roll > 0.6 else protobuf_values.broken(rng, content)


def without_fields(rng: Random, schema: ProtobufNativeSchema) -> SchemaInfo:
    """Return the schema without some fields of the file's messages."""
    envelope = json.loads(schema.info.schema)
    files = FileDescriptorSet.FromString(base64.b64decode(envelope["fileDescriptorSet"]))
    for message in files.file[0].message_type:
        for field in list(message.field):
            if rng.random() < 0.3 and not field.HasField("oneof_index"):
                message.field.remove(field)
    envelope["fileDescriptorSet"] = base64.b64encode(files.SerializeToString()).decode()
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode())


@settings(deadline=None, max_examples=sized(40, 80))
@given(SEEDS)
def test_what_only_the_protobuf_writer_knows_is_lost_and_nothing_else_of_its_messages(seed: int) -> None:
    rng = seeded(seed)
    writer = protobuf_values.schema(rng)
    reader = formats.parse(without_fields(rng, writer))
    contents = [protobuf_values.several(rng, writer, of(writer).root) for _ in range(10)]
    check_losses(validator_for(reader.info, writer.info, PULSAR_VERSION), reader, contents)


@settings(deadline=None, max_examples=sized(40, 80))
@given(SEEDS)
def test_what_only_the_json_writer_knows_is_lost_and_nothing_else_of_its_messages(seed: int) -> None:
    rng = seeded(seed)
    writer = json_schema(rng)
    text = json.loads(writer.info.schema)
    if isinstance(text, dict) and "fields" in text:
        text["fields"] = [each for each in text["fields"] if rng.random() < 0.6]
    try:
        reader = formats.parse(SchemaInfo(SchemaType.JSON, json.dumps(text).encode()), validate_defaults=False)
    except InvalidSchemaError:  # a name was defined in a field that is gone
        return
    contents = [json.dumps(json_payloads.value(rng, writer.root, wrong=0)).encode() for _ in range(10)]
    check_losses(validator_for(reader.info, writer.info, PULSAR_VERSION), reader, contents)


def check_losses(validator: Validator, reader: Schema, contents: list[bytes]) -> None:
    """Check that fields that only the writer knows are losses."""
    for content in contents:
        [(reason, *_)] = verdicts(validator, content)
        findings = payload.validate(reader, content)
        rules = {each.rule for each in findings}
        assert reason != "UNKNOWN_FIELD"
        if len(findings) >= MAX_FINDINGS and rules == {"UNKNOWN_FIELD"}:
            continue  # the validator alone reports what is wrong behind that many
        assert (not reason) == (rules <= {"UNKNOWN_FIELD"})
        if not reason:
            assert any(kind == "FIELD_DROPPED" for kind, _ in losses(validator, content)) == bool(rules)
