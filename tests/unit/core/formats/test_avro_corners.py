"""Corners of AVRO that only a figure or a flag tells apart."""

import json
from typing import Any

import pytest

from avro_asking import enum, field, fixed, record
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

LARGEST_ARRAY_OF_JAVA = 2**31 - 9


def parsed(schema: Any) -> Schema:
    return formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(schema).encode()))


@pytest.mark.parametrize("size", [0, 1, LARGEST_ARRAY_OF_JAVA])
def test_a_fixed_may_be_as_large_as_javas_arrays(size: int) -> None:
    parsed(fixed("F", size))


@pytest.mark.parametrize("size", [-1, LARGEST_ARRAY_OF_JAVA + 1, 2**31, 1.0, True, "1", [1]])
def test_a_fixed_of_another_size_is_refused_with_its_place(size: Any) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        parsed({"type": "fixed", "name": "F", "size": size})
    assert (refusal.value.rule, refusal.value.place.path) == ("INVALID_ATTRIBUTE", "$.size")


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
