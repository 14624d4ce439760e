"""Judges and hostile bytes: a verdict for whatever comes, soon, and with little memory."""

import random
import tracemalloc

import pytest

from hostile import payloads as hostile
from support.payloads import orders
from support.payloads.verdicts import reasons
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS
from topicschema.payload.columnar.verdicts import MAX_PATHS

PULSAR_VERSION = PulsarVersion.V4_0
MEGABYTE = 1_000_000
JSON, PROTOBUF = orders.json_schema(), orders.protobuf_schema()
AVRO = SchemaInfo(SchemaType.AVRO, JSON.schema)
TEXT = SchemaInfo(SchemaType.STRING)
SCHEMAS = {
    "avro": AVRO,
    "json": JSON,
    "protobuf": PROTOBUF,
    "text": TEXT,
    "pair": encode(KeyValue(Part(JSON), Part(PROTOBUF), Encoding.INLINE)),
    "parts": encode(KeyValue(Part(AVRO), Part(TEXT), Encoding.SEPARATED)),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_whatever_the_bytes_are_there_is_a_verdict_within_the_lists(name: str) -> None:
    rng = random.Random(name)  # noqa: S311  # a seed, not a secret
    contents = [hostile.payload(rng, 2_000) for _ in range(150)]
    validator = validator_for(SCHEMAS[name], SCHEMAS[name], PULSAR_VERSION)
    verdicts = validator.validate(Column.of(contents), Column.of(contents[::-1]))
    assert max(verdicts.reasons) < len(REASONS)
    assert max(verdicts.paths) < len(validator.paths) <= MAX_PATHS + 1
    wrong = verdicts.reasons != 0
    assert (verdicts.offsets[~wrong] == -1).all()
    assert (verdicts.offsets[wrong] >= 0).all()
    assert (verdicts.offsets <= 10_000).all()


@pytest.mark.parametrize(
    ("schema", "content", "reason"),
    [
        (JSON, b"[" * MEGABYTE, "TOO_DEEP"),
        (JSON, b'{"id":' + b"9" * MEGABYTE + b"}", "SYNTAX"),
        (JSON, b'"' + b"\\u00e9" * MEGABYTE + b'"', "WRONG_TYPE"),
        (PROTOBUF, b"\x83\x06" * MEGABYTE, "TOO_DEEP"),
        (PROTOBUF, b"\x08\x01" * (2 * MEGABYTE), "TOO_MANY_VALUES"),
        (PROTOBUF, b"\x62\xff\xff\xff\xff\x07" + bytes(MEGABYTE), "TRUNCATED"),
        (PROTOBUF, b"\x62\x80\xad\xe2\x04" + bytes(10 * MEGABYTE), ""),
        (TEXT, "é".encode() * (2 * MEGABYTE) + b"\xff", "INVALID_UTF8"),
    ],
)
def test_large_claims_and_large_messages_are_bounded(schema: SchemaInfo, content: bytes, reason: str) -> None:
    tracemalloc.start()
    try:
        assert reasons(validator_for(schema, schema, PULSAR_VERSION), content) == [reason]
        assert tracemalloc.get_traced_memory()[1] < 20 * len(content) + 50 * MEGABYTE
    finally:
        tracemalloc.stop()
