"""Avro payloads: plain values and back, and the byte and field where a payload breaks."""

import json
import math
from typing import Any

import pytest

from support.payloads.verdicts import findings, refusal
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

LINE = {"type": "record", "name": "Line", "fields": [{"name": "price", "type": "int"}]}


def avro(text: Any, **kind: Any) -> Schema:
    return formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(text).encode()), **kind)


def record(**fields: Any) -> Schema:
    return avro({"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]})


ORDER = record(
    id="long",
    name="string",
    lines={"type": "array", "items": LINE},
    tags={"type": "map", "values": ["null", "boolean"]},
    state={"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]},
    digest={"type": "fixed", "name": "Digest", "size": 2},
    weight="double",
    ratio="float",
    raw="bytes",
)
ORDER_VALUE = {
    "id": -1,
    "name": "é",
    "lines": [{"price": 64}, {"price": -65}],
    "tags": {"a": None, "b": True},
    "state": "PAID",
    "digest": b"\x01\x02",
    "weight": 1.0,
    "ratio": 1.5,
    "raw": b"\xff",
}
ORDER_BYTES = "01 04c3a9 04800181 0100 04 026100 0262 0201 00 02 0102 000000000000f03f 0000c03f 02ff"


def test_a_record_is_plain_values_and_its_bytes_come_back() -> None:
    content = bytes.fromhex(ORDER_BYTES)
    assert payload.decode(ORDER, content) == ORDER_VALUE
    assert payload.encode(ORDER, ORDER_VALUE).payload == content
    assert payload.validate(ORDER, content) == ()


@pytest.mark.parametrize(
    ("schema", "content", "finding"),
    [
        (record(a="int", b="int"), "02", ("TRUNCATED", "$.b", 1, False)),
        (record(a="int"), "80808080", ("TRUNCATED", "$.a", 0, False)),
        (record(a="int"), "808080808000", ("VARINT_TOO_LONG", "$.a", 0, False)),
        (record(a="long"), "80" * 10 + "00", ("VARINT_TOO_LONG", "$.a", 0, False)),
        (record(a="int"), "ffffffff1f", ("OUT_OF_RANGE", "$.a", 0, False)),
        (record(a="long"), "ff" * 9 + "03", ("OUT_OF_RANGE", "$.a", 0, False)),
        (record(a="boolean"), "02", ("INVALID_BOOLEAN", "$.a", 0, True)),
        (record(a="int", b="string"), "0204c328", ("INVALID_UTF8", "$.b", 2, True)),
        (record(a="bytes"), "01", ("NEGATIVE_LENGTH", "$.a", 0, False)),
        (record(a="bytes"), "0800", ("TRUNCATED", "$.a", 1, False)),
        (record(a=["null", LINE]), "04", ("UNION_INDEX", "$.a", 0, False)),
        (record(a=["null", LINE]), "02", ("TRUNCATED", "$.a.price", 1, False)),
        (record(a=["null", "int"]), "01", ("UNION_INDEX", "$.a", 0, False)),
        (record(a=[]), "00", ("UNION_INDEX", "$.a", 0, False)),
        (record(a={"type": "enum", "name": "E", "symbols": ["A"]}), "02", ("ENUM_INDEX", "$.a", 0, False)),
        (record(a={"type": "fixed", "name": "F", "size": 4}), "0000", ("TRUNCATED", "$.a", 0, False)),
        (record(a={"type": "array", "items": LINE}), "0402", ("TRUNCATED", "$.a[1].price", 2, False)),
        (record(a={"type": "map", "values": LINE}), "020261", ("TRUNCATED", "$.a{0}.price", 3, False)),
        (record(a={"type": "array", "items": "int"}), "0302020200", ("BLOCK_SIZE", "$.a", 0, True)),
        (record(a="int"), "0200ff", ("TRAILING_BYTES", "$", 1, True)),
        (record(a={"type": "array", "items": "null"}), "feffffffff0f", ("TOO_MANY_VALUES", "$.a[20006]", 6, False)),
    ],
)  # fmt: skip
def test_a_broken_payload_is_reported_with_rule_field_and_byte(
    schema: Schema, content: str, finding: tuple[str, str, int, bool]
) -> None:
    assert findings(schema, content) == [finding]


def test_what_java_tolerates_is_read_as_java_reads_it() -> None:
    assert payload.decode(record(a="boolean"), b"\x02") == {"a": False}
    assert payload.decode(record(a="string"), b"\x02\xff") == {"a": "\ufffd"}
    assert payload.decode(record(a="int"), b"\x02\x00") == {"a": 1}


def test_a_block_with_its_size_is_read() -> None:
    schema = record(a={"type": "array", "items": "int"})
    assert payload.decode(schema, bytes.fromhex("03040204 0206 00")) == {"a": [1, 2, 3]}
    assert findings(schema, "03040204 0206 00") == []


def test_a_long_chain_is_read_and_written() -> None:
    schema = record(next=["null", "R"])
    content = b"\x02" * 699 + b"\x00"
    value = payload.decode(schema, content)
    assert payload.encode(schema, value).payload == content
    [finding] = payload.validate(schema, content[:-1])
    assert (finding.rule, finding.offset) == ("TRUNCATED", 699)
    assert len(finding.path) < 500


@pytest.mark.parametrize(
    ("items", "levels"),
    [(["null", "R"], 701), ({"type": "array", "items": "R"}, 351), ({"type": "map", "values": "R"}, 351)],
)
def test_more_levels_than_a_new_java_consumer_has_stack_for_are_refused(items: Any, levels: int) -> None:
    schema = record(next=items)
    item = b"\x02\x00" if "values" in items else b"\x02"
    fatal = [each for each in payload.validate(schema, item * levels + bytes(2 * levels)) if not each.is_tolerated]
    assert [(each.rule, "Java's stack" in each.message) for each in fatal] == [("TOO_DEEP", True)]
    for content in (item * (levels - 2) + bytes(2 * levels),):
        assert all(each.is_tolerated for each in payload.validate(schema, content))


def test_a_skipped_block_ends_after_its_size() -> None:
    reader, writer = record(), record(a={"type": "array", "items": "long"})
    one = payload.reader(reader, writer)
    assert [each.rule for each in one.read(b"\x01\x02\x02\x00")[1]] == []
    [finding] = one.read(b"\x01\x04\x02\x00\x00")[1]
    assert (finding.rule, finding.path, finding.offset, finding.is_tolerated) == ("BLOCK_SIZE", "$.a", 0, True)
    for size in (b"\x01", b"\x7e", b"\x81\x01"):
        [finding] = one.read(b"\x01" + size + b"\x02\x00\x00")[1]
        assert (finding.rule, finding.is_tolerated) == ("BLOCK_SIZE", False)
    assert [each.rule for each in one.read(b"\x01\x04\x02\x00")[1]] == ["BLOCK_SIZE", "TRUNCATED"]


def test_what_follows_a_skipped_block_of_a_wrong_size_is_read_from_where_java_reads_it() -> None:
    # The map's size led Java to the end of the bytes, and only validate-messages reported it.
    writer = record(b=["null", {"type": "map", "values": "double"}])
    content = bytes.fromhex("02033a0cc3a4c39f2063b853bbbb6dbc9d41009c7500883ce4377e00")
    results = payload.reader(record(), writer).read(content)[1]
    assert [each.rule for each in results if not each.is_tolerated] != []


def test_a_record_that_contains_itself_without_end_is_refused() -> None:
    text = {"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}
    with pytest.raises(InvalidPayloadError) as caught:
        payload.decode(avro(text, validate_defaults=False), b"")
    assert caught.value.rule == "TOO_DEEP"


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["next"] = value
    assert refusal(payload.encode, record(next=["null", "R"]), value)[0] == "TOO_DEEP"


def test_records_that_double_without_a_byte_are_refused() -> None:
    kind: Any = "null"
    for level in range(60):
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": f"R{level - 1}" if level else "null"}]
        kind = {"type": "record", "name": f"R{level}", "fields": fields}
    assert [rule for rule, *_ in findings(avro(kind), "")] == ["TOO_MANY_VALUES"]


def test_the_number_of_findings_is_limited() -> None:
    schema = avro({"type": "array", "items": "boolean"})
    assert len(payload.validate(schema, bytes.fromhex("c801" + "05" * 100 + "00"))) == 20


@pytest.mark.parametrize(
    ("kind", "value", "rule", "path"),
    [
        ("int", 2**31, "OUT_OF_RANGE", "$.a"),
        ("long", True, "WRONG_TYPE", "$.a"),
        ("null", 0, "WRONG_TYPE", "$.a"),
        ("string", b"", "WRONG_TYPE", "$.a"),
        ("float", 1e39, "OUT_OF_RANGE", "$.a"),
        (["null", "int"], "x", "NO_BRANCH", "$.a"),
        (LINE, {}, "MISSING_FIELD", "$.a.price"),
        (LINE, {"price": 1, "discount": 2}, "UNKNOWN_FIELD", "$.a"),
        (LINE, [], "WRONG_TYPE", "$.a"),
        ({"type": "array", "items": LINE}, [{"price": 1}, {"price": "x"}], "WRONG_TYPE", "$.a[1].price"),
        ({"type": "map", "values": "int"}, {1: 1}, "WRONG_TYPE", "$.a{0}"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B", "UNKNOWN_SYMBOL", "$.a"),
        ({"type": "fixed", "name": "F", "size": 1}, b"", "OUT_OF_RANGE", "$.a"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_field(kind: Any, value: Any, rule: str, path: str) -> None:
    assert refusal(payload.encode, record(a=kind), {"a": value})[:2] == (rule, path)


@pytest.mark.parametrize(
    ("union", "value", "index"),
    [
        (["null", "int", "long"], 2**40, 2),
        (["null", "int", "double"], 1.0, 2),
        (["string", "double"], 1, 1),
        (["string", "bytes"], b"", 1),
        ([LINE, {**LINE, "name": "B", "fields": [{"name": "price", "type": "string"}]}], {"price": "x"}, 1),
        (["string", {"type": "enum", "name": "E", "symbols": ["A"]}], "A", 0),
    ],
)
def test_a_unions_branch_is_the_first_that_fits(union: Any, value: Any, index: int) -> None:
    content = payload.encode(record(a=union), {"a": value}).payload
    assert content is not None
    assert content[0] == index * 2
    assert payload.decode(record(a=union), content) == {"a": value}


def test_nans_keep_their_bits() -> None:
    schema = record(a="float", b="double")
    content = bytes.fromhex("4523a1ff 010000000000f4ff")
    value = payload.decode(schema, content)
    assert math.isnan(value["a"])
    assert payload.encode(schema, value).payload == content
