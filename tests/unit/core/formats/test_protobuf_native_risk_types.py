"""Risks of PROTOBUF_NATIVE: one type after another, and what the reader's type makes of the writer's values."""

import json

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from protobuf_evolution.worlds import OPTIONAL, PROTO2, PROTO3, F, told
from support.schemas import protobuf_schemas
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Direction


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
    assert told(typed(*one), typed(*other), Direction.BACKWARD) == {forth}
    assert told(typed(*one), typed(*other), Direction.FORWARD) == {back}


def test_a_closed_enum_holds_its_own_numbers_only() -> None:
    def closed(kind: int, name: str = "") -> FileDescriptorProto:
        return typed(kind, name, PROTO2)

    number, truth = closed(F.TYPE_INT32), closed(F.TYPE_BOOL)
    assert told(number, closed(*ENUM), Direction.BACKWARD) == {NARROWED}
    assert told(closed(*ENUM), closed(F.TYPE_UINT64), Direction.BACKWARD) == {IN_JSON}
    assert told(truth, closed(*ENUM), Direction.BACKWARD) == {IN_JSON}
    assert told(closed(*ENUM), truth, Direction.BACKWARD) == {IN_JSON}


def test_a_group_is_looked_for_otherwise_than_a_message() -> None:
    group = typed(F.TYPE_GROUP, ".p.M.G", PROTO2)
    message = typed(F.TYPE_MESSAGE, ".p.M.G", PROTO2)
    assert told(group, message, Direction.BACKWARD) == {"FIELD_ENCODING_CHANGED"}
    assert told(group, typed(F.TYPE_BYTES, syntax=PROTO2), Direction.BACKWARD) == {CHANGED}


def test_a_well_known_type_has_a_json_of_its_own() -> None:
    def file(name: str) -> FileDescriptorProto:
        made = FileDescriptorProto(name="m.proto", package="p", syntax=PROTO3, dependency=["w.proto"])
        field = made.message_type.add(name="M").field.add(name="at", number=1, type_name=name, label=OPTIONAL)
        field.type = F.TYPE_MESSAGE
        return made

    known = FileDescriptorProto(name="w.proto", package="google.protobuf", syntax=PROTO3)
    known.message_type.add(name="Timestamp")
    known.message_type.add(name="Other")
    schemas = [
        formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode()))
        for name in ("Timestamp", "Other")
        for files in ([known, file(f".google.protobuf.{name}")],)
        for envelope in [protobuf_schemas.envelope(FileDescriptorSet(file=files), "p.M", "m.proto")]
    ]
    assert [each.rule for each in formats.risks(*schemas)] == [IN_JSON]
