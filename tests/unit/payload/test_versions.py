"""Avro messages read with another version than they were written with."""

import json
import math
from typing import Any

import pytest

from support.payloads.verdicts import refusal
from support.schemas.avro import array, enum, field, fixed, mapping, record
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType


def schema(value: Any, kind: SchemaType = SchemaType.AVRO) -> Schema:
    """Return the schema of a record with that type: the root of an AVRO schema cannot be a union."""
    return formats.parse(SchemaInfo(kind, json.dumps(record("Root", field("v", value))).encode()))


def read(writer: Any, reader: Any, value: Any) -> Any:
    """Return the value as the reader reads it."""
    content = payload.encode(schema(writer), {"v": value}).payload
    return payload.decode(schema(reader), content, writer=schema(writer))["v"]


def refused(writer: Any, reader: Any, value: Any) -> tuple[str, str, int | None]:
    with pytest.raises(InvalidPayloadError) as caught:
        read(writer, reader, value)
    return caught.value.rule, caught.value.path.replace("$.v", "$"), caught.value.offset


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        ("int", "long", 5, 5),
        ("int", "double", 5, 5.0),
        ("long", "float", 16_777_217, 16_777_216.0),
        ("long", "float", 9_007_199_791_611_905, 9_007_200_328_482_816.0),
        ("float", "double", 0.5, 0.5),
        ("string", "bytes", "é", b"\xc3\xa9"),
        ("bytes", "string", b"\xff", "\ufffd"),
        ("int", ["null", "long"], 5, 5),
        (["int", "null"], "int", 5, 5),
        (["null", "int"], ["string", "double", "null"], 5, 5.0),
        (array("int"), array("long"), [1, 2], [1, 2]),
        (mapping("int"), mapping("double"), {"a": 1}, {"a": 1.0}),
        (enum("E", "A", "B"), enum("E", "A", default="A"), "B", "A"),
        (fixed("F", 1), ["null", fixed("F", 1)], b"x", b"x"),
        (["int", "string"], "int", 5, 5),  # the versions do not match, this message does
        (array("string"), array("int"), [], []),
    ],
)
def test_a_value_is_read_as_the_readers_type(writer: Any, reader: Any, value: Any, expected: Any) -> None:
    result = read(writer, reader, value)
    assert result == expected
    assert type(result) is type(expected)


def test_fields_go_by_their_names_defaults_are_put_in_and_the_rest_is_skipped() -> None:
    writer = record("R", field("a", "int"), field("gone", array("string")), field("b", "string"))
    inner = record("I", field("x", "bytes", default="\u00ff"), field("y", "float", default=1))
    defaults = [
        field("i", inner, default={"y": 2}),
        field("m", mapping("long"), default={"k": 1}),
        field("l", array("int"), default=[1]),
        field("u", ["null", "int"], default=None),
        field("f", fixed("F", 2), default="x"),
    ]
    reader = record("R", field("b", "string"), *defaults, field("a", "long"))
    value = read(writer, reader, {"a": 1, "gone": ["x"], "b": "y"})
    expected = {"b": "y", "i": {"x": b"\xff", "y": 2.0}, "m": {"k": 1}, "l": [1], "u": None, "f": b"x\0", "a": 1}
    assert value == expected
    assert list(value) == list(expected)


def default_of(union: list[Any], default: Any) -> Any:
    """Return what a reader of Avro 1.12 has for a field that the writer lacks."""
    texts = (json.dumps(record("R", *each)).encode() for each in ((), (field("f", union, default=default),)))
    writer, reader = (formats.parse(SchemaInfo(SchemaType.AVRO, each), PulsarVersion.V4_1) for each in texts)
    return payload.decode(reader, b"", writer=writer)["f"]


@pytest.mark.parametrize(
    ("union", "default", "value"),
    [
        ([record("E", field("x", "int", default=3)), "null"], None, {"x": 3}),
        (["int", "double"], -1.5, -1),
        (["boolean", "int", "double"], 1e300, 2**31 - 1),
        (["int", "long"], 5_000_000_000, 705_032_704),
        (["long", "double"], 2**63, -(2**63)),
        (["float", "int"], 7, 7.0),
        ([array("int"), "string"], "x", []),
        ([array("int"), mapping("int")], {"a": 1}, [1]),
        ([mapping("int"), "string"], "x", {}),
        ([enum("E", "A"), "string"], "A", "A"),
    ],
)
def test_a_default_belongs_to_the_first_branch_whose_kind_avro_takes_it_for(
    union: list[Any], default: Any, value: Any
) -> None:
    assert repr(default_of(union, default)) == repr(value)


def test_a_default_beyond_all_doubles_is_the_limit_of_an_int() -> None:
    texts = (json.dumps(record("R", *each)) for each in ((), (field("f", ["int", "double"], default=1.5),)))
    infos = (SchemaInfo(SchemaType.AVRO, each.replace("1.5", "1e400").encode()) for each in texts)
    writer, reader = (formats.parse(each, PulsarVersion.V4_1) for each in infos)
    assert payload.decode(reader, b"", writer=writer) == {"f": 2**31 - 1}


def test_a_text_is_no_default_of_a_union_whose_enum_lacks_it() -> None:
    with pytest.raises(InvalidSchemaError, match="its default is not among the symbols"):
        default_of([enum("E", "A"), "string"], "x")


def test_aliases_rename_what_the_writer_wrote() -> None:
    writer = record("Old", field("a", "int"))
    reader = record("New", field("b", "int", aliases=["a"]), aliases=["Old"])
    assert read(writer, reader, {"a": 1}) == {"b": 1}


def test_of_a_union_the_record_of_the_name_reads_or_one_that_fits() -> None:
    small, large = record("S", field("a", "int")), record("L", field("a", "int"), field("b", "int"))
    assert read(large, [small, large], {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert read(record("T", field("a", "int")), [large, small], {"a": 1}) == {"a": 1}
    assert refused(record("T", field("a", "int")), [large], {"a": 1}) == ("UNRESOLVABLE", "$", 0)


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        ("string", "int", "a", ("UNRESOLVABLE", "$", 0)),
        ("int", ["null", "string"], 1, ("UNRESOLVABLE", "$", 0)),
        (["int", "string"], "int", "a", ("UNRESOLVABLE", "$", 1)),
        (array("string"), array("int"), ["a"], ("UNRESOLVABLE", "$[0]", 1)),
        (enum("E", "A", "B"), enum("E", "A"), "B", ("UNRESOLVABLE", "$", 0)),
        (enum("E", "A"), enum("D", "A"), "A", ("UNRESOLVABLE", "$", 0)),
        (fixed("F", 1), fixed("F", 2), b"a", ("UNRESOLVABLE", "$", 0)),
        (record("R", field("a", "int")), record("R", field("a", "int"), field("b", "int")), {"a": 1},
         ("UNRESOLVABLE", "$.b", 0)),
    ],
)  # fmt: skip
def test_what_the_reader_has_no_place_for_is_refused_where_it_was_written(
    writer: Any, reader: Any, value: Any, expected: tuple[str, str, int]
) -> None:
    assert refused(writer, reader, value) == expected


def test_broken_bytes_are_reported_with_other_versions_too() -> None:
    reader = payload.reader(schema(["long", "null"]), schema(["int", "null"]))
    for content, rule in ((b"\x04", "UNION_INDEX"), (b"\x00", "TRUNCATED"), (b"\x02\x00", "TRAILING_BYTES")):
        _, findings = reader.read(content)
        assert [each.rule for each in findings] == [rule]


def test_versions_on_which_avro_breaks_down_have_no_reader() -> None:
    writer = record("R", field("a", "int"), field("b", "int"))
    reader = record("R", field("b", "int", aliases=["a"]))
    assert refusal(payload.reader, schema(reader), schema(writer))[0] == "ALIAS_CONFLICT"


def test_names_that_are_renamed_twice_are_so_as_in_java() -> None:
    writer = record("R", field("c", "string"), field("a", "boolean"))
    reader = record("R", field("a", "string", aliases=["c"]), field("d", "boolean", aliases=["a"]))
    assert read(writer, reader, {"c": "x", "a": True}) == {"a": "x", "d": True}
    reader = record("R", field("a", "bytes", aliases=["c"]), field("d", "boolean", aliases=["a"]))
    with pytest.raises(InvalidSchemaError):
        payload.reader(schema(reader), schema(writer))


def test_avro_breaks_down_on_what_is_left_after_both_renames() -> None:
    def version(default: str, *of_s: Any) -> Any:
        names = ["null", "R", record("S", *of_s)]  # twice renamed, `c` and `a` have their names again
        swapped = field("c", "int", default=0, aliases=["a"]), field("a", names, default=None, aliases=["c"])
        return record("R", *swapped, field("b", enum("E", "X"), default=default))

    written = field("f", "int")
    assert refusal(payload.reader, schema(version("Y")), schema(version("Y", written)))[0] == "INVALID_DEFAULT"
    value = {"c": 1, "a": None, "b": "X"}
    assert read(version("X", written), version("X"), value) == value


def test_a_long_value_is_rounded_once() -> None:
    assert payload.numbers.nearest_float(2**62 + 2**38 + 1) == 2**62 + 2**39
    assert payload.numbers.nearest_float(1e300) == math.inf
    assert payload.numbers.nearest_float(-(2**63)) == -(2.0**63)


def test_only_avro_has_a_writer_of_its_own() -> None:
    other = schema("int", SchemaType.JSON)
    assert refusal(payload.reader, other, other)[0] == "UNSUPPORTED_TYPE"


def test_defaults_that_add_more_than_anybody_could_hold_are_not_put_in() -> None:
    empty = record("E")
    writer = record("R", field("items", array(empty)))
    filled = record("E", field("l", array("int"), default=[0] * 1000))
    reader = payload.reader(schema(record("R", field("items", array(filled)))), schema(writer))
    _, findings = reader.read(payload.encode(schema(writer), {"v": {"items": [{}] * 2000}}).payload)
    assert [each.rule for each in findings] == ["UNRESOLVABLE"]
