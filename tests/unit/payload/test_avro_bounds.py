"""Bounds of the values that an Avro payload or a default may create, and of the work of reading them."""

import json
import math
from typing import Any

import pytest

from support.schemas.avro import array, field, fixed, record
from support.work import steps
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import auto_produce, varints

LONE = record("L", field("v", "int"))


def schema(value: Any) -> Schema:
    """Return the schema of a record with a value of that type."""
    return formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(record("Root", field("v", value))).encode()))


def block(count: int, content: bytes) -> bytes:
    """Return an array of one block."""
    return varints.encode(varints.zigzag(count)) + content + b"\0"


def findings(kind: Any, content: bytes) -> list[tuple[str, str]]:
    return [(each.rule, each.path) for each in payload.validate(schema(kind), content)]


@pytest.mark.parametrize(("kind", "most"), [("boolean", 999_994), (LONE, 249_998)], ids=["booleans", "records"])
def test_more_than_a_million_values_are_not_read(kind: Any, most: int) -> None:
    assert findings(array(kind), block(most, b"\1" * most)) == []
    [(rule, path)] = findings(array(kind), block(most + 1, b"\1" * (most + 1)))
    assert (rule, path.removesuffix(".v")) == ("TOO_MANY_VALUES", f"$.v[{most}]")


def test_integers_in_arrays_are_not_counted() -> None:
    assert findings(array("long"), block(1_500_000, b"\1" * 1_500_000)) == []


@pytest.mark.parametrize("kind", ["int", "long"])
@pytest.mark.parametrize(
    "broken",
    ["ff" * 4 + "1f", "ff" * 9 + "03", "80" * 12 + "00", "80", ""],
    ids=["33 bits", "65 bits", "long", "cut", "end"],
)
@pytest.mark.parametrize("before", ["02", "8001"], ids=["short", "longer"])
def test_broken_integers_of_an_array_have_the_offsets_of_single_ones(kind: str, broken: str, before: str) -> None:
    content = block(9, bytes.fromhex(before * 3 + broken))[:-1]
    one_by_one = payload.validate(schema(record("I", *(field(f"f{index}", kind) for index in range(9)))), content[1:])
    results = payload.validate(schema(array(kind)), content)
    assert [(each.rule, each.offset, each.message) for each in results] == [
        (each.rule, each.offset + 1, each.message) for each in one_by_one
    ]
    assert results[0].path == one_by_one[0].path.replace(".f", "[") + "]"


def test_integers_of_a_block_take_hardly_any_work_whatever_comes_behind_them() -> None:
    cut = block(2_000, b"\x7e\x80\x01" * 500)[:-1]
    wide, narrow = schema(array("long")), schema(array("int"))
    reader = payload.reader(wide, narrow)
    assert steps(lambda: payload.validate(narrow, cut)) < 60 * 1_000
    assert steps(lambda: auto_produce.refusals(narrow, cut)) < 60 * 1_000
    assert steps(lambda: reader.read(cut)) < 60 * 1_000


@pytest.mark.parametrize(
    ("kind", "expected"), [("double", math.inf), ("float", math.inf), (["double", "null"], math.inf), ("long", 1)]
)
def test_a_default_that_is_too_large_for_a_double_is_infinite(kind: Any, expected: float) -> None:
    default = 10**998 if expected == math.inf else 1
    assert put_in(field("a", kind, default=default)) == {"a": expected}
    if expected == math.inf:
        assert put_in(field("a", kind, default=-default)) == {"a": -math.inf}


def put_in(added: dict[str, Any]) -> Any:
    """Return the value of a message of an empty record, read with that schema."""
    return payload.decode(schema(record("R", added)), b"", writer=schema(record("R")))["v"]


def test_defaults_of_bytes_are_one_object_in_all_records() -> None:
    read = reader_of(array(record("E", field("b", "bytes", default="x" * 1_000))), array(record("E")))
    value, results = read.read(block(3, b""))
    assert results == ()
    assert value["v"] == [{"b": b"x" * 1_000}] * 3
    assert len({id(each["b"]) for each in value["v"]}) == 1


def test_a_default_of_a_huge_fixed_is_refused() -> None:
    read = reader_of(record("R", field("f", fixed("F", 2**31 - 9), default="")), record("R"))
    assert [each.rule for each in read.read(b"")[1]] == ["UNRESOLVABLE"]


def reader_of(kind: Any, written: Any) -> payload.MessageReader:
    return payload.reader(schema(kind), schema(written))
