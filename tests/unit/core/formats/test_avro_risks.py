"""Risks of reading Avro, rule by rule: what the broker lets pass, where it stands, and what is no risk."""

import json
from typing import Any

import pytest

from support.schemas.avro import array, enum, field, fixed, mapping, record, unreadable
from topicschema.core import formats
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType


def parsed(schema: Any, kind: SchemaType) -> Schema:
    return formats.parse(SchemaInfo(kind, json.dumps(schema).encode()), validate_defaults=False)


def mismatches(reader: Any, writer: Any, kind: SchemaType = SchemaType.AVRO) -> tuple[Mismatch, ...]:
    return formats.risks(parsed(reader, kind), parsed(writer, kind))


def risks(reader: Any, writer: Any, kind: SchemaType = SchemaType.AVRO) -> list[tuple[str, str]]:
    return [(each.rule, each.reader_path) for each in mismatches(reader, writer, kind)]


def logical(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **rest}


def order(kind: Any, **rest: Any) -> dict[str, Any]:
    return record("Order", field("id", "long"), field("of", kind, **rest))


MILLIS, MICROS = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")
AB, A = enum("E", "A", "B"), enum("E", "A")
OF = "$.fields[1].type"
MUTUAL = {"CLASS_RENAMED", "LOGICAL_TYPE_CHANGED", "LOGICAL_TYPE_ONE_SIDED", "DECIMAL_SCALE_CHANGED"}
"""Risks that are the same for both sides, and so have no direction."""


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (A, AB, ["ENUM_SYMBOL_UNKNOWN"]),
        (AB, A, []),
        (enum("E", "B", "A"), AB, []),
        (enum("E", "A", default="A"), AB, ["ENUM_SYMBOL_REPLACED"]),
        (enum("E", "A", "B", default="A"), AB, []),
        (enum("n.E", "A"), AB, ["CLASS_RENAMED", "ENUM_SYMBOL_UNKNOWN"]),
        (enum("n.E", "A", "B", aliases=["E"], namespace=""), AB, ["CLASS_RENAMED"]),
        (enum("n.E", "A", "B", aliases=["m.E"]), enum("m.E", "A", "B"), []),
        (enum("m.E", "A", "B"), enum("n.E", "A", "B", aliases=["m.E"]), []),
        (enum("F", "A", "B"), AB, []),
        (fixed("n.F", 2), fixed("F", 2), ["CLASS_RENAMED"]),
        (fixed("F", 3), fixed("F", 2), []),
        (record("S"), record("R"), ["RECORD_RENAMED"]),
        (record("S", aliases=["R"]), record("R"), []),
        (record("n.R"), record("R"), ["CLASS_RENAMED"]),
        (MICROS, MILLIS, ["LOGICAL_TYPE_CHANGED"]),
        (MILLIS, "long", ["LOGICAL_TYPE_ONE_SIDED"]),
        ("long", MILLIS, ["LOGICAL_TYPE_ONE_SIDED"]),
        (logical("long", "mine"), "long", ["LOGICAL_TYPE_ONE_SIDED"]),
        (logical("int", "timestamp-millis"), "int", []),
        ({"type": "long", "logicalType": 1}, "long", []),
        (logical("long", "timestamp-millis"), logical("int", "date"), ["LOGICAL_TYPE_CHANGED"]),
        ("float", "int", ["NUMBER_ROUNDED"]),
        ("float", "long", ["NUMBER_ROUNDED"]),
        ("double", "long", ["NUMBER_ROUNDED"]),
        ("double", "int", []),
        ("double", "float", []),
        ("long", "int", []),
        ("string", "bytes", ["BYTES_AS_TEXT"]),
        ("bytes", "string", []),
        ("string", "int", []),
    ],
)
def test_two_types_in_one_place(reader: Any, writer: Any, expected: list[str]) -> None:
    actual = mismatches(order(reader), order(writer))
    assert [(each.rule, each.reader_path) for each in actual] == [(rule, OF) for rule in expected]
    assert {each.rule for each in actual if each.is_mutual} == MUTUAL.intersection(expected)
    assert risks(array(reader), array(writer)) == [(rule, "$.items") for rule in expected]
    assert risks(mapping(reader), mapping(writer)) == [(rule, "$.values") for rule in expected]


def decimal(precision: Any, scale: Any, **rest: Any) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale, **rest}


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (decimal(9, 3), decimal(9, 2), ["DECIMAL_SCALE_CHANGED"]),
        (decimal(6, 2), decimal(9, 2), ["DECIMAL_PRECISION_REDUCED"]),
        (decimal(12, 2), decimal(9, 2), []),
        (decimal(6, 1), decimal(9, 2), ["DECIMAL_SCALE_CHANGED", "DECIMAL_PRECISION_REDUCED"]),
        (logical("bytes", "decimal", precision=9), decimal(9, 0), []),
        (decimal(2, 3), "bytes", []),
        (decimal("9", 2), "bytes", []),
        (decimal(0, 0), "bytes", []),
        (decimal(9, -1), "bytes", []),
        (decimal(9, 2), "bytes", ["LOGICAL_TYPE_ONE_SIDED"]),
        (fixed("F", 4, logicalType="decimal", precision=9), fixed("F", 4), ["LOGICAL_TYPE_ONE_SIDED"]),
        (fixed("F", 4, logicalType="decimal", precision=10), fixed("F", 4), []),
        (fixed("F", 4, logicalType="decimal", precision=10**900), fixed("F", 4), []),
        (logical("string", "decimal", precision=4), "string", []),
        (logical("string", "uuid"), "string", ["LOGICAL_TYPE_ONE_SIDED"]),
        (logical("bytes", "uuid"), "bytes", []),
    ],
)
def test_a_logical_type_counts_where_it_fits_its_type(reader: Any, writer: Any, expected: list[str]) -> None:
    actual = mismatches(order(reader), order(writer))
    assert [each.rule for each in actual] == expected
    assert {each.rule for each in actual if each.is_mutual} == MUTUAL.intersection(expected)


ONE, TWO = record("One", field("a", "int")), record("Two", field("a", "int"))


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (["null", A], ["null", AB], [("ENUM_SYMBOL_UNKNOWN", "[1]")]),
        ([A, "null"], ["null", AB], [("ENUM_SYMBOL_UNKNOWN", "[0]")]),
        (["null", A], AB, [("ENUM_SYMBOL_UNKNOWN", "[1]")]),
        (["null", enum("n.E", "A", "B")], ["null", AB], [("CLASS_RENAMED", "[1]")]),
        (["null", "double"], "long", [("NUMBER_ROUNDED", "[1]")]),
        (["float", "long"], "int", [("NUMBER_ROUNDED", "[0]")]),
        (["float", "int"], "int", []),
        (["string"], ["bytes"], [("BYTES_AS_TEXT", "[0]")]),
        (["null", MICROS], ["null", MILLIS], [("LOGICAL_TYPE_CHANGED", "[1]")]),
        (["null", TWO], ["null", ONE], [("UNION_BRANCH_BY_STRUCTURE", "[1]")]),
        (["null", TWO, ONE], ["null", ONE], []),
        (["null", record("Two", field("a", "int"), aliases=["One"])], ["null", ONE], []),
        (["null", record("n.One", field("a", "int"))], ["null", ONE], [("CLASS_RENAMED", "[1]")]),
        ([record("Empty"), record("n.One", field("a", "int"))], ONE, [("CLASS_RENAMED", "[1]")]),
        ([record("n.One", field("b", "int")), record("Empty")], ONE, [("UNION_BRANCH_BY_STRUCTURE", "[1]")]),
        ([array("double"), "null"], array("long"), [("NUMBER_ROUNDED", "[0].items")]),
        ("double", ["int", "long"], [("NUMBER_ROUNDED", "")]),
        (["null", "boolean"], ["null", "int"], []),
        (["null", TWO], ["null", mapping("int")], []),
    ],
)
def test_a_unions_branch_is_the_one_that_avro_takes(reader: Any, writer: Any, expected: list[tuple[str, str]]) -> None:
    actual = risks(order(reader), order(writer))
    assert actual == [(rule, OF + place) for rule, place in expected]


def test_a_field_alias_leads_to_what_is_compared() -> None:
    reader = record("Order", field("of", "double", aliases=["was"]), field("was", "string", default=""))
    writer = record("Order", field("was", "long"))
    assert risks(reader, writer) == [("NUMBER_ROUNDED", "$.fields[0].type")]
    assert risks(reader, record("Other", field("was", "string"))) == [("RECORD_RENAMED", "$")]
    renamed = {**reader, "aliases": ["Other"]}
    assert risks(renamed, record("Other", field("was", "long"))) == [("NUMBER_ROUNDED", "$.fields[0].type")]


def test_the_aliases_of_an_equal_schema_do_not_count() -> None:
    twisted = record("R", field("c", "int", aliases=["d"]), field("d", "int"))
    assert risks(twisted, twisted, SchemaType.JSON) == []
    assert risks(array(twisted), array(twisted), SchemaType.JSON) == []


def test_json_has_no_names_of_types_no_defaults_of_enums_and_no_aliases() -> None:
    json_ = SchemaType.JSON
    assert risks(record("S"), record("R"), json_) == [("CLASS_RENAMED", "$")]
    assert risks(record("S", aliases=["R"]), record("R"), json_) == []
    assert risks(record("R"), record("S", aliases=["R"]), json_) == []
    assert risks(order(["null", TWO]), order(["null", ONE]), json_) == [("CLASS_RENAMED", f"{OF}[1]")]
    assert risks(enum("E", "A", default="A"), AB, json_) == [("ENUM_SYMBOL_UNKNOWN", "$")]
    assert risks("bytes", "string", json_) == [("BYTES_AS_TEXT", "$")]
    assert risks("string", "bytes", json_) == [("BYTES_AS_TEXT", "$")]
    reader = record("Order", field("of", "long", aliases=["was"]))
    assert risks(reader, record("Order", field("was", "long")), json_) == [("ALIAS_IN_JSON", "$.fields[0]")]


def test_protobuf_has_the_refusals_of_avro_and_its_risks() -> None:
    reader, writer = order("string"), record("Order", field("of", enum("E", "A")))
    refused = [(each.rule, each.reader_path) for each in unreadable(reader, writer)]
    assert risks(reader, writer, SchemaType.PROTOBUF) == refused
    assert risks(A, AB, SchemaType.PROTOBUF) == [("ENUM_SYMBOL_UNKNOWN", "$")]


def test_every_pair_is_reported_once_however_often_it_is_met() -> None:
    reader, writer = (record("R", field("a", kind), field("b", "E"), field("self", ["null", "R"])) for kind in (A, AB))
    assert risks(reader, writer) == [("ENUM_SYMBOL_UNKNOWN", "$.fields[0].type")]


def test_risks_are_reported_in_the_readers_order_with_their_field() -> None:
    reader = record("R", field("x", MICROS), field("y", array(A)), field("z", "string"))
    writer = record("R", field("z", "bytes"), field("y", array(AB)), field("x", MILLIS))
    results = mismatches(reader, writer)
    assert [each.rule for each in results] == ["LOGICAL_TYPE_CHANGED", "ENUM_SYMBOL_UNKNOWN", "BYTES_AS_TEXT"]
    assert [each.message[:10] for each in results] == ["field 'x':", "field 'y':", "field 'z':"]


def test_depth_costs_no_recursion() -> None:
    reader, writer = A, AB
    for _ in range(900):
        reader, writer = array(reader), array(writer)
    assert risks(reader, writer) == [("ENUM_SYMBOL_UNKNOWN", "$" + ".items" * 900)]


MANY = [f"S{number}" for number in range(12)]
KEEP_TYPE = "; keep the type, or add a field under another name"
KEEP_LOGICAL = "; keep the logical type, or add a field under another name"
ALIAS = ", or give {reader} the old one as an alias"


@pytest.mark.parametrize(
    ("reader", "writer", "effect", "advice"),
    [
        (A, AB, "enum 'E' of {reader} lacks 'B' of {writer}, and fails on", "; keep them, or give it a default"),
        (enum("E", *MANY[:3]), enum("E", *MANY), " lacks 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'S10' and 1 more",
         ""),
        (enum("E", *MANY[:4], default="S2"), enum("E", *MANY), "'S11' of {writer}, and reads them as 'S2', its", ""),
        (record("n.S"), record("m.R"), "record 'm.R' of {writer} is 'n.S' in {reader}", f"; keep the name{ALIAS}"),
        (["null", TWO], ONE, "record 'One' of {writer} is read as 'Two' of {reader}", f"; keep the name{ALIAS}"),
        (fixed("n.F", 2), fixed("F", 2), "'F' of {writer} is 'n.F' in {reader}", f"; keep the full name{ALIAS}"),
        (MICROS, MILLIS, "{writer} has 'timestamp-millis' where {reader} has 'timestamp-micros'", KEEP_LOGICAL),
        (MILLIS, "long", "{writer} has no logical type where {reader} has 'timestamp-millis'", KEEP_LOGICAL),
        (decimal(9, 3), decimal(9, 2), "have 2 digits after the point in {writer} and 3 in {reader}", "keep the scale"),
        (decimal(6, 2), decimal(9, 2), "up to 9 digits in {writer} and 6 in {reader}", "; keep the precision"),
        ("float", "int", "{writer} has int where {reader} has float, which rounds integers above 2^24", KEEP_TYPE),
        ("double", "long", "{writer} has long where {reader} has double, which rounds integers above 2^53", KEEP_TYPE),
        ("string", "bytes", "{writer} has bytes where {reader} has string: what is not UTF-8 is lost", KEEP_TYPE),
    ],
)  # fmt: skip
def test_a_message_has_both_sides_and_advice(reader: Any, writer: Any, effect: str, advice: str) -> None:
    (risk,) = mismatches(order(reader), order(writer))
    assert risk.message.startswith("field 'of': ")
    assert effect in risk.message
    assert advice in risk.message


def test_in_json_other_advice_helps() -> None:
    (risk,) = mismatches(A, AB, SchemaType.JSON)
    assert risk.message.endswith("; keep the symbols; a default does not help in JSON")
    (risk,) = mismatches("bytes", "string", SchemaType.JSON)
    assert "JSON has bytes in base64, and texts as they are" in risk.message
    reader, writer = record("R", field("new", "int", aliases=["old"])), record("R", field("old", "int"))
    (risk,) = mismatches(reader, writer, SchemaType.JSON)
    assert risk.message.startswith("field 'new' of {reader} is 'old' in {writer}, by an alias; ")


LOGICAL = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "uuid": "string",
}


@pytest.mark.parametrize(("name", "kind"), LOGICAL.items())
def test_a_logical_type_counts_on_the_type_that_it_is_made_for(name: str, kind: str) -> None:
    for each in ("int", "long", "string", "bytes"):
        assert [rule for rule, _ in risks(logical(each, name), each)] == ["LOGICAL_TYPE_ONE_SIDED"] * (each == kind)
