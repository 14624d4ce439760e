"""Corners of AVRO that only a figure or a flag tells apart."""

import json
from typing import Any

import pytest

from support.schemas.avro import array, enum, field, fixed, found, record
from topicschema.core import formats
from topicschema.core.formats.avro.names import shown
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

LARGEST_ARRAY_OF_JAVA = 2**31 - 9


def parsed(schema: Any) -> Schema:
    return formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(schema).encode()))


@pytest.mark.parametrize("size", [0, 1, LARGEST_ARRAY_OF_JAVA])
def test_a_fixed_may_be_as_large_as_javas_arrays(size: int) -> None:
    parsed(fixed("F", size))


def _date(kind: str) -> dict[str, str]:
    return {"type": "long", "logicalType": kind}


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


@pytest.mark.parametrize(
    ("reader", "writer", "told"),
    [
        (_date("timestamp-millis"), _date("timestamp-micros"), {"LOGICAL_TYPE_CHANGED": True}),
        (_date("timestamp-millis"), "long", {"LOGICAL_TYPE_ONE_SIDED": True}),
        (_decimal(9, 2), _decimal(9, 3), {"DECIMAL_SCALE_CHANGED": True}),
        (_decimal(4, 2), _decimal(9, 2), {"DECIMAL_PRECISION_REDUCED": False}),
        (record("n.S"), record("S"), {"CLASS_RENAMED": True}),
        (record("T"), record("S"), {"RECORD_RENAMED": False}),
        (enum("E", "A"), enum("E", "A", "B"), {"ENUM_SYMBOL_UNKNOWN": False}),
        (enum("E", "A", default="A"), enum("E", "A", "B"), {"ENUM_SYMBOL_REPLACED": False}),
        ("double", "long", {"NUMBER_ROUNDED": False}),
        ("string", "bytes", {"BYTES_AS_TEXT": False}),
    ],
)
def test_a_risk_is_mutual_where_it_is_the_same_for_both_sides(reader: Any, writer: Any, told: dict[str, bool]) -> None:
    """A mutual one has no direction; another says who reads whom."""
    one, other = (parsed(record("R", field("a", kind))) for kind in (reader, writer))
    assert {each.rule: each.is_mutual for each in formats.risks(one, other)} == told


def test_a_branch_whose_record_lacks_a_field_deeper_down_is_no_branch_of_that_structure() -> None:
    """Of another name, so that structure alone decides; what is one level down counts, and what is two levels down."""
    inner = record("P", field("q", "int"))
    assert found(["null", record("X", field("a", inner))], record("Y", field("a", record("P")))) == [
        ("NO_UNION_BRANCH", "$", "$")
    ]
    assert found(["null", record("X", field("a", "int"))], record("Y", field("a", "string"))) == [
        ("NO_UNION_BRANCH", "$", "$")
    ]
    assert found(["null", record("X", field("a", inner))], record("Y", field("a", inner))) == []


@pytest.mark.parametrize("default", [["x"], [1, "x"], [1, 2, "x", 3], ["x", 1]])
def test_every_element_of_a_default_must_fit(default: list[Any]) -> None:
    reader = record("R", field("a", array("int"), default=default))
    assert [rule for rule, _, _ in found(reader, record("R"))] == ["INVALID_DEFAULT"]
    assert found(record("R", field("a", array("int"), default=[1, 2])), record("R")) == []


def test_a_long_name_is_cut_where_it_is_quoted() -> None:
    assert shown("a" * 60) == f"'{'a' * 60}'"
    assert shown("a" * 61) == f"'{'a' * 59}…'"
    assert shown("a\x00\u2028") == "'a\\u0000\\u2028'"
    assert shown(12) == "'12'"


@pytest.mark.parametrize("default", [{"default": "A"}, {"default": {}}])
def test_an_endless_record_that_the_writer_does_not_have_is_told_at_a_place_that_the_writer_has(default: Any) -> None:
    endless = record("E", field("e", "E"))
    told = found(record("R", field("a", endless, **default)), record("R"))
    assert told == [("INVALID_DEFAULT", "$.fields[0]", "$"), ("INFINITE_RECORD", "$.fields[0].type", "$")]
