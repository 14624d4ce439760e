"""Names with $, which Avro 1.12 accepts, and refuses where its alias pass reads them again: there alone."""

import json
from typing import Any

import pytest

from support.schemas.avro import array, enum, field, fixed, mapping, record
from topicschema.core.formats.avro import FORMAT, avro_version
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType


def mismatches(
    reader: Any, writer: Any, pulsar_version: PulsarVersion = PulsarVersion.V4_1
) -> list[tuple[str, str, str]]:
    infos = [SchemaInfo(SchemaType.JSON, json.dumps(each).encode()) for each in (reader, writer)]
    read, written = (FORMAT.parse(each, pulsar_version, validate_defaults=False).root for each in infos)
    mismatches = resolver.unreadable(read, written, avro_version.of(pulsar_version))
    return [(each.rule, each.reader_path, each.writer_path) for each in mismatches]


ID = field("id", "int")
ALIASED = record("R", ID, aliases=["Elsewhere"])


@pytest.mark.parametrize(
    ("writer", "place"),
    [
        (record("R", ID, field("a$", "int")), "$.fields[1]"),
        (record("R", ID, field("a", record("In$ner"))), "$.fields[1].type"),
        (record("R", ID, field("a", array(record("Inner", field("b$", "int"))))), "$.fields[1].type.items.fields[0]"),
        (record("R", ID, field("a", mapping(["null", record("I$")]))), "$.fields[1].type.values[1]"),
    ],
    ids=["a field", "a record", "a field in an array", "a record in a union in a map"],
)
def test_a_name_that_is_rebuilt_may_have_no_dollar(writer: Any, place: str) -> None:
    assert mismatches(ALIASED, writer) == [("DOLLAR_IN_NAME", "$", place)]
    assert mismatches(record("R", ID), writer) == []  # without an alias nothing is rebuilt


@pytest.mark.parametrize(
    ("kind", "is_refused"),
    [(enum("E$", "A"), False), (fixed("F$", 1), False), (enum("E", "A$"), True)],
    ids=["enum", "fixed", "symbol"],
)
def test_enums_and_fixed_are_rebuilt_where_they_are_renamed_alone(kind: dict[str, Any], *, is_refused: bool) -> None:
    writer = record("R", ID, field("a", kind))
    assert mismatches(ALIASED, writer) == []
    renames = record("R", ID, field("a", {**kind, "name": "New", "aliases": [kind["name"]]}))
    assert mismatches(renames, writer) == ([("DOLLAR_IN_NAME", "$", "$.fields[1].type")] if is_refused else [])
