from typing import Any

import pytest

from support.schemas import avro
from support.schemas.avro import enum, field, fixed, found, unreadable
from topicschema.core.formats.format import Mismatch


def record(name: str, **fields: Any) -> dict[str, Any]:
    return avro.record(name, *(field(key, kind) for key, kind in fields.items()))


ENUM = enum("n.E", "A", "B")
ELSEWHERE = enum("m.E", "A", "B")


def test_each_branch_of_the_writer_must_be_readable() -> None:
    assert found("string", ["null", "string"]) == [("UNION_BRANCH_UNREADABLE", "$", "$[0]")]
    assert found("double", ["int", "float", "long"]) == []
    assert found(["null", "int"], ["null", "int", "string", "boolean"]) == [
        ("NO_UNION_BRANCH", "$", "$[2]"),
        ("NO_UNION_BRANCH", "$", "$[3]"),
    ]


def test_the_message_names_what_the_union_allows_and_what_it_meets() -> None:
    (mismatch,) = unreadable("string", ["null", "string"])
    assert mismatch.message == "the union of {writer} allows null, which string of {reader} cannot read"
    (mismatch,) = unreadable(["null", "int"], "string")
    assert mismatch.message == "{writer} has string, for which the union of {reader} has no branch; it has null, int"


def test_branches_may_be_added_and_reordered() -> None:
    assert found(["string", "null", "int"], ["null", "string"]) == []
    assert found(["null", "string"], "string") == []


def test_a_union_of_no_branches_is_read_by_all_and_reads_nothing_but_itself() -> None:
    assert found("int", []) == []
    assert found([], []) == []
    assert found([], "null") == [("NO_UNION_BRANCH", "$", "$")]


def test_a_union_of_the_same_structure_is_looked_at_no_deeper() -> None:
    assert found(["null", ENUM], ["null", ELSEWHERE]) == []
    assert found([ENUM, "null"], ["null", ELSEWHERE]) == [("NO_UNION_BRANCH", "$", "$[1]")]
    assert found(["null", record("n.R", a=["null", ENUM])], ["null", record("m.R", a=["null", ELSEWHERE])]) == []


@pytest.mark.parametrize(
    ("reader", "writer", "is_alike"),
    [
        (enum("n.E", "A", "B"), enum("m.E", "A", "B"), True),
        (enum("n.E", "B", "A"), enum("m.E", "A", "B"), False),
        (enum("n.E", "A", "B"), enum("m.D", "A", "B"), False),
        (fixed("n.F", 2), fixed("m.F", 2), True),
        (fixed("n.F", 2), fixed("m.F", 3), False),
        (fixed("n.F", 2), fixed("m.G", 2), False),
    ],
)
def test_structures_are_alike_by_simple_names_sizes_and_symbols(reader: Any, writer: Any, *, is_alike: bool) -> None:
    assert found(["null", reader], ["null", writer]) == ([] if is_alike else [("NO_UNION_BRANCH", "$", "$[1]")])
    assert found([reader], [writer, "null"]) == [("NO_UNION_BRANCH", "$", "$[0]"), ("NO_UNION_BRANCH", "$", "$[1]")]


def test_other_symbols_make_another_structure() -> None:
    other = {**ELSEWHERE, "symbols": ["A"]}
    assert found(["null", ENUM], ["null", other]) == [("NO_UNION_BRANCH", "$", "$[1]")]


def test_a_part_in_an_array_that_differs_makes_another_structure() -> None:
    reader = ["null", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}]
    writer = ["null", {"type": "array", "items": "int"}, {"type": "map", "values": "long"}]
    assert found(reader, writer) == [("TYPE_MISMATCH", "$[2].values", "$[2].values")]


def test_a_record_takes_the_branch_of_its_full_name_even_if_another_would_fit() -> None:
    reader = ["null", record("Fits", a="int"), record("n.R", a="string")]
    assert found(reader, record("n.R", a="int")) == [("TYPE_MISMATCH", "$[2].fields[0].type", "$.fields[0].type")]


def test_a_record_of_another_name_takes_a_branch_of_its_structure() -> None:
    assert found(["null", record("Other", a="long")], record("n.R", a="int")) == []
    assert found(["null", record("Empty")], record("n.R", a="int")) == []


def test_the_simple_name_outweighs_the_order_of_branches() -> None:
    # Errors two levels down are not seen when a branch is tried, so the choice decides the verdict.
    deep = record("D", x="string")
    first = record("First", a={"type": "array", "items": "int"})
    named = record("m.R", a={"type": "array", "items": deep})
    assert found([first], record("n.R", a={"type": "array", "items": "int"})) == []
    assert found([first, named], record("n.R", a={"type": "array", "items": "int"})) == [
        ("TYPE_MISMATCH", "$[1].fields[0].type.items", "$.fields[0].type.items")
    ]


def test_a_record_that_no_branch_fits_is_told_what_was_tried() -> None:
    (mismatch,) = unreadable(["null", record("A", x="int"), record("B", y="int")], record("n.R", x="string"))
    assert mismatch == Mismatch(
        "NO_UNION_BRANCH",
        "{writer} has record 'n.R', for which the union of {reader} has no branch; "
        "it has null, record 'A', record 'B'; record 'A' was tried: field 'x' has another type; "
        "record 'B' was tried: field 'y' has no default",
        "$",
        "$",
    )


@pytest.mark.parametrize("branches", [3, 8, 60])
def test_the_first_two_that_were_tried_are_told_of_however_many_there_are(branches: int) -> None:
    reader = [record(f"B{number}", **{f"x{number}": "int"}) for number in range(branches)]
    (mismatch,) = unreadable(["null", *reader], record("n.R", y="string"))
    tried = [f"record 'B{number}' was tried: field 'x{number}' has no default" for number in range(2)]
    assert mismatch.rule == "NO_UNION_BRANCH"
    assert "; ".join(tried) in mismatch.message
    assert "'B2' was tried" not in mismatch.message


def test_a_bad_default_of_a_branch_that_is_only_tried_counts_all_the_same() -> None:
    bad = avro.record("Bad", field("x", "int", default="one"))
    assert found([bad, record("R", a="int")], record("R", a="int")) == [("INVALID_DEFAULT", "$[0].fields[0]", "$")]
    # Unless a field before it has no default at all: then the branch is dropped before the default is read.
    lacking = avro.record("Bad", field("w", "int"), *bad["fields"])
    assert found([lacking, record("R", a="int")], record("R", a="int")) == []


def test_recursion_through_a_union_ends() -> None:
    def chain(kind: str) -> dict[str, Any]:
        return record("Node", value=kind, next=["null", "Node"])

    assert found(chain("long"), chain("int")) == []
    assert found(chain("int"), chain("long")) == [("TYPE_MISMATCH", "$.fields[0].type", "$.fields[0].type")]
    longer = record("Node", value="long", next=["null", "Node", "string"])
    assert found(longer, chain("int")) == []
