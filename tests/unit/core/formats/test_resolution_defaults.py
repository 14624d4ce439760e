from typing import Any

import pytest

from support.schemas.avro import array, enum, field, fixed, mapping, record, unreadable
from topicschema.core.formats.avro.model import Array, Node, Primitive, Record, Union
from topicschema.core.formats.avro.model import Field as Part
from topicschema.core.formats.avro.resolution import resolver

ENUM = enum("E", "A")
FIXED = fixed("F", 2)
INTS = array("int")
MAP = mapping("int")
INNER = record("I", field("x", "int"), field("y", "int", default=1))
ALL_DEFAULTS = record("I", field("x", "int", default=1))

PUT_IN = [
    ("null", None), ("boolean", True), ("int", 1.5), ("int", 2**40), ("long", 1.0), ("float", 1), ("double", "NaN"),
    ("float", "1"), ("string", "x"), ("bytes", "ÿ"), (FIXED, "longer"), (ENUM, "A"), (["null", "int"], None),
    (["int", "null"], 1), (INTS, [1, 2]), (INTS, "none"), (INTS, {"a": 1}), (MAP, {"a": 1}), (MAP, 7), (MAP, []),
    (INNER, {"x": 1}), (INNER, {"x": 1, "y": 2, "z": "?"}), (ALL_DEFAULTS, 5), (ALL_DEFAULTS, None),
]  # fmt: skip

NOT_PUT_IN = [
    ("null", 0, "is a number, which does not fit null"),
    ("boolean", "true", "is a text, which does not fit boolean"),
    ("int", True, "is a boolean, which does not fit int"),
    ("long", None, "is null, which does not fit long"),
    ("double", [], "is an array, which does not fit double"),
    ("string", None, "is null, which does not fit string"),
    ("bytes", {}, "is an object, which does not fit bytes"),
    (FIXED, 1, "is a number, which does not fit 'F'"),
    (ENUM, "B", "is not among the symbols of 'E'"),
    (ENUM, None, "is not among the symbols of 'E'"),
    (["null", "int"], 1, "is a number, which does not fit null"),
    (["double", "null"], "NaN", "is a text, which does not fit double"),
    ([], 1, "cannot fit an empty union"),
    *((INTS, default, "is a text, which does not fit int") for default in (["x"], [1, "x"], [1, "x", 3], ["x", 1])),
    (INTS, {"a": "one"}, "is a text, which does not fit int"),
    (MAP, {"a": None}, "is null, which does not fit int"),
    (MAP, [1], "is an array, where an object is needed"),
    (INNER, {}, "lacks 'x', which has no default in 'I'"),
    (INNER, {"x": "one"}, "is a text, which does not fit int"),
]


@pytest.mark.parametrize(("kind", "default"), PUT_IN)
def test_a_default_that_can_be_encoded_is_put_in(kind: Any, default: Any) -> None:
    assert unreadable(record("R", field("a", kind, default=default)), record("R")) == ()


@pytest.mark.parametrize(("kind", "default", "why"), NOT_PUT_IN)
def test_a_default_that_cannot_be_encoded_makes_the_field_unreadable(kind: Any, default: Any, why: str) -> None:
    reader = record("R", field("b", "int", default=0), field("a", kind, default=default))
    (mismatch,) = unreadable(reader, record("R"))
    assert (mismatch.rule, mismatch.reader_path, mismatch.writer_path) == ("INVALID_DEFAULT", "$.fields[1]", "$")
    assert mismatch.message == f"field 'a' of {{reader}} is not in {{writer}} (record 'R'), and its default {why}"


def test_the_default_of_a_field_that_the_writer_has_is_not_checked() -> None:
    assert unreadable(record("R", field("a", "int", default="one")), record("R", field("a", "int"))) == ()


def test_bad_and_missing_defaults_are_all_reported() -> None:
    reader = record("R", field("a", "int"), field("b", "int", default="x"), field("c", "int"))
    mismatches = unreadable(reader, record("R"))
    assert [each.reader_path for each in mismatches] == ["$.fields[0]", "$.fields[1]", "$.fields[2]"]
    assert [each.rule for each in mismatches] == ["FIELD_WITHOUT_DEFAULT", "INVALID_DEFAULT", "FIELD_WITHOUT_DEFAULT"]


def test_a_default_that_comes_back_to_its_record_is_endless() -> None:
    reader = record("R3", field("c", ["R3", "null"], default=None))
    (mismatch,) = unreadable(reader, record("R3"))
    assert (mismatch.rule, mismatch.reader_path, mismatch.writer_path) == ("RECURSIVE_DEFAULT", "$.fields[0]", "$")
    assert mismatch.message.endswith(", and its default comes back to itself at field 'c', without end")


def test_a_default_of_a_type_that_leads_to_an_endless_record_is_endless_before_any_that_follows() -> None:
    endless = record("T", field("t", "T"))
    reader = record(
        "R", field("a", ["bytes", "R"], default=""), field("b", "int", default="x"), field("c", array(endless))
    )
    writer = record("R", field("c", array(endless)))
    assert [(each.rule, each.reader_path) for each in unreadable(reader, writer)][:2] == [
        ("RECURSIVE_DEFAULT", "$.fields[0]"),
        ("INVALID_DEFAULT", "$.fields[1]"),
    ]


def nested(kind: str, depth: int) -> Node:
    """Records in unions in arrays in records, deeper than any text: texts are limited to 1,000 levels."""
    node: Node = Primitive(path="$", kind=kind)
    for _ in range(depth // 3):
        part = Part(name="a", type=node, path="$", default=None)
        node = Record(path="$", full_name="R", fields=(part,))
        node = Array(path="$", items=Union(path="$", branches=(Primitive(path="$", kind="null"), node)))
    return node


def test_ten_thousand_levels_are_compared_without_a_stack() -> None:
    assert resolver.unreadable(nested("long", 10_000), nested("int", 10_000)) == ()
    (mismatch,) = resolver.unreadable(nested("int", 10_000), nested("long", 10_000))
    assert mismatch.rule == "TYPE_MISMATCH"


def test_a_default_ten_thousand_levels_deep_is_tried_without_a_stack() -> None:
    node: Node = Primitive(path="$", kind="int")
    value: Any = 1
    for _ in range(10_000):
        node, value = Array(path="$", items=node), [value]
    for default, rules in ((value, []), ([value], ["INVALID_DEFAULT"])):
        reader = Record(path="$", full_name="R", fields=(Part(name="a", type=node, path="$", default=default),))
        writer = Record(path="$", full_name="R")
        assert [each.rule for each in resolver.unreadable(reader, writer)] == rules
