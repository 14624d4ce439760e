"""Values as JSON and back, for every type."""

import json
import math
from typing import Any

import pytest

from support.payloads.protobuf_orders import PROTO_3
from support.payloads.verdicts import refusal
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.key_value import KeyValue, Part, encode
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import Instant, LocalDateTime, Pair, display_json

RECORD = """{"type": "record", "name": "R", "fields": [
  {"name": "id", "type": "long"},
  {"name": "raw", "type": ["null", "bytes"]},
  {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
  {"name": "rate", "type": "double"},
  {"name": "kind", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}]}"""


def primitive(kind: str) -> Schema:
    return PrimitiveSchema(SchemaInfo(SchemaType(kind)), "")


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("BOOLEAN", True, True),
        ("INT64", 2**63 - 1, 2**63 - 1),
        ("STRING", "é", "é"),
        ("BYTES", b"\xff", "/w=="),
        ("DOUBLE", 1.5, 1.5),
        ("FLOAT", math.inf, "Infinity"),
        ("DOUBLE", -math.inf, "-Infinity"),
        ("INSTANT", Instant(0, 5), "1970-01-01T00:00:00.000000005Z"),
        ("INSTANT", Instant(-1, 500_000_000), "1969-12-31T23:59:59.5Z"),
        ("TIMESTAMP", 1_767_225_600_001, "2026-01-01T00:00:00.001Z"),
        ("DATE", -1, "1969-12-31T23:59:59.999Z"),
        ("TIME", 0, "1970-01-01T00:00:00Z"),
        ("LOCAL_DATE", 0, "1970-01-01"),
        ("LOCAL_DATE", 19_782, "2024-02-29"),
        ("LOCAL_DATE", -719_529, "-0001-12-31"),
        ("LOCAL_DATE", 2_932_897, "+10000-01-01"),
        ("LOCAL_DATE", 365_241_780_471, "+999999999-12-31"),
        ("LOCAL_TIME", 86_399_999_999_999, "23:59:59.999999999"),
        ("LOCAL_DATE_TIME", LocalDateTime(1, 3_600_000_000_000), "1970-01-02T01:00:00"),
    ],
)
def test_a_primitive_value_has_this_json_and_comes_back(kind: str, value: Any, written: Any) -> None:
    assert display_json.to_json(primitive(kind), value) == written
    assert display_json.of_json(primitive(kind), written) == value
    assert display_json.to_json(primitive(kind), None) is display_json.of_json(primitive(kind), None) is None


def test_nan_and_milliseconds_may_be_written_in_two_ways() -> None:
    assert display_json.to_json(primitive("DOUBLE"), math.nan) == "NaN"
    assert math.isnan(display_json.of_json(primitive("DOUBLE"), "NaN"))
    assert display_json.of_json(primitive("TIMESTAMP"), 5) == 5
    assert display_json.of_json(primitive("LOCAL_TIME"), "10:00") == 36_000_000_000_000


@pytest.mark.parametrize(
    ("kind", "written", "rule"),
    [
        ("BYTES", "/w=", "INVALID_BASE64"),
        ("BYTES", 5, "WRONG_TYPE"),
        ("LOCAL_DATE", "2023-02-29", "OUT_OF_RANGE"),
        ("LOCAL_DATE", "2023-13-01", "OUT_OF_RANGE"),
        ("LOCAL_DATE", "yesterday", "WRONG_TYPE"),
        ("LOCAL_DATE", 5, "WRONG_TYPE"),
        ("LOCAL_TIME", "24:00:00", "OUT_OF_RANGE"),
        ("LOCAL_TIME", "1:00", "WRONG_TYPE"),
        ("LOCAL_DATE_TIME", "2023-01-01", "WRONG_TYPE"),
        ("INSTANT", "2023-01-01T00:00:00", "WRONG_TYPE"),
        ("TIMESTAMP", "2023-01-01T00:00:00.0001Z", "OUT_OF_RANGE"),
    ],
)
def test_json_that_is_no_value_is_refused(kind: str, written: Any, rule: str) -> None:
    assert refusal(display_json.of_json, primitive(kind), written)[0] == rule


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_a_record_has_bytes_in_base64_and_comes_back(kind: str) -> None:
    schema = formats.parse(SchemaInfo(SchemaType(kind), RECORD.encode()))
    value = {"id": 2**60, "raw": b"\xff", "sum": b"\x01", "rate": math.inf, "kind": "B"}
    written = {"id": 2**60, "raw": "/w==", "sum": "AQ==", "rate": "Infinity", "kind": "B"}
    assert display_json.to_json(schema, value) == written
    assert display_json.of_json(schema, written) == value
    assert display_json.to_json(schema, {**value, "sum": 1.5})["sum"] == 1.5


def test_every_field_of_a_record_must_be_there() -> None:
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, RECORD.encode()))
    assert refusal(display_json.of_json, schema, {"id": 1})[:2] == ("MISSING_FIELD", "$.sum")


def test_what_is_nested_deeper_than_json_goes_is_refused() -> None:
    text = b'{"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}'
    value: dict[str, Any] = {"next": None}
    for _ in range(5000):
        value = {"next": value}
    with pytest.raises(InvalidPayloadError, match="deeper"):
        display_json.to_json(formats.parse(SchemaInfo(SchemaType.AVRO, text)), value)


def test_a_protobuf_message_has_its_own_names_in_the_order_of_their_numbers() -> None:
    written = {"id": 2**60, "lines": [{"next": {}}], "by": {"5": {"sku": "a"}}, "a": True}
    written |= {"raw": "/w==", "price": "-Infinity", "colors": ["RED", 7]}
    value = dict(reversed(written.items())) | {"by": {5: {"sku": "a"}}, "raw": b"\xff", "price": -math.inf}
    assert json.dumps(display_json.to_json(PROTO_3, value)) == json.dumps(written)
    assert display_json.of_json(PROTO_3, written) == value


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ([], "$"),
        ({"lines": {}}, "$.lines"),
        ({"lines": [5]}, "$.lines[0]"),
        ({"by": [1]}, "$.by"),
        ({"by": {"x": {}}}, "$.by{0}"),
        ({"raw": 1}, "$.raw"),
    ],
)
def test_json_that_is_no_message_is_refused_with_its_path(written: Any, path: str) -> None:
    assert refusal(display_json.of_json, PROTO_3, written)[:2] == ("WRONG_TYPE", path)


def test_a_pair_is_an_object_of_two() -> None:
    schema = formats.parse(
        encode(KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(SchemaInfo(SchemaType.LOCAL_DATE))))
    )
    assert display_json.to_json(schema, Pair("a", 0)) == {"key": "a", "value": "1970-01-01"}
    assert display_json.of_json(schema, {"key": None, "value": "1970-01-02"}) == Pair(None, 1)
    assert refusal(display_json.of_json, schema, {"key": "a", "value": "soon"})[1] == "$.value"
    with pytest.raises(InvalidPayloadError, match="members key and value"):
        display_json.of_json(schema, {"key": "a"})
