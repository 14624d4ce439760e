"""Types of columns: Spark's own, and what is refused."""

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from support.payloads import protobuf_orders
from support.schemas.avro import array, enum, field, fixed, mapping, record
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.payload import primitives
from topicschema.payload.arrow import arrow_type
from topicschema.payload.arrow.shapes import MAX_COLUMNS, MAX_LEVELS


def info(text: Any, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return SchemaInfo(kind, json.dumps(text).encode())


def logical(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **rest}


TYPES = [
    ("null", "null"),
    ("boolean", "bool"),
    ("int", "int32"),
    ("long", "int64"),
    ("float", "float"),
    ("double", "double"),
    ("bytes", "binary"),
    ("string", "string"),
    (fixed("F", 3), "binary"),
    (enum("E", "A"), "string"),
    (array("int"), "list<element: int32>"),
    (mapping("int"), "map<string, int32>"),
    (["null", "int"], "int32"),
    (["null"], "null"),
    (["int"], "int32"),
    (["long", "null", "int"], "int64"),
    (["float", "double"], "double"),
    (["null", "int", "string", array("int")], "struct<member0: int32, member1: string, member2: list<element: int32>>"),
    (logical("int", "date"), "date32[day]"),
    (logical("int", "time-millis"), "int32"),
    (logical("long", "time-micros"), "int64"),
    (logical("long", "timestamp-millis"), "timestamp[us, tz=UTC]"),
    (logical("long", "timestamp-micros"), "timestamp[us, tz=UTC]"),
    (logical("long", "timestamp-nanos"), "int64"),
    (logical("long", "local-timestamp-millis"), "timestamp[us]"),
    (logical("long", "local-timestamp-micros"), "timestamp[us]"),
    (logical("int", "timestamp-millis"), "int32"),
    (logical("string", "uuid"), "string"),
    (logical("bytes", "decimal", precision=38, scale=2), "decimal128(38, 2)"),
    (logical("bytes", "decimal", precision=4), "decimal128(4, 0)"),
    (logical("bytes", "decimal", precision=4, scale=5), "binary"),
    (logical("bytes", "decimal", precision="4"), "binary"),
    (logical("bytes", "decimal"), "binary"),
    ({**fixed("D", 2), "logicalType": "decimal", "precision": 4}, "decimal128(4, 0)"),
    ({**fixed("D", 2), "logicalType": "decimal", "precision": 5}, "binary"),
    ({**fixed("D", 12), "logicalType": "duration"}, "binary"),
]


@pytest.mark.parametrize(("kind", "expected"), TYPES)
def test_the_type_of_each_kind_is_one_of_spark(kind: Any, expected: str) -> None:
    for schema_type in (SchemaType.AVRO, SchemaType.JSON):
        made = arrow_type(info(record("R", field("f", kind)), schema_type))
        assert str(made) == f"struct<f: {expected}>"
        schema = pa.schema([pa.field("value", made)])
        assert to_arrow_schema(from_arrow_schema(schema), timezone="UTC").equals(schema)


@pytest.mark.parametrize("kind", sorted(primitives.TYPES))
def test_each_primitive_has_a_type_of_spark(kind: SchemaType) -> None:
    schema = pa.schema([pa.field("value", arrow_type(SchemaInfo(kind)))])
    assert to_arrow_schema(from_arrow_schema(schema), timezone="UTC").equals(schema)


def test_a_pair_is_a_struct_of_key_and_value() -> None:
    pair = encode(KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(info(record("R"))), Encoding.INLINE))
    assert str(arrow_type(pair)) == "struct<key: string, value: struct<>>"


def refused(schema: SchemaInfo) -> tuple[str, str]:
    with pytest.raises(InvalidSchemaError) as error:
        arrow_type(schema)
    return error.value.rule, error.value.place.path


def test_a_record_that_contains_itself_is_refused_with_its_place() -> None:
    chain = record("N", field("v", "int"), field("next", ["null", "N"]))
    assert refused(info(chain))[0] == "RECURSIVE_TYPE"
    assert refused(info(record("R", field("a", "int"), field("n", chain)))) == (
        "RECURSIVE_TYPE",
        "$.fields[1].type.fields[1].type[1]",
    )
    pair = encode(KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(info(chain)), Encoding.INLINE))
    assert refused(pair)[0] == "RECURSIVE_TYPE"
    assert refused(protobuf_orders.PROTO_3.info) == ("RECURSIVE_TYPE", "$.lines.next")


def test_a_wide_decimal_and_too_large_types_are_refused() -> None:
    wide = record("R", field("f", ["null", logical("bytes", "decimal", precision=39)]))
    assert refused(info(wide)) == ("DECIMAL_TOO_WIDE", "$.fields[0].type[1]")
    deep: Any = "int"
    for _ in range(MAX_LEVELS):
        deep = array(deep)
    assert arrow_type(info(deep))
    assert refused(info(array(deep)))[0] == "TYPE_TOO_COMPLEX"
    kinds = [record("R0", *(field(f"f{i}", "int") for i in range(100)))]
    kinds += [record(f"R{n}", *(field(f"f{i}", f"R{n - 1}") for i in range(10))) for n in (1, 2)]
    nested = record("Top", field("a", kinds[0]), field("b", kinds[1]), field("c", kinds[2]))
    assert MAX_COLUMNS < 100 * 111
    assert refused(info(nested))[0] == "TYPE_TOO_COMPLEX"
