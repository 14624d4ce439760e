from typing import Any

import pytest

from support.schemas.avro import enum, field, fixed, found, mapping, parsed, record, unreadable
from topicschema.core.formats.avro.model import Record
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.formats.format import Mismatch

OLD = enum("n.Old", "A")
NEW = enum("n.New", "A", aliases=["Old"])


def test_an_alias_without_a_namespace_has_that_of_its_type() -> None:
    assert found(NEW, OLD) == []
    assert found(["null", NEW], OLD) == []
    assert found({**NEW, "name": "m.New"}, OLD) == [("NAME_MISMATCH", "$", "$")]
    assert found({**NEW, "name": "m.New", "aliases": ["n.Old"]}, OLD) == []


def test_a_field_alias_works_where_the_records_have_the_same_full_name() -> None:
    reader = record("n.R", field("new", "int", aliases=["old"]))
    assert found(reader, record("n.R", field("old", "int"))) == []
    assert found(reader, record("m.R", field("old", "int"))) == [("FIELD_WITHOUT_DEFAULT", "$.fields[0]", "$")]


def test_a_field_alias_works_where_the_record_is_aliased_too() -> None:
    reader = record("n.R", field("new", "int", aliases=["old"]), aliases=["m.S"])
    assert found(reader, record("m.S", field("old", "int"))) == []


def test_of_two_fields_with_the_same_alias_the_last_wins_and_the_other_is_missing() -> None:
    reader = record("R", field("x", "int", aliases=["old"]), field("y", "int", aliases=["old"]))
    assert found(reader, record("R", field("old", "int"))) == [("FIELD_WITHOUT_DEFAULT", "$.fields[0]", "$")]


def test_renaming_a_field_onto_another_is_a_conflict() -> None:
    reader = record("R", field("a", "int", aliases=["b"]))
    (mismatch,) = unreadable(reader, record("R", field("a", "int"), field("b", "int")))
    assert mismatch == Mismatch(
        "ALIAS_CONFLICT",
        "the aliases in {reader} give a field of {writer} the name 'a', which another field beside it has already; "
        "remove the alias",
        "$.fields[0]",
        "$.fields[1]",
    )


@pytest.mark.parametrize("order", [1, -1])
def test_renaming_a_union_branch_onto_another_is_a_conflict(order: int) -> None:
    reader = record("R", field("u", [record("A", aliases=["B"])]))
    writer = record("R", field("u", [record("A"), record("B")][::order]))
    place = "$.fields[0].type[1]" if order == 1 else "$.fields[0].type[0]"
    assert ("ALIAS_CONFLICT", "$.fields[0].type[0]", place) in found(reader, writer)


def test_any_alias_makes_avro_check_all_defaults_of_the_writer() -> None:
    bad = record("R", field("a", "int", default="one"), field("b", {"type": "array", "items": "int"}, default=[1]))
    assert found(record("R", field("a", "int"), field("c", "int", default=1)), bad) == []
    reader = record("R", field("a", "int"), field("c", "int", default=1, aliases=["nothing"]))
    (mismatch,) = unreadable(reader, bad)
    assert (mismatch.rule, mismatch.reader_path, mismatch.writer_path) == ("INVALID_WRITER_DEFAULT", "$", "$.fields[0]")
    assert mismatch.message.startswith("{reader} has aliases, so Avro checks all defaults of {writer}: ")


def test_a_default_that_names_a_field_by_its_old_name_is_refused_once_an_alias_renames_it() -> None:
    inner = record("I", field("old", "int"))
    renamed = record("I", field("new", "int", aliases=["old"]))
    writer = record("R", field("i", inner, default={"old": 1}))
    assert found(record("R", field("i", renamed)), writer) == [("INVALID_WRITER_DEFAULT", "$", "$.fields[0]")]


def test_equal_schemas_are_read_without_looking_at_aliases_or_defaults() -> None:
    writer = record("R", field("a", "int", default="one"))
    assert found({**writer, "aliases": ["S"]}, writer) == []


def test_the_writers_model_is_left_as_it_was() -> None:
    writer = parsed(record("n.S", field("old", OLD)))
    reader = parsed(record("n.R", field("new", NEW, aliases=["old"]), aliases=["S"]))
    assert resolver.unreadable(reader, writer) == ()
    assert isinstance(writer, Record)
    assert (writer.full_name, writer.fields[0].name) == ("n.S", "old")


def test_aliases_work_through_recursion_maps_and_fixed_types() -> None:
    def tree(name: str, value: str, size: dict[str, Any], **rest: Any) -> dict[str, Any]:
        kids = field("kids", mapping([name, size]))
        return record(name, field(value, "int", **({"aliases": ["v"]} if rest else {})), kids, **rest)

    writer = tree("Old", "v", fixed("F", 2))
    assert found(tree("New", "w", fixed("G", 2, aliases=["F"]), aliases=["Old"]), writer) == []
    assert found(tree("New", "w", fixed("G", 2), aliases=["Old"]), writer) == [
        ("NO_UNION_BRANCH", "$.fields[1].type.values", "$.fields[1].type.values[1]")
    ]
