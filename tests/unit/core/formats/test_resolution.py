from collections.abc import Callable
from typing import Any

import pytest

from support.schemas.avro import array, enum, field, fixed, found, mapping, record, unreadable
from topicschema.core.formats.format import Mismatch

KINDS = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
PROMOTIONS = {
    ("int", "long"), ("int", "float"), ("int", "double"), ("long", "float"), ("long", "double"), ("float", "double"),
    ("string", "bytes"), ("bytes", "string"),
}  # fmt: skip


@pytest.mark.parametrize("reader", KINDS)
@pytest.mark.parametrize("writer", KINDS)
def test_a_primitive_is_read_by_its_own_kind_and_by_those_it_is_promoted_to(writer: str, reader: str) -> None:
    readable = writer == reader or (writer, reader) in PROMOTIONS
    assert found(reader, writer) == ([] if readable else [("TYPE_MISMATCH", "$", "$")])
    assert found([reader], writer) == ([] if readable else [("NO_UNION_BRANCH", "$", "$")])
    assert found(reader, [writer]) == ([] if readable else [("UNION_BRANCH_UNREADABLE", "$", "$[0]")])


def test_logical_types_do_not_count() -> None:
    assert found({"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"}) == []


def test_a_type_mismatch_is_found_at_any_depth_and_names_the_field() -> None:
    reader = record("R", field("x", array(mapping(record("I", field("amount", "int"))))))
    writer = record("R", field("w", "null"), field("x", array(mapping(record("I", field("amount", "long"))))))
    (mismatch,) = unreadable(reader, writer)
    assert mismatch == Mismatch(
        "TYPE_MISMATCH",
        "field 'amount': {writer} has long where {reader} has int, which cannot read it",
        "$.fields[0].type.items.values.fields[0].type",
        "$.fields[1].type.items.values.fields[0].type",
    )


def test_an_array_is_no_map_and_no_record() -> None:
    assert found(array("int"), mapping("int")) == [("TYPE_MISMATCH", "$", "$")]
    assert found(record("R"), array("int")) == [("TYPE_MISMATCH", "$", "$")]
    assert found([mapping("int")], array("int")) == [("NO_UNION_BRANCH", "$", "$")]


def test_elements_and_values_follow_the_rules_too() -> None:
    assert found(array("long"), array("int")) == []
    assert found(array("int"), array("long")) == [("TYPE_MISMATCH", "$.items", "$.items")]
    assert found(["null", mapping("int")], mapping("long")) == [("TYPE_MISMATCH", "$[1].values", "$.values")]


def test_a_fixed_needs_the_simple_name_and_the_size() -> None:
    assert found(fixed("n.F", 2), fixed("m.F", 2)) == []
    assert found(fixed("F", 2), fixed("G", 2)) == [("NAME_MISMATCH", "$", "$")]
    (mismatch,) = unreadable(fixed("F", 4), fixed("F", 2))
    assert (mismatch.rule, mismatch.reader_path, mismatch.writer_path) == ("FIXED_SIZE", "$", "$")
    assert mismatch.message == "fixed 'F' has 2 bytes in {writer} and 4 in {reader}; a size cannot change"
    assert found(["null", fixed("F", 4)], fixed("F", 2)) == [("FIXED_SIZE", "$[1]", "$")]


def test_an_enum_needs_the_simple_name_and_its_symbols_are_not_compared() -> None:
    assert found(enum("n.E", "A"), enum("E", "A", "B")) == []
    (mismatch,) = unreadable(enum("E", "A"), enum("F", "A"))
    assert mismatch.rule == "NAME_MISMATCH"
    assert mismatch.message == (
        "{writer} has enum 'F' where {reader} has enum 'E'; give the reader's the same name, "
        "or the writer's name as an alias"
    )


def test_inside_a_union_an_enum_and_a_fixed_need_the_full_name() -> None:
    assert found(["null", enum("n.E", "A")], enum("E", "A")) == [("NO_UNION_BRANCH", "$", "$")]
    assert found(["null", enum("n.E", "A")], enum("n.E", "B")) == []
    assert found(["null", fixed("n.F", 1)], fixed("F", 1)) == [("NO_UNION_BRANCH", "$", "$")]


def test_records_are_compared_whatever_their_names() -> None:
    assert found(record("n.New"), record("Old", field("x", "int"))) == []
    assert found(record("R"), {**record("R"), "type": "error"}) == []


def test_a_field_only_the_writer_has_is_skipped_and_order_does_not_count() -> None:
    writer = record("R", field("a", "int"), field("b", "string"), field("c", "int"))
    assert found(record("R", field("c", "long"), field("a", "int")), writer) == []


def test_a_field_only_the_reader_has_needs_a_default_and_names_are_case_sensitive() -> None:
    (mismatch,) = unreadable(
        record("R", field("a", "int"), field("Id", "int")), record("R", field("id", "int"), field("a", "int"))
    )
    assert mismatch == Mismatch(
        "FIELD_WITHOUT_DEFAULT",
        "field 'Id' of {reader} is not in {writer} (record 'R') and has no default; give it a default",
        "$.fields[1]",
        "$",
    )
    assert found(record("R", field("a", ["null", "int"], default=None)), record("R")) == []
    assert found(record("R", field("a", enum("E", "A", default="A"))), record("R")) == [
        ("FIELD_WITHOUT_DEFAULT", "$.fields[0]", "$")
    ]


def test_all_mismatches_are_told_in_the_readers_field_order() -> None:
    reader = record("R", field("d", "int"), field("b", "int"), field("z", array("int")), field("a", "int"))
    writer = record("R", field("a", "string"), field("b", "null"), field("z", array("boolean")))
    assert found(reader, writer) == [
        ("FIELD_WITHOUT_DEFAULT", "$.fields[0]", "$"),
        ("TYPE_MISMATCH", "$.fields[1].type", "$.fields[1].type"),
        ("TYPE_MISMATCH", "$.fields[2].type.items", "$.fields[2].type.items"),
        ("TYPE_MISMATCH", "$.fields[3].type", "$.fields[0].type"),
    ]


def test_two_types_that_meet_at_several_places_are_told_of_once() -> None:
    reader = record("R", field("a", record("I", field("x", "int"))), field("b", "I"), field("c", array("I")))
    writer = record("R", field("a", record("I", field("x", "string"))), field("b", "I"), field("c", array("I")))
    assert found(reader, writer) == [
        ("TYPE_MISMATCH", "$.fields[0].type.fields[0].type", "$.fields[0].type.fields[0].type")
    ]


def test_a_message_holds_no_more_of_a_name_than_a_person_reads() -> None:
    (mismatch,) = unreadable(record("R", field("x" * 500, "int")), record("R"))
    assert len(mismatch.message) < 200


@pytest.mark.parametrize("around", [array, mapping])
def test_a_mismatch_under_450_levels_is_found_without_a_stack(around: Callable[[Any], Any]) -> None:
    reader: Any = "int"
    writer: Any = "long"
    for _ in range(450):
        reader, writer = around(reader), around(writer)
    (mismatch,) = unreadable(reader, writer)
    assert (mismatch.rule, mismatch.reader_path.count(".")) == ("TYPE_MISMATCH", 450)
