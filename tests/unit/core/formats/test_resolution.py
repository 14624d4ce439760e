from collections.abc import Callable
from typing import Any

import pytest

from support.schemas.avro import array, enum, field, find_mismatches, fixed, mapping, parsed, record, unreadable
from topicschema.core.formats.avro.model import Record
from topicschema.core.formats.avro.names import shown
from topicschema.core.formats.avro.resolution import resolver

KINDS = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
PROMOTIONS = {
    ("int", "long"), ("int", "float"), ("int", "double"), ("long", "float"), ("long", "double"), ("float", "double"),
    ("string", "bytes"), ("bytes", "string"),
}  # fmt: skip
A = field("a", "int")
OLD_A = field("old", "int")
ENUM, ELSEWHERE = enum("n.E", "A", "B"), enum("m.E", "A", "B")
OLD, NEW = enum("n.Old", "A"), enum("n.New", "A", aliases=["Old"])
INTS = array("int")
NO_DEFAULT = ("FIELD_WITHOUT_DEFAULT", "$.fields[0]", "$")
NO_BRANCH = ("NO_UNION_BRANCH", "$", "$")
MISMATCH = ("TYPE_MISMATCH", "$", "$")
IN_FIELD = ("TYPE_MISMATCH", "$.fields[0].type", "$.fields[0].type")


@pytest.mark.parametrize("reader", KINDS)
@pytest.mark.parametrize("writer", KINDS)
def test_a_primitive_is_read_by_its_own_kind_and_by_those_it_is_promoted_to(writer: str, reader: str) -> None:
    readable = writer == reader or (writer, reader) in PROMOTIONS
    assert find_mismatches(reader, writer) == ([] if readable else [MISMATCH])
    assert find_mismatches([reader], writer) == ([] if readable else [NO_BRANCH])
    assert find_mismatches(reader, [writer]) == ([] if readable else [("UNION_BRANCH_UNREADABLE", "$", "$[0]")])


def chain(kind: str, *more: str) -> dict[str, Any]:
    return record("Node", field("value", kind), field("next", ["null", "Node", *more]))


def tree(name: str, value: str, size: dict[str, Any], **rest: Any) -> dict[str, Any]:
    kids = field("kids", mapping([name, size]))
    return record(name, field(value, "int", **({"aliases": ["v"]} if rest else {})), kids, **rest)


TREE = tree("Old", "v", fixed("F", 2))
FIRST = record("First", field("a", INTS))
DEEP = record("m.R", field("a", array(record("D", field("x", "string")))))
BAD = field("x", "int", default="one")
P = record("P", field("q", "int"))
ENDLESS = record("E", field("e", "E"))
INNER, RENAMED = record("I", OLD_A), record("I", field("new", "int", aliases=["old"]))

READABLE: list[tuple[Any, Any]] = [
    ({"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"}),
    (array("long"), INTS),
    (fixed("n.F", 2), fixed("m.F", 2)),
    (enum("n.E", "A"), enum("E", "A", "B")),
    (["null", enum("n.E", "A")], enum("n.E", "B")),
    (record("n.New"), record("Old", field("x", "int"))),
    (record("R"), {**record("R"), "type": "error"}),
    (record("R", field("c", "long"), A), record("R", A, field("b", "string"), field("c", "int"))),
    (record("R", field("a", ["null", "int"], default=None)), record("R")),
    # Unions: a writer's branch needs a branch of the reader, in any order. Equivalent unions are compared no deeper.
    ("double", ["int", "float", "long"]),
    (["string", "null", "int"], ["null", "string"]),
    (["null", "string"], "string"),
    ("int", []),
    ([], []),
    (["null", ENUM], ["null", ELSEWHERE]),
    (["null", fixed("n.F", 2)], ["null", fixed("m.F", 2)]),
    (["null", record("n.R", field("a", ["null", ENUM]))], ["null", record("m.R", field("a", ["null", ELSEWHERE]))]),
    # A record takes a branch of its structure if none has its name.
    (["null", record("Other", field("a", "long"))], record("n.R", A)),
    (["null", record("Empty")], record("n.R", A)),
    ([FIRST], record("n.R", field("a", INTS))),
    (["null", record("X", field("a", P))], record("Y", field("a", P))),
    ([record("Bad", field("w", "int"), BAD), record("R", A)], record("R", A)),
    (chain("long"), chain("int")),
    (chain("long", "string"), chain("int")),
    # An alias without a namespace has that of its type.
    (NEW, OLD),
    (["null", NEW], OLD),
    ({**NEW, "name": "m.New", "aliases": ["n.Old"]}, OLD),
    (record("n.R", field("new", "int", aliases=["old"])), record("n.R", OLD_A)),
    (record("n.R", field("new", "int", aliases=["old"]), aliases=["m.S"]), record("m.S", OLD_A)),
    (tree("New", "w", fixed("G", 2, aliases=["F"]), aliases=["Old"]), TREE),
    # Equal schemas are compared without aliases and defaults.
    (record("R", field("a", "int", default="one"), aliases=["S"]), record("R", field("a", "int", default="one"))),
]


@pytest.mark.parametrize(("reader", "writer"), READABLE)
def test_readable(reader: Any, writer: Any) -> None:
    assert find_mismatches(reader, writer) == []


UNREADABLE: list[tuple[Any, Any, list[tuple[str, str, str]]]] = [
    (INTS, mapping("int"), [MISMATCH]),
    (record("R"), INTS, [MISMATCH]),
    ([mapping("int")], INTS, [NO_BRANCH]),
    (INTS, array("long"), [("TYPE_MISMATCH", "$.items", "$.items")]),
    (["null", mapping("int")], mapping("long"), [("TYPE_MISMATCH", "$[1].values", "$.values")]),
    (fixed("F", 2), fixed("G", 2), [("NAME_MISMATCH", "$", "$")]),
    (fixed("F", 4), fixed("F", 2), [("FIXED_SIZE", "$", "$")]),
    (["null", fixed("F", 4)], fixed("F", 2), [("FIXED_SIZE", "$[1]", "$")]),
    # Inside a union, an enum and a fixed need the full name.
    (["null", enum("n.E", "A")], enum("E", "A"), [NO_BRANCH]),
    (["null", fixed("n.F", 1)], fixed("F", 1), [NO_BRANCH]),
    (record("R", field("a", enum("E", "A", default="A"))), record("R"), [NO_DEFAULT]),
    # In the reader's field order, and each pair of types once.
    (
        record("R", field("d", "int"), field("b", "int"), field("z", INTS), A),
        record("R", field("a", "string"), field("b", "null"), field("z", array("boolean"))),
        [
            NO_DEFAULT,
            ("TYPE_MISMATCH", "$.fields[1].type", "$.fields[1].type"),
            ("TYPE_MISMATCH", "$.fields[2].type.items", "$.fields[2].type.items"),
            ("TYPE_MISMATCH", "$.fields[3].type", "$.fields[0].type"),
        ],
    ),
    (record("R", field("a", record("I", field("x", "int"))), field("b", "I"), field("c", array("I"))),
     record("R", field("a", record("I", field("x", "string"))), field("b", "I"), field("c", array("I"))),
     [("TYPE_MISMATCH", "$.fields[0].type.fields[0].type", "$.fields[0].type.fields[0].type")]),
    # Unions.
    ("string", ["null", "string"], [("UNION_BRANCH_UNREADABLE", "$", "$[0]")]),
    (["null", "int"], ["null", "int", "string", "boolean"],
     [("NO_UNION_BRANCH", "$", "$[2]"), ("NO_UNION_BRANCH", "$", "$[3]")]),
    ([], "null", [NO_BRANCH]),
    (["null", record("X", field("a", P))], record("Y", field("a", record("P"))), [NO_BRANCH]),
    (["null", record("X", field("a", "int"))], record("Y", field("a", "string")), [NO_BRANCH]),
    ([ENUM, "null"], ["null", ELSEWHERE], [("NO_UNION_BRANCH", "$", "$[1]")]),
    *(
        (["null", ENUM], ["null", other], [("NO_UNION_BRANCH", "$", "$[1]")])
        for other in (enum("m.E", "A"), enum("m.E", "B", "A"), enum("m.D", "A", "B"))
    ),
    *(
        (["null", fixed("n.F", 2)], ["null", other], [("NO_UNION_BRANCH", "$", "$[1]")])
        for other in (fixed("m.F", 3), fixed("m.G", 2))
    ),
    ([ENUM], [ELSEWHERE, "null"], [("NO_UNION_BRANCH", "$", "$[0]"), ("NO_UNION_BRANCH", "$", "$[1]")]),
    (["null", INTS, mapping("int")], ["null", INTS, mapping("long")],
     [("TYPE_MISMATCH", "$[2].values", "$[2].values")]),
    # The branch of the full name counts, even if another would fit.
    (["null", record("Fits", A), record("n.R", field("a", "string"))], record("n.R", A),
     [("TYPE_MISMATCH", "$[2].fields[0].type", "$.fields[0].type")]),
    # The simple name outweighs the order. A trial does not find errors two levels down, so the choice decides.
    ([FIRST, DEEP], record("n.R", field("a", INTS)),
     [("TYPE_MISMATCH", "$[1].fields[0].type.items", "$.fields[0].type.items")]),
    # A bad default of a branch that is only tried counts, unless a field before it has no default.
    ([record("Bad", BAD), record("R", A)], record("R", A), [("INVALID_DEFAULT", "$[0].fields[0]", "$")]),
    (chain("int"), chain("long"), [IN_FIELD]),
    # An infinite record that only the reader has: the place of the writer is the record that lacks it.
    *(
        (
            record("R", field("a", ENDLESS, default=default)),
            record("R"),
            [("INVALID_DEFAULT", "$.fields[0]", "$"), ("INFINITE_RECORD", "$.fields[0].type", "$")],
        )
        for default in ("A", {})
    ),
    # Aliases.
    ({**NEW, "name": "m.New"}, OLD, [("NAME_MISMATCH", "$", "$")]),
    (record("n.R", field("new", "int", aliases=["old"])), record("m.R", OLD_A), [NO_DEFAULT]),
    (record("R", field("x", "int", aliases=["old"]), field("y", "int", aliases=["old"])), record("R", OLD_A),
     [NO_DEFAULT]),
    (record("R", field("i", RENAMED)), record("R", field("i", INNER, default={"old": 1})),
     [("INVALID_WRITER_DEFAULT", "$", "$.fields[0]")]),
    (tree("New", "w", fixed("G", 2), aliases=["Old"]), TREE,
     [("NO_UNION_BRANCH", "$.fields[1].type.values", "$.fields[1].type.values[1]")]),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "writer", "mismatches"), UNREADABLE)
def test_unreadable(reader: Any, writer: Any, mismatches: list[tuple[str, str, str]]) -> None:
    assert find_mismatches(reader, writer) == mismatches


MESSAGES = [
    (record("R", field("x", array(mapping(record("I", field("amount", "int")))))),
     record("R", field("w", "null"), field("x", array(mapping(record("I", field("amount", "long")))))),
     "field 'amount': {writer} has long where {reader} has int, which cannot read it",
     ("$.fields[0].type.items.values.fields[0].type", "$.fields[1].type.items.values.fields[0].type")),
    (fixed("F", 4), fixed("F", 2), "fixed 'F' has 2 bytes in {writer} and 4 in {reader}; a size cannot change",
     ("$", "$")),
    (
        enum("E", "A"),
        enum("F", "A"),
        (
            "{writer} has enum 'F' where {reader} has enum 'E'; give the reader's the same name, "
            "or the writer's name as an alias"
        ),
        ("$", "$"),
    ),
    (record("R", A, field("Id", "int")), record("R", field("id", "int"), A),
     "field 'Id' of {reader} is not in {writer} (record 'R') and has no default; give it a default",
     ("$.fields[1]", "$")),
    ("string", ["null", "string"], "the union of {writer} allows null, which string of {reader} cannot read",
     ("$", "$[0]")),
    (["null", "int"], "string", "{writer} has string, for which the union of {reader} has no branch; it has null, int",
     ("$", "$")),
    (
        ["null", record("A", field("x", "int")), record("B", field("y", "int"))],
        record("n.R", field("x", "string")),
        (
            "{writer} has record 'n.R', for which the union of {reader} has no branch; "
            "it has null, record 'A', record 'B'; record 'A' was tried: field 'x' has another type; "
            "record 'B' was tried: field 'y' has no default"
        ),
        ("$", "$"),
    ),
    (
        record("R", field("a", "int", aliases=["b"])),
        record("R", A, field("b", "int")),
        (
            "the aliases in {reader} give a field of {writer} the name 'a', which another field beside it has already; "
            "remove the alias"
        ),
        ("$.fields[0]", "$.fields[1]"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "writer", "message", "places"), MESSAGES)
def test_messages(reader: Any, writer: Any, message: str, places: tuple[str, str]) -> None:
    (mismatch,) = unreadable(reader, writer)
    assert (mismatch.message, (mismatch.reader_path, mismatch.writer_path)) == (message, places)


def test_a_long_name_is_cut_where_it_is_quoted() -> None:
    (mismatch,) = unreadable(record("R", field("x" * 500, "int")), record("R"))
    assert len(mismatch.message) < 200
    assert shown("a" * 60) == f"'{'a' * 60}'"
    assert shown("a" * 61) == f"'{'a' * 59}…'"
    assert shown("a\x00\u2028") == "'a\\u0000\\u2028'"
    assert shown(12) == "'12'"


@pytest.mark.parametrize("wrap", [array, mapping])
def test_a_mismatch_under_450_levels_is_reported_without_a_stack(wrap: Callable[[Any], Any]) -> None:
    reader: Any = "int"
    writer: Any = "long"
    for _ in range(450):
        reader, writer = wrap(reader), wrap(writer)
    (mismatch,) = unreadable(reader, writer)
    assert (mismatch.rule, mismatch.reader_path.count(".")) == ("TYPE_MISMATCH", 450)


def test_a_message_has_the_first_two_branches_that_were_tried() -> None:
    reader = [record(f"B{number}", field(f"x{number}", "int")) for number in range(60)]
    (mismatch,) = unreadable(["null", *reader], record("n.R", field("y", "string")))
    tried = [f"record 'B{number}' was tried: field 'x{number}' has no default" for number in range(2)]
    assert mismatch.rule == "NO_UNION_BRANCH"
    assert "; ".join(tried) in mismatch.message
    assert "'B2' was tried" not in mismatch.message


@pytest.mark.parametrize("order", [1, -1])
def test_renaming_a_union_branch_onto_another_is_a_conflict(order: int) -> None:
    reader = record("R", field("u", [record("A", aliases=["B"])]))
    writer = record("R", field("u", [record("A"), record("B")][::order]))
    place = "$.fields[0].type[1]" if order == 1 else "$.fields[0].type[0]"
    assert ("ALIAS_CONFLICT", "$.fields[0].type[0]", place) in find_mismatches(reader, writer)


def test_any_alias_makes_avro_check_all_defaults_of_the_writer() -> None:
    bad = record("R", field("a", "int", default="one"), field("b", INTS, default=[1]))
    assert find_mismatches(record("R", A, field("c", "int", default=1)), bad) == []
    (mismatch,) = unreadable(record("R", A, field("c", "int", default=1, aliases=["nothing"])), bad)
    assert (mismatch.rule, mismatch.reader_path, mismatch.writer_path) == ("INVALID_WRITER_DEFAULT", "$", "$.fields[0]")
    assert mismatch.message.startswith("{reader} has aliases, so Avro checks all defaults of {writer}: ")


def test_the_writers_model_is_left_as_it_was() -> None:
    writer = parsed(record("n.S", field("old", OLD)))
    reader = parsed(record("n.R", field("new", NEW, aliases=["old"]), aliases=["S"]))
    assert resolver.unreadable(reader, writer) == ()
    assert isinstance(writer, Record)
    assert (writer.full_name, writer.fields[0].name) == ("n.S", "old")


def test_a_comparison_of_records_nests_deeper_than_texts_and_pythons_calls_may() -> None:
    def box(definitions: str, value: str) -> dict[str, Any]:
        chain = [record("R0", field("value", value))]
        chain += [record(f"R{number}", field("next", f"R{number - 1}")) for number in range(1, 2_000)]
        return record("Box", field(definitions, ["null", *chain], default=None), field("next", "R1999"))

    [(rule, path, _)] = find_mismatches(box("of_reader", "string"), box("of_writer", "int"))
    assert (rule, path) == ("TYPE_MISMATCH", "$.fields[0].type[1].fields[0].type")
