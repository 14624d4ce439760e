"""The tables of audits have stable columns: the product's own engine judges a change of them."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
)

from topicschema.cli.columns_page import with_columns
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.schemas import NEWEST, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.spark.audit.tables import TABLES, VERSION

GOLDEN = Path(__file__).with_name("audit_tables.json")
AVRO: dict[type[DataType], Any] = {
    BooleanType: "boolean",
    DateType: {"type": "int", "logicalType": "date"},
    IntegerType: "int",
    LongType: "long",
    StringType: "string",
    TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
}


def avro(column: DataType) -> Any:
    if isinstance(column, ArrayType):
        return {"type": "array", "items": avro(column.elementType)}
    return AVRO[type(column)]


def current() -> dict[str, Any]:
    tables = {name: {column: avro(each.type) for column, each in known.items()} for name, known in TABLES.items()}
    return {"version": VERSION, "tables": tables}


def parsed(name: str, columns: dict[str, Any], more: dict[str, Any]) -> Schema:
    """Return a table as a record. Each column may be null."""
    fields = [{"name": column, "type": ["null", each], **more} for column, each in columns.items()]
    text = json.dumps({"type": "record", "name": name, "fields": fields})
    return formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()), NEWEST)


def incompatibilities(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return why queries of the earlier tables fail, or tables of an earlier audit cannot be read as the later ones.

    A new column is null in earlier tables. A query needs each column that it names.
    """
    return [
        f"{name}: {each.rule} at {each.path}"
        for name, columns in before.items()
        for each in compatibility.check(
            parsed(name, after.get(name, {}), {"default": None}),
            [Predecessor(None, SchemaType.AVRO, parsed(name, columns, {}))],
            Strategy.FULL_TRANSITIVE,
        )
    ]


def test_a_change_of_the_tables_is_compatible_or_has_another_version() -> None:
    golden = json.loads(GOLDEN.read_text())
    if golden["version"] == VERSION:
        assert incompatibilities(golden["tables"], current()["tables"]) == []
    assert golden == current(), f"the columns have changed: write them into {GOLDEN.name}"


def test_the_engine_refuses_a_column_that_goes_or_changes_its_type_and_admits_a_new_one() -> None:
    before = {"t": {"a": "long", "b": "string"}}
    assert incompatibilities(before, {"t": {"a": "long", "b": "string", "c": "int"}}) == []
    assert incompatibilities(before, {"t": {"a": "long"}}) == ["t: FIELD_WITHOUT_DEFAULT at $"]
    assert incompatibilities(before, {"t": {"a": "string", "b": "string"}})
    assert incompatibilities(before, {})


def test_the_page_has_the_current_columns() -> None:
    page = (Path(__file__).parents[3] / "docs" / "audit.md").read_text(encoding="utf-8")
    assert with_columns(page) == page, "make generate"
