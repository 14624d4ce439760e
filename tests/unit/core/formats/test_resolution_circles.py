from collections.abc import Callable
from typing import Any

import pytest

from support.schemas.avro import array, field, find_mismatches, mapping, parsed, record, unreadable
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.steps import Steps, TooComplexError

ENDLESS = record("S", field("s", "S"))


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (ENDLESS, ENDLESS),
        (record("S", field("s", record("T", field("t", "S")))), record("S", field("s", record("T", field("t", "S"))))),
        (record("R"), record("R", field("a", array(ENDLESS)))),
        (record("R", field("u", ["null", ENDLESS], default=None)), record("R")),
        (["null", ENDLESS], ["null", ENDLESS]),
        (["null", ENDLESS], ["null", {**ENDLESS, "name": "n.S"}]),
    ],
    ids=["itself", "in two steps", "skipped", "put in", "in an equal union", "in an equivalent union"],
)
def test_a_record_that_directly_contains_itself_is_endless(reader: Any, writer: Any) -> None:
    (mismatch,) = unreadable(reader, writer)
    assert mismatch.rule == "INFINITE_RECORD"
    assert mismatch.message.endswith(
        " contains itself directly, so no message can have it, and the broker fails on it; "
        "put a union with null, an array or a map in between"
    )


def test_an_endless_writer_is_read_by_a_reader_with_an_end() -> None:
    assert unreadable(record("S", field("s", ["null", "S"])), ENDLESS) == ()


def branch(tree: Any, *more: dict[str, Any]) -> dict[str, Any]:
    return record("Branch", field("tree", tree), field("branches", array("Branch")), *more)


def tree(inner: Any) -> dict[str, Any]:
    return record("Tree", field("branches", array(inner)))


def test_a_record_in_its_own_array_that_directly_holds_an_outer_one_breaks_avro() -> None:
    (mismatch,) = unreadable(tree(branch("Tree")), tree(branch("Tree")))
    assert mismatch.rule == "RECURSIVE_RECORD_CRASHES_AVRO"
    assert mismatch.reader_path == mismatch.writer_path == "$.fields[0].type.items"
    assert mismatch.message == (
        "record 'Branch' comes back to itself in an array or a map, and directly holds record 'Tree', of which it is a "
        "part; the broker fails on that (NullPointerException); make the field of record 'Tree' a union with null"
    )
    assert find_mismatches(tree(branch(["null", "Tree"])), tree(branch(["null", "Tree"]))) == []


def test_mutually_recursive_records_count_where_a_default_or_an_equal_union_brings_them_in() -> None:
    place = "$.fields[0].type.fields[0].type.items"
    reader = record("R", field("t", tree(branch("Tree")), default={"branches": []}))
    assert find_mismatches(reader, record("R")) == [("RECURSIVE_RECORD_CRASHES_AVRO", place, "$")]
    assert find_mismatches(["null", tree(branch("Tree"))], ["null", tree(branch("Tree"))]) != []
    assert find_mismatches(record("R"), reader) == []  # skipped: Avro does not look for errors there


@pytest.mark.parametrize("place", [lambda inner: ["null", inner], lambda inner: ["string", inner, "null"]])
def test_mutually_recursive_records_count_where_a_union_takes_them_in(place: Callable[[Any], Any]) -> None:
    cyclic, free = tree(branch("Tree")), tree(branch(["null", "Tree"]))
    assert [rule for rule, *_ in find_mismatches(place(cyclic), cyclic)] == ["RECURSIVE_RECORD_CRASHES_AVRO"]
    assert [rule for rule, *_ in find_mismatches(place(cyclic), place(cyclic))] == ["RECURSIVE_RECORD_CRASHES_AVRO"]
    within = find_mismatches(record("R", field("t", place(cyclic))), record("R", field("t", cyclic)))
    assert [rule for rule, *_ in within] == ["RECURSIVE_RECORD_CRASHES_AVRO"]
    assert find_mismatches(place(free), free) == []


def test_a_skipped_field_decides_which_of_two_mutually_recursive_records_avro_flattens_first() -> None:
    s = record("S", field("b", "R"), field("c", "T"))
    r = record("R", field("c", ["T", "null"]))
    inner = record("T", field("b", r), field("d", ["null", s]))
    reader = record("U", field("a", ["null", inner]))
    assert find_mismatches(reader, record("U", field("a", ["null", inner]), field("b", array("S")))) == []
    assert find_mismatches(reader, record("U", field("a", ["null", inner]), field("b", array("R")))) == [
        ("RECURSIVE_RECORD_CRASHES_AVRO", "$.fields[0].type[1]", "$")
    ]


def test_one_of_the_two_alone_does_no_harm() -> None:
    only_back = tree(record("Branch", field("tree", "Tree"), field("names", mapping("string"))))
    only_itself = tree(record("Branch", field("branches", array("Branch"))))
    assert find_mismatches(only_back, only_back) == find_mismatches(only_itself, only_itself) == []
    assert find_mismatches(tree(record("Branch", field("tree", "Tree"))), tree(branch("Tree"))) == []


def many(called: str, count: int) -> Any:
    """Return a record with a union of many, each of which leads back to it."""
    back = field("back", ["null", "Root"], default=None)
    return record("Root", field("u", [record(f"{called}{n}", field(f"f{n}", "int"), back) for n in range(count)]))


def test_wide_unions_in_circles_are_compared_until_no_steps_are_left() -> None:
    reader, writer = parsed(many("New", 100)), parsed(many("Old", 100))
    assert resolver.unreadable(reader, writer) == ()
    with pytest.raises(TooComplexError):
        resolver.unreadable(reader, writer, Library.AVRO_1_11, Steps(100_000))
