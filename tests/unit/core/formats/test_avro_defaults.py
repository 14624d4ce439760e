import json
from typing import Any

import pytest

from support.schemas.avro import array, enum, field, fixed, mapping, record
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.schemas import SchemaInfo, SchemaType

POINT = record("P", field("x", "int"), field("y", "int", default=0))
ENUM, FIXED, INTS, LONGS = enum("E", "A"), fixed("F", 2), array("int"), mapping("long")


def parse(kind: Any, default: Any, *, validate_defaults: bool = True) -> Any:
    info = SchemaInfo(SchemaType.AVRO, json.dumps(record("R", field("a", kind, default=default))).encode())
    return parser.parse(info, validate_defaults=validate_defaults)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("null", None),
        ("boolean", False),
        ("int", 2**31 - 1),
        ("int", -(2**31)),
        ("long", 2**63 - 1),
        ("float", 1),
        ("double", 10**30),
        ("double", "NaN"),
        ("float", "-Infinity"),
        ("bytes", "\u0100"),
        ("string", ""),
        (ENUM, "not a symbol"),
        (FIXED, "not two bytes"),
        (INTS, [1, 2]),
        (LONGS, {"k": 2**40}),
        (["int", "null"], 1),
        (POINT, {"x": 1}),
        (POINT, {"x": 1, "y": 2, "z": "overlooked"}),
        (["null", "R"], None),
    ],
)
def test_a_default_that_fits_its_type_is_taken(kind: Any, default: Any) -> None:
    taken = parse(kind, default).fields[0].default
    assert repr(taken) == repr(float(default) if kind in ("double", "float") and isinstance(default, str) else default)


@pytest.mark.parametrize(
    ("kind", "default", "path", "words"),
    [
        ("null", 0, "", "null is expected"),
        ("boolean", 0, "", "true or false is expected"),
        ("int", True, "", "is a boolean"),
        ("int", 1.0, "", "32-bit"),
        ("int", 2**31, "", "32-bit"),
        ("long", 2**63, "", "64-bit"),
        ("long", "1", "", "is a text"),
        ("double", None, "", "a number is expected"),
        ("double", "one", "", "is no number"),
        ("double", "1_0", "", "is no number"),
        ("string", None, "", "is null, a text is expected"),
        (ENUM, 1, "", "a text is expected"),
        (FIXED, ["a"], "", "is an array"),
        (INTS, {"k": 1}, "", "an array is expected"),
        (INTS, [1, "2"], "[1]", "is a text"),
        (LONGS, [1], "", "an object is expected"),
        (LONGS, {"a b": None}, '["a b"]', "is null"),
        (["null", "int"], 1, "", "first branch"),
        ([], None, "", "empty union"),
        (["double", "null"], "NaN", "", "a number is expected"),
        (POINT, 1, "", "needs an object"),
        (POINT, {"y": 1}, "", "lacks 'x'"),
        (POINT, {"x": 1, "y": "2"}, ".y", "32-bit"),
        ("R", {}, "", "of which the field is a part"),
        (["R", "null"], {}, "", "of which the field is a part"),
    ],
)
def test_a_default_that_does_not_fit_is_refused_at_its_place(kind: Any, default: Any, path: str, words: str) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        parse(kind, default)
    error = refusal.value
    assert (error.rule, error.place.path) == ("INVALID_DEFAULT", f"$.fields[0].default{path}")
    assert words in error.message
    assert "'a'" in error.message or "is no number" in error.message


def test_the_compatibility_check_alone_parses_without_defaults() -> None:
    assert parse("string", None, validate_defaults=False).fields[0].default is None
    with pytest.raises(InvalidSchemaError):  # a text for a number is converted by the parse itself
        parse("double", "one", validate_defaults=False)


def test_a_default_may_lean_on_the_defaults_of_the_records_in_it_at_linear_cost() -> None:
    fields: list[Any] = [field("f0", record("R0"))]
    for i in range(1, 200):  # each has the one before twice: 2^200 values in all
        halves = (field(half, f"R{i - 1}", default={}) for half in "ab")
        fields.append(field(f"f{i}", record(f"R{i}", *halves), default={}))
    text = json.dumps(record("Top", *fields))
    root: Any = parser.parse(SchemaInfo(SchemaType.AVRO, text.encode()))
    assert len(root.fields) == 200
