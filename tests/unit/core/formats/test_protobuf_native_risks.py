"""Risks of PROTOBUF_NATIVE, one by one: places, words, directions, and what random files do not bring about."""

import json

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from protobuf_evolution.random_files import OPTIONAL, PROTO2, PROTO3, REPEATED, F, parsed, risk_rules
from support.schemas import protobuf_schemas
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.formats.protobuf_native.risks import MAX_STAND_INS
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy


def order(*fields: tuple[str, int, int], syntax: str = PROTO3) -> FileDescriptorProto:
    """Return the file m.proto with p.M, whose fields have these names, numbers and types."""
    file = FileDescriptorProto(name="m.proto", package="p", syntax=syntax)
    message = file.message_type.add(name="M")
    for name, number, kind in fields:
        message.field.add(name=name, number=number, type=kind, label=OPTIONAL)  # type: ignore[arg-type]
    return file


ID, NOTE = ("id", 1, F.TYPE_INT64), ("note", 2, F.TYPE_STRING)


def schema_of(*files: FileDescriptorProto, root: str = "p.M") -> Schema:
    envelope = protobuf_schemas.envelope(FileDescriptorSet(file=files), root, "m.proto")
    return formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode()))


def risks(
    candidate: FileDescriptorProto, earlier: FileDescriptorProto, strategy: Strategy = Strategy.BACKWARD
) -> tuple[Incompatibility, ...]:
    before = Predecessor(3, SchemaType.PROTOBUF_NATIVE, parsed(earlier))
    assert compatibility.check(parsed(candidate), [before], strategy) == ()
    return compatibility.risks(parsed(candidate), [before], strategy)


def test_a_risk_names_the_field_in_the_candidate_the_effect_and_the_remedy() -> None:
    (risk,) = risks(order(("buyer", 1, F.TYPE_STRING)), order(ID))
    assert (risk.rule, risk.path) == ("FIELD_NUMBER_REUSED", "$.fileDescriptorSet.p.M.buyer")
    assert (risk.direction, risk.schema_version) == (None, 3)
    assert risk.message == (
        "field 1 is id (int64) in version 3 and buyer (string) in the candidate, which reads the one as the other; "
        "a new field takes a number never used before"
    )


@pytest.mark.parametrize("strategy", [each for each in Strategy if each.directions])
def test_a_change_that_breaks_both_ways_is_reported_once(strategy: Strategy) -> None:
    findings = risks(order(("id", 1, F.TYPE_FIXED64)), order(("id", 1, F.TYPE_SFIXED64)), strategy)
    renumbered, *_ = risks(order(("id", 5, F.TYPE_INT64), ("a", 1, F.TYPE_INT64)), order(ID), strategy)
    assert (renumbered.rule, renumbered.direction) == ("FIELD_RENUMBERED", None)
    assert [each.direction for each in findings] == list(strategy.directions)


@pytest.mark.parametrize("strategy", [each for each in Strategy if each.directions])
def test_a_removal_without_a_reservation_is_reported_in_every_direction_once_and_an_addition_is_not(
    strategy: Strategy,
) -> None:
    (risk,) = risks(order(ID), order(ID, NOTE), strategy)
    assert (risk.rule, risk.path, risk.direction) == ("FIELD_NUMBER_NOT_RESERVED", "$.fileDescriptorSet.p.M", None)
    assert risk.message == (
        "version 3 has note = 2, the candidate does not, nor does it reserve the number, which a later field may take "
        "for something else; add: reserved 2;"
    )
    assert risks(order(ID, NOTE), order(ID), strategy) == ()


def test_risks_come_in_the_order_of_the_numbers_and_the_root_message_before_what_it_holds() -> None:
    def file(kind: int) -> FileDescriptorProto:
        made = order(("z", 1, kind), ("y", 9, kind), ("x", 3, kind))
        inner = made.message_type.add(name="N")
        inner.field.add(name="w", number=1, type=kind, label=OPTIONAL)  # type: ignore[arg-type]
        made.message_type[0].field.add(name="n", number=2, type=F.TYPE_MESSAGE, type_name=".p.N", label=OPTIONAL)
        return made

    findings = risks(file(F.TYPE_BYTES), file(F.TYPE_STRING))
    assert [each.path.removeprefix("$.fileDescriptorSet.p.") for each in findings] == ["M.z", "M.x", "M.y", "N.w"]


def test_a_risk_of_a_map_names_its_key_or_its_value() -> None:
    def file(key: int, value: int) -> FileDescriptorProto:
        made = order()
        entry = made.message_type[0].nested_type.add(name="SizesEntry")
        entry.options.map_entry = True
        for number, name, kind in ((1, "key", key), (2, "value", value)):
            entry.field.add(name=name, number=number, type=kind, label=OPTIONAL)  # type: ignore[arg-type]
        sizes = made.message_type[0].field.add(name="sizes", number=1, label=REPEATED, type_name=".p.M.SizesEntry")
        sizes.type = F.TYPE_MESSAGE
        return made

    findings = risks(file(F.TYPE_INT32, F.TYPE_STRING), file(F.TYPE_STRING, F.TYPE_INT32))
    assert {(each.rule, each.path) for each in findings} == {("FIELD_TYPE_CHANGED", "$.fileDescriptorSet.p.M.sizes")}
    assert [each.message[:14] for each in findings] == ["the key of siz", "the value of s"]


def test_a_json_name_that_a_later_field_has_taken_is_reported_if_the_earlier_field_is_gone() -> None:
    earlier, candidate = order(ID, NOTE), order(ID, ("text", 3, F.TYPE_STRING))
    candidate.message_type[0].reserved_range.add(start=2, end=3)
    candidate.message_type[0].reserved_name.append("note")
    candidate.message_type[0].field[1].json_name = "note"
    (risk,) = risks(candidate, earlier)
    assert (risk.rule, risk.path) == ("JSON_NAME_CHANGED", "$.fileDescriptorSet.p.M.text")


def circle(length: int, name: str) -> FileDescriptorProto:
    """p.M, and messages that lead to each other in a circle."""
    file = order()
    for index in range(length):
        message = file.message_type.add(name=f"{name}{index}")
        message.field.add(
            name="next", number=1, type=F.TYPE_MESSAGE, label=OPTIONAL, type_name=f".p.{name}{(index + 1) % length}"
        )
    file.message_type[0].field.add(name="next", number=1, type=F.TYPE_MESSAGE, label=OPTIONAL, type_name=f".p.{name}0")
    return file


def test_circles_of_messages_under_other_names_end() -> None:
    findings = formats.risks(parsed(circle(900, "A")), parsed(circle(901, "B")))  # 810,900 pairs
    assert {each.rule for each in findings} == {"FIELD_TYPE_RENAMED"}
    assert len(findings) == MAX_STAND_INS + 1


def test_equal_files_in_another_envelope_are_no_risk() -> None:
    other = FileDescriptorProto(name="a.proto", package="q")
    using = order(ID)
    using.dependency.append("a.proto")
    one, other_way = schema_of(other, using), schema_of(using, other)
    assert one.info != other_way.info
    assert formats.risks(one, other_way) == ()


def test_another_root_message_is_the_brokers_matter() -> None:
    other = order(("id", 1, F.TYPE_STRING))
    other.package = "q"
    assert formats.risks(schema_of(other, root="q.M"), parsed(order(ID))) == ()


def typed(kind: int, name: str = "", syntax: str = PROTO3) -> FileDescriptorProto:
    """p.M with a field of that type; there are an enum p.E with 0 and 1, and the messages p.N and p.M.G."""
    file = FileDescriptorProto(name="m.proto", package="p", syntax=syntax)
    field = file.message_type.add(name="M").field.add(name="f", number=1, type=kind, label=OPTIONAL)  # type: ignore[arg-type]
    file.message_type.add(name="N")
    file.message_type[0].nested_type.add(name="G")
    enum = file.enum_type.add(name="E")
    enum.value.add(name="A", number=0)
    enum.value.add(name="B", number=1)
    if name:
        field.type_name = name
    return file


CHANGED, NARROWED = "FIELD_TYPE_CHANGED", "FIELD_TYPE_NARROWED"
IN_JSON, IN_CODE = "FIELD_TYPE_CHANGED_IN_JSON", "FIELD_TYPE_CHANGED_IN_CODE"
ENUM, MESSAGE = (F.TYPE_ENUM, ".p.E"), (F.TYPE_MESSAGE, ".p.N")


@pytest.mark.parametrize(
    ("one", "other", "forth", "back"),
    [
        ((F.TYPE_INT32,), (F.TYPE_INT64,), IN_CODE, NARROWED),
        ((F.TYPE_INT32,), (F.TYPE_UINT64,), NARROWED, NARROWED),
        ((F.TYPE_UINT32,), (F.TYPE_INT64,), IN_CODE, NARROWED),
        ((F.TYPE_BOOL,), (F.TYPE_UINT32,), IN_JSON, NARROWED),
        ((F.TYPE_BOOL,), ENUM, IN_JSON, NARROWED),
        (ENUM, (F.TYPE_INT32,), IN_JSON, IN_CODE),
        (ENUM, (F.TYPE_UINT32,), NARROWED, NARROWED),
        ((F.TYPE_SINT32,), (F.TYPE_SINT64,), IN_CODE, NARROWED),
        ((F.TYPE_SINT32,), (F.TYPE_INT32,), CHANGED, CHANGED),
        ((F.TYPE_FIXED32,), (F.TYPE_SFIXED32,), NARROWED, NARROWED),
        ((F.TYPE_FIXED32,), (F.TYPE_FLOAT,), CHANGED, CHANGED),
        ((F.TYPE_FLOAT,), (F.TYPE_DOUBLE,), CHANGED, CHANGED),
        ((F.TYPE_STRING,), (F.TYPE_BYTES,), IN_JSON, NARROWED),
        (MESSAGE, (F.TYPE_BYTES,), IN_JSON, NARROWED),
        (MESSAGE, (F.TYPE_STRING,), CHANGED, CHANGED),
        (MESSAGE, ENUM, CHANGED, CHANGED),
    ],
)
def test_a_changed_type_is_judged_by_the_values_that_the_reader_holds(
    one: tuple[int], other: tuple[int], forth: str, back: str
) -> None:
    assert risk_rules(typed(*one), typed(*other), Direction.BACKWARD) == {forth}
    assert risk_rules(typed(*one), typed(*other), Direction.FORWARD) == {back}


def test_a_closed_enum_holds_its_own_numbers_only() -> None:
    def closed(kind: int, name: str = "") -> FileDescriptorProto:
        return typed(kind, name, PROTO2)

    number, truth = closed(F.TYPE_INT32), closed(F.TYPE_BOOL)
    assert risk_rules(number, closed(*ENUM), Direction.BACKWARD) == {NARROWED}
    assert risk_rules(closed(*ENUM), closed(F.TYPE_UINT64), Direction.BACKWARD) == {IN_JSON}
    assert risk_rules(truth, closed(*ENUM), Direction.BACKWARD) == {IN_JSON}
    assert risk_rules(closed(*ENUM), truth, Direction.BACKWARD) == {IN_JSON}


def test_a_well_known_type_has_a_json_of_its_own() -> None:
    def file(name: str) -> FileDescriptorProto:
        made = FileDescriptorProto(name="m.proto", package="p", syntax=PROTO3, dependency=["w.proto"])
        field = made.message_type.add(name="M").field.add(name="at", number=1, type_name=name, label=OPTIONAL)
        field.type = F.TYPE_MESSAGE
        return made

    known = FileDescriptorProto(name="w.proto", package="google.protobuf", syntax=PROTO3)
    known.message_type.add(name="Timestamp")
    known.message_type.add(name="Other")
    schemas = [schema_of(known, file(f".google.protobuf.{name}")) for name in ("Timestamp", "Other")]
    assert [each.rule for each in formats.risks(*schemas)] == [IN_JSON]
