"""What is said of each risk of reading Avro: which of the two has what, in which order, and what to do."""

import json
from typing import Any

import pytest

from support.schemas.avro import enum, field, fixed, record
from topicschema.core import formats
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

MANY = [f"S{number}" for number in range(12)]
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
UNDER_ANOTHER_NAME = "or add a field under another name"
GIVE_ALIAS = "or give {reader} the old one as an alias"


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def parsed(schema: Any, kind: SchemaType) -> Schema:
    return formats.parse(SchemaInfo(kind, json.dumps(record("O", field("f", schema))).encode()))


def words(reader: Any, writer: Any, kind: SchemaType = SchemaType.AVRO) -> str:
    """The message, of a field's type."""
    (risk,) = formats.risks(parsed(reader, kind), parsed(writer, kind))
    return risk.message.removeprefix("field 'f': ")


@pytest.mark.parametrize(
    ("reader", "writer", "message"),
    [
        (
            enum("E", "A"),
            enum("E", "A", "B"),
            (
                "enum 'E' of {reader} lacks 'B' of {writer}, and fails on each message with one; keep them, or "
                "give it a default"
            ),
        ),
        (
            enum("E", *MANY[:3]),
            enum("E", *MANY),
            (
                "enum 'E' of {reader} lacks 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'S10' and 1 more of "
                "{writer}, and fails on each message with one; keep them, or give it a default"
            ),
        ),
        (
            enum("E", *MANY[:4], default="S2"),
            enum("E", *MANY),
            (
                "enum 'E' of {reader} lacks 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'S10', 'S11' of {writer}, and "
                "reads them as 'S2', its default; keep those that differ in meaning"
            ),
        ),
        (
            record("n.S"),
            record("m.R"),
            (
                "record 'm.R' of {writer} is 'n.S' in {reader}: Java's clients read it, others refuse every "
                f"message; keep the name, {GIVE_ALIAS}"
            ),
        ),
        (
            ["null", record("S", field("a", "int"))],
            record("R", field("a", "int")),
            (
                "record 'R' of {writer} is read as 'S' of {reader}, the branch of the union whose fields happen to "
                f"fit; keep the name, {GIVE_ALIAS}"
            ),
        ),
        (
            fixed("n.F", 2),
            fixed("F", 2),
            (
                "'F' of {writer} is 'n.F' in {reader}: messages are read, generated code changes; keep the full "
                f"name, {GIVE_ALIAS}"
            ),
        ),
        (
            MICROS,
            MILLIS,
            (
                "{writer} has 'timestamp-millis' where {reader} has 'timestamp-micros': the same number is taken "
                f"for another value; keep the logical type, {UNDER_ANOTHER_NAME}"
            ),
        ),
        (
            MILLIS,
            "long",
            (
                "{writer} has no logical type where {reader} has 'timestamp-millis': the bytes are the same, the "
                f"values in code and in JSON are not; keep the logical type, {UNDER_ANOTHER_NAME}"
            ),
        ),
        (
            decimal(9, 3),
            decimal(9, 2),
            (
                "decimals have 2 digits after the point in {writer} and 3 in {reader}, so every value is read with "
                f"the point in the wrong place; keep the scale, {UNDER_ANOTHER_NAME}"
            ),
        ),
        (
            decimal(6, 2),
            decimal(9, 2),
            (
                "decimals have up to 9 digits in {writer} and 6 in {reader}, which cannot hold the longer ones; "
                "keep the precision"
            ),
        ),
        (
            "float",
            "int",
            (
                "{writer} has int where {reader} has float, which rounds integers above 2^24; keep the type, "
                f"{UNDER_ANOTHER_NAME}"
            ),
        ),
        (
            "double",
            "long",
            (
                "{writer} has long where {reader} has double, which rounds integers above 2^53; keep the type, "
                f"{UNDER_ANOTHER_NAME}"
            ),
        ),
        (
            "string",
            "bytes",
            (
                "{writer} has bytes where {reader} has string: what is not UTF-8 is lost; keep the type, "
                f"{UNDER_ANOTHER_NAME}"
            ),
        ),
    ],
)
def test_a_risk_says_which_of_the_two_has_what(reader: Any, writer: Any, message: str) -> None:
    assert words(reader, writer) == message


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
    assert f"where {{reader}} has '{name}'" in words({"type": kind, "logicalType": name}, kind)
    assert f"{{writer}} has '{name}' where" in words(kind, {"type": kind, "logicalType": name})
    for other in {"int", "long", "string", "bytes"} - {kind}:
        mistaken = {"type": other, "logicalType": name}
        assert formats.risks(parsed(mistaken, SchemaType.AVRO), parsed(other, SchemaType.AVRO)) == ()


def test_in_json_other_advice_helps() -> None:
    json_only = SchemaType.JSON
    assert words(enum("E", "A"), enum("E", "A", "B"), json_only).endswith(
        "; keep the symbols; a default does not help in JSON"
    )
    assert "JSON has bytes in base64, and texts as they are" in words("bytes", "string", json_only)
    reader, writer = record("R", field("new", "int", aliases=["old"])), record("R", field("old", "int"))
    assert words(reader, writer, json_only).startswith("field 'new' of {reader} is 'old' in {writer}, by an alias; ")
