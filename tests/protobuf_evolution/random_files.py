"""Random protobuf files that a compiler could have written."""

import json
from random import Random
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import (
    EDITION_2023,
    EDITION_2024,
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.message import Message

from support.schemas import protobuf_schemas
from topicschema.core import formats
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Direction

PROTO2, PROTO3, EDITION = "proto2", "proto3", "editions"
F = FieldDescriptorProto
OPTIONAL, REQUIRED, REPEATED = F.LABEL_OPTIONAL, F.LABEL_REQUIRED, F.LABEL_REPEATED
SCALARS = tuple(number for number in F.Type.values() if number not in (F.TYPE_GROUP, F.TYPE_MESSAGE, F.TYPE_ENUM))
NUMBERS = tuple(number for number in SCALARS if number not in (F.TYPE_STRING, F.TYPE_BYTES))
KEYS = tuple(number for number in SCALARS if number not in (F.TYPE_BYTES, F.TYPE_FLOAT, F.TYPE_DOUBLE))
_WORDS = ("order", "item", "buyer", "price", "note", "size", "place", "unit", "code", "rate")


def random_file(random: Random, syntax: str | None = None) -> FileDescriptorProto:
    """Return a file with the messages p.M (the root), p.N, which leads back to it, and p.M.K, and two enums."""
    syntax = syntax or random.choice((PROTO2, PROTO3, EDITION))
    file = FileDescriptorProto(name="m.proto", package="p", syntax=syntax)
    if syntax == EDITION:
        file.edition = random.choice((EDITION_2023, EDITION_2024))
    file.enum_type.append(_enum(random, "E", file))
    root = file.message_type.add(name="M")
    root.enum_type.append(_enum(random, "F", file))
    for message, known in ((root, (".p.N", ".p.M.K", ".p.E")), (file.message_type.add(name="N"), (".p.M", ".p.M.F"))):
        for name in known:
            place(random, file, message, type_name=name)
        _fill_up(random, file, message)
    _fill_up(random, file, root.nested_type.add(name="K"))
    for message in messages(file):
        message.reserved_range.add(start=900, end=910)
        message.reserved_name.append("gone")
    if syntax != PROTO3:
        root.extension_range.add(start=1000, end=1100)
        file.extension.add(name="more", number=1000, type=F.TYPE_INT64, label=OPTIONAL, extendee=".p.M")
    return file


def _enum(random: Random, name: str, file: FileDescriptorProto) -> EnumDescriptorProto:
    made = EnumDescriptorProto(name=name)
    first = random.choice((0, 1)) if file.syntax == PROTO2 and name == "F" else 0  # E is in maps, too
    for number in range(first, first + random.randint(2, 4)):
        made.value.add(name=f"{name}_{number}", number=number)
    if random.random() < 0.4:
        made.options.allow_alias = True
        made.value.add(name=f"{name}_SAME", number=made.value[-1].number)
    made.reserved_range.add(start=900, end=909)
    made.reserved_name.append(f"{name}_GONE")
    return made


def _fill_up(random: Random, file: FileDescriptorProto, message: DescriptorProto) -> None:
    for _ in range(random.randint(3, 7)):
        place(random, file, message)
    if random.random() < 0.6:
        message.oneof_decl.add(name="choice")
        for _ in range(random.randint(1, 3)):
            place(random, file, message, oneof_index=0, label=OPTIONAL)
    if random.random() < 0.6:
        place_map(random, message)
    if file.syntax == PROTO3 and random.random() < 0.5:
        make_optional(message, place(random, file, message, label=OPTIONAL, type=random.choice(SCALARS)))


def place(
    random: Random, file: FileDescriptorProto, message: DescriptorProto, **attributes: Any
) -> FieldDescriptorProto:
    """Add a field. Without an attribute, `type` and `label` are random."""
    number = attributes.pop("number", free_number(random, message))
    field = message.field.add(name=f"{random.choice(_WORDS)}_{number}_x", number=number)
    name = attributes.pop("type_name", None)
    field.type = attributes.pop("type", None) or random.choice(SCALARS)
    if name is not None:
        field.type_name, field.type = name, F.TYPE_ENUM if name[-1] in "EF" else F.TYPE_MESSAGE
    field.label = attributes.pop("label", None) or random.choice((OPTIONAL, OPTIONAL, REPEATED))
    for attribute, value in attributes.items():
        setattr(field, attribute, value)
    may_be_required = field.label == OPTIONAL and not field.HasField("oneof_index") and not field.type_name
    if may_be_required and file.syntax == PROTO2 and random.random() < 0.1:
        field.label = REQUIRED
    if field.label == OPTIONAL and file.syntax != PROTO3 and random.random() < 0.3:
        give_default(random, field)
    if random.random() < 0.2:
        field.json_name = f"j{number}"
    if field.label == REPEATED and field.type in NUMBERS and file.syntax != EDITION:
        field.options.packed = random.random() < 0.5
    return field


def place_map(random: Random, message: DescriptorProto) -> FieldDescriptorProto:
    """Add a map, from a random scalar to another, or to an enum or a message."""
    number = free_number(random, message)
    entry = message.nested_type.add(name=f"Map{number}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=random.choice(KEYS), label=OPTIONAL)
    value = entry.field.add(name="value", number=2, type=random.choice(SCALARS), label=OPTIONAL)
    if random.random() < 0.4:
        value.type, value.type_name = random.choice(((F.TYPE_MESSAGE, ".p.N"), (F.TYPE_ENUM, ".p.E")))
    path = ".p.M.K" if message.name == "K" else f".p.{message.name}"
    return message.field.add(
        name=f"map_{number}", number=number, label=REPEATED, type=F.TYPE_MESSAGE, type_name=f"{path}.{entry.name}"
    )


def make_optional(message: DescriptorProto, field: FieldDescriptorProto) -> None:
    """Proto3's `optional`."""
    message.oneof_decl.add(name=f"_{field.name}")
    field.oneof_index, field.proto3_optional = len(message.oneof_decl) - 1, True


def give_default(random: Random, field: FieldDescriptorProto) -> None:
    """Another default than the field has, if it may have one here."""
    if field.type in (F.TYPE_MESSAGE, F.TYPE_ENUM, F.TYPE_BYTES):
        return
    texts = {F.TYPE_BOOL: ("false", "true"), F.TYPE_STRING: ("", "dear", "near")}.get(field.type, ("0", "7", "3"))
    now = field.default_value or texts[0]
    field.default_value = random.choice([text for text in texts if text != now])


def free_number(random: Random, message: DescriptorProto) -> int:
    """Return a number that no field of the message has, and none ever had."""
    taken = {field.number for field in message.field}
    taken.update(number for each in message.reserved_range for number in range(each.start, min(each.end, 100)))
    return random.choice([number for number in range(1, 100) if number not in taken])


def messages(file: FileDescriptorProto) -> list[DescriptorProto]:
    """Return the messages without the entries of maps."""
    all_messages = list(file.message_type)
    for message in all_messages:
        all_messages.extend(each for each in message.nested_type if not each.options.map_entry)
    return all_messages


def enums(file: FileDescriptorProto) -> list[EnumDescriptorProto]:
    """Return all enums."""
    return [*file.enum_type, *(enum for message in messages(file) for enum in message.enum_type)]


def entry_of(message: DescriptorProto, field: FieldDescriptorProto) -> DescriptorProto | None:
    """Return the type of a map field's entries, or None."""
    name = field.type_name.rpartition(".")[2]
    return next((each for each in message.nested_type if each.name == name and each.options.map_entry), None)


def json_name(field: FieldDescriptorProto) -> str:
    """Return the field's name in JSON."""
    first, *others = field.name.split("_")
    return field.json_name or first + "".join(map(str.capitalize, others))


def parsed(file: FileDescriptorProto) -> ProtobufNativeSchema:
    """Return the file as a schema of ours; p.M is the root."""
    envelope = protobuf_schemas.envelope(FileDescriptorSet(file=[file]), "p.M", file.name)
    schema = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode()))
    assert isinstance(schema, ProtobufNativeSchema)
    return schema


def root(file: FileDescriptorProto) -> type[Message] | None:
    """Return the class of p.M, or None if protobuf does not accept the file."""
    pool = descriptor_pool.DescriptorPool()
    try:
        pool.Add(file)
        descriptor = pool.FindMessageTypeByName("p.M")
    except TypeError:
        return None
    for extension in pool.FindAllExtensions(descriptor):
        message_factory.GetMessageClass(extension.containing_type or descriptor)
    return message_factory.GetMessageClass(descriptor)


def copied(file: FileDescriptorProto) -> FileDescriptorProto:
    """Return a copy of the file."""
    made = FileDescriptorProto()
    made.CopyFrom(file)
    return made


def risk_rules(older: FileDescriptorProto, newer: FileDescriptorProto, direction: Direction) -> set[str]:
    """Return the rules of the risks in a direction, whose reader is the newer file under BACKWARD."""
    schemas = parsed(newer), parsed(older)
    reader, writer = schemas if direction is Direction.BACKWARD else schemas[::-1]
    return {each.rule for each in formats.risks(reader, writer) if each.only_in in (None, direction)}
