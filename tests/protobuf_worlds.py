"""Random protobuf files that a compiler could have written, random messages of them, and what a reader makes of those.

google.protobuf's dynamic messages are the judge here: nothing of ours is asked.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.message import DecodeError, Message

import protobuf_schemas
from topicschema.core import formats
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import SchemaInfo, SchemaType

PROTO2, PROTO3, EDITION = "proto2", "proto3", "editions"
F = FieldDescriptorProto
OPTIONAL, REQUIRED, REPEATED = F.LABEL_OPTIONAL, F.LABEL_REQUIRED, F.LABEL_REPEATED
SCALARS = tuple(number for number in range(1, 19) if number not in (F.TYPE_GROUP, F.TYPE_MESSAGE, F.TYPE_ENUM))
NUMBERS = tuple(number for number in SCALARS if number not in (F.TYPE_STRING, F.TYPE_BYTES))
KEYS = tuple(number for number in SCALARS if number not in (F.TYPE_BYTES, F.TYPE_FLOAT, F.TYPE_DOUBLE))
_WORDS = ("order", "item", "buyer", "price", "note", "size", "place", "unit", "code", "rate")
_TEXTS = ("", "a", "été", "0", "true", "x" * 200)
_BYTES = (b"", b"a", b"\x00\xff\xfe", b"\xc3\xa9", b"\x08\x96\x01")
_INTEGERS = (0, 1, 2, 3, -1, -2, 127, 128, 1 << 31, (1 << 31) - 1, -(1 << 31), (1 << 32) - 1, 1 << 32)
_WIDE = (1 << 62, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1)
_FLOATS = (0.0, -0.0, 1.5, -2.0, float("inf"), float("nan"), 1e30)


def world(random: Random, syntax: str | None = None) -> FileDescriptorProto:
    """A file with the messages p.M (the root), p.N, which leads back to it, and p.M.K, and two enums."""
    syntax = syntax or random.choice((PROTO2, PROTO3, EDITION))
    file = FileDescriptorProto(name="m.proto", package="p", syntax=syntax)
    if syntax == EDITION:
        file.edition = random.choice((1000, 1001))
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


def place(random: Random, file: FileDescriptorProto, message: DescriptorProto, **wanted: Any) -> FieldDescriptorProto:
    """A field is added; `type` and `label` are random where they are not wanted."""
    number = wanted.pop("number", free_number(random, message))
    field = message.field.add(name=f"{random.choice(_WORDS)}_{number}_x", number=number)
    name = wanted.pop("type_name", None)
    field.type = wanted.pop("type", None) or random.choice(SCALARS)
    if name is not None:
        field.type_name, field.type = name, F.TYPE_ENUM if name[-1] in "EF" else F.TYPE_MESSAGE
    field.label = wanted.pop("label", None) or random.choice((OPTIONAL, OPTIONAL, REPEATED))
    for attribute, value in wanted.items():
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
    """A map is added, from a random scalar to another, or to an enum or a message."""
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
    """A number that no field of the message has, and none ever had."""
    taken = {field.number for field in message.field}
    taken.update(number for each in message.reserved_range for number in range(each.start, min(each.end, 100)))
    return random.choice([number for number in range(1, 100) if number not in taken])


def messages(file: FileDescriptorProto) -> list[DescriptorProto]:
    """The messages but for the entries of maps."""
    found = list(file.message_type)
    for message in found:
        found.extend(each for each in message.nested_type if not each.options.map_entry)
    return found


def enums(file: FileDescriptorProto) -> list[EnumDescriptorProto]:
    """All of them."""
    return [*file.enum_type, *(enum for message in messages(file) for enum in message.enum_type)]


def entry_of(message: DescriptorProto, field: FieldDescriptorProto) -> DescriptorProto | None:
    """The type of a map field's entries, or None."""
    name = field.type_name.rpartition(".")[2]
    return next((each for each in message.nested_type if each.name == name and each.options.map_entry), None)


def json_name(field: FieldDescriptorProto) -> str:
    """What the field is called in JSON."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(FileDescriptorProto(name="n", message_type=[DescriptorProto(name="N", field=[_bare(field)])]))
    return str(pool.FindMessageTypeByName("N").fields[0].json_name)


def _bare(field: FieldDescriptorProto) -> FieldDescriptorProto:
    named = F(name=field.name, number=1, type=F.TYPE_INT32, label=OPTIONAL)
    if field.HasField("json_name"):
        named.json_name = field.json_name
    return named


def parsed(file: FileDescriptorProto) -> ProtobufNativeSchema:
    """The file as a schema of ours; p.M is the root."""
    envelope = protobuf_schemas.envelope(FileDescriptorSet(file=[file]), "p.M", file.name)
    found = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode()))
    assert isinstance(found, ProtobufNativeSchema)
    return found


def root(file: FileDescriptorProto) -> type[Message] | None:
    """The class of p.M, or None where protobuf does not take the file."""
    pool = descriptor_pool.DescriptorPool()
    try:
        pool.Add(file)
        found = pool.FindMessageTypeByName("p.M")
    except TypeError:
        return None
    for extension in pool.FindAllExtensions(found):
        message_factory.GetMessageClass(extension.containing_type)
    return message_factory.GetMessageClass(found)


Knows = Callable[[str, int], bool]


def filled(random: Random, kind: type[Message], knows: Knows = lambda *_: True) -> Message:
    """A random message; an enum's number is only taken where `knows` it (asked with the enum's name)."""
    message = kind()
    _fill(random, message, 3, knows)
    return message


def _fill(random: Random, message: Message, depth: int, knows: Knows) -> None:
    for field in _fields(message.DESCRIPTOR):
        if not field.is_required and random.random() < 0.3:
            continue
        if field.is_repeated:
            _fill_list(random, message, field, depth, knows)
        elif field.message_type is not None:
            if depth or field.is_required:
                inner = getattr(message, field.name)
                inner.SetInParent()
                _fill(random, inner, depth - 1, knows)
        elif field.is_extension:
            message.Extensions[field] = _scalar(random, field, knows)
        else:
            setattr(message, field.name, _scalar(random, field, knows))


def _fill_list(random: Random, message: Message, field: FieldDescriptor, depth: int, knows: Knows) -> None:
    target = getattr(message, field.name)
    kind = field.message_type
    for _ in range(random.randint(0, 3)):
        if kind is None:
            target.append(_scalar(random, field, knows))
        elif not is_map(field):
            if depth:
                _fill(random, target.add(), depth - 1, knows)
        else:
            key, value = kind.fields_by_number[1], kind.fields_by_number[2]
            at = _scalar(random, key, knows)
            if value.message_type is None:
                target[at] = _scalar(random, value, knows)
            elif depth:
                _fill(random, target[at], depth - 1, knows)


def _scalar(random: Random, field: FieldDescriptor, knows: Knows) -> Any:
    if field.enum_type is not None:
        known = [value.number for value in field.enum_type.values if knows(field.enum_type.full_name, value.number)]
        strange = [] if field.enum_type.is_closed else [77]
        return random.choice([*(known or [field.default_value]), *strange])
    if field.type == F.TYPE_STRING:
        return random.choice(_TEXTS)
    if field.type == F.TYPE_BYTES:
        return random.choice(_BYTES)
    if field.type in (F.TYPE_FLOAT, F.TYPE_DOUBLE):
        return random.choice(_FLOATS)
    if field.type == F.TYPE_BOOL:
        return random.random() < 0.5
    low, high = _RANGES[field.type]
    return random.choice([each for each in (*_INTEGERS, *_WIDE) if low <= each <= high])


_RANGES = {
    **dict.fromkeys((F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), (-(1 << 31), (1 << 31) - 1)),
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), (-(1 << 63), (1 << 63) - 1)),
    **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), (0, (1 << 32) - 1)),
    **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), (0, (1 << 64) - 1)),
}


def is_map(field: FieldDescriptor) -> bool:
    """Whether the field is a map."""
    return field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry


def _fields(kind: Descriptor) -> list[FieldDescriptor]:
    extensions = kind.file.pool.FindAllExtensions(kind)
    return [*kind.fields, *(each for each in extensions if not each.is_repeated)]


def on_the_wire(written: Message, reader: type[Message]) -> Message | None:
    """The message as the reader has it, or None where it refuses the bytes."""
    found = reader()
    try:
        found.ParseFromString(written.SerializePartialToString(deterministic=True))
    except DecodeError:
        return None
    return found if found.IsInitialized() or not written.IsInitialized() else None


def in_json(written: Message, reader: type[Message]) -> Message | None:
    """The message as the reader has it of the writer's JSON; what it does not know it ignores."""
    text = json_format.MessageToJson(written, descriptor_pool=written.DESCRIPTOR.file.pool)
    found = reader()
    try:
        json_format.Parse(text, found, ignore_unknown_fields=True, descriptor_pool=reader.DESCRIPTOR.file.pool)
    except json_format.ParseError:
        return None
    return found


def losses(read: Message, written: Message) -> Iterator[str]:
    """The fields that both have, by number, and whose values differ."""
    known = {field.number: field for field in _fields(read.DESCRIPTOR)}
    for field in _fields(written.DESCRIPTOR):
        other = known.get(field.number)
        if other is None:
            continue
        if not _are_alike((read, other), (written, field)):
            yield field.full_name


_Place = tuple[Message, FieldDescriptor]


def _are_alike(read: _Place, written: _Place) -> bool:
    if read[1].has_presence and written[1].has_presence and _is_set(*read) != _is_set(*written):
        return False
    values, before = _values(*read), _values(*written)
    if read[1].is_repeated and not written[1].is_repeated:
        before = before if _is_sent(*written) else []
    elif written[1].is_repeated and not read[1].is_repeated:
        values = values if _is_sent(*read) else []
    return len(values) == len(before) and all(_is_value(one, other) for one, other in zip(values, before, strict=True))


def _is_set(message: Message, field: FieldDescriptor) -> bool:
    return message.HasExtension(field) if field.is_extension else message.HasField(field.name)


def _is_sent(message: Message, field: FieldDescriptor) -> bool:
    return _is_set(message, field) if field.has_presence else any(each is field for each, _ in message.ListFields())


def _values(message: Message, field: FieldDescriptor) -> list[Any]:
    value = message.Extensions[field] if field.is_extension else getattr(message, field.name)
    if is_map(field):
        return [(key, value[key]) for key in sorted(value, key=repr)]
    if field.is_repeated and field.message_type is not None and _is_pair(field.message_type):
        return sorted(((each.key, each.value) for each in value), key=lambda pair: repr(pair[0]))
    if field.is_repeated:
        return list(value)
    return [value] if field.message_type is None or _is_set(message, field) else []


def _is_pair(kind: Descriptor) -> bool:
    return [field.name for field in kind.fields] == ["key", "value"]


def _is_value(read: Any, written: Any) -> bool:
    if isinstance(written, tuple):
        return isinstance(read, tuple) and all(map(_is_value, read, written))
    if isinstance(written, Message) and isinstance(read, Message):
        return next(losses(read, written), None) is None
    read, written = (
        each.encode()
        if isinstance(each, str)
        else each.SerializePartialToString(deterministic=True)
        if isinstance(each, Message)
        else each
        for each in (read, written)
    )
    return read == written or repr(read) == repr(written)  # NaN
