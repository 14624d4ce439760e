"""Changes to a protobuf file as people make them: BREAKING, by the rule that reports them, and HARMLESS.

A step changes the file in place. It returns False if it had nothing to change. It may break other rules, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import NamedTuple, TypeVar

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from protobuf_evolution import random_files
from protobuf_evolution.random_files import EDITION, OPTIONAL, PROTO2, PROTO3, REPEATED, REQUIRED, F

Step = Callable[[Random, FileDescriptorProto], bool]
Place = tuple[DescriptorProto, FieldDescriptorProto]
_Holder = DescriptorProto | EnumDescriptorProto
_EnumChange = Callable[[Random, FileDescriptorProto, EnumDescriptorProto], bool | None]
_Kinds = Mapping["F.Type.ValueType", "F.Type.ValueType"]
T = TypeVar("T")


class At(NamedTuple):
    """A field that a step changes, with its message and its file."""

    random: Random
    file: FileDescriptorProto
    message: DescriptorProto
    field: FieldDescriptorProto


_FieldChange = Callable[[At], bool | None]
_WIDER: _Kinds = {F.TYPE_INT32: F.TYPE_INT64, F.TYPE_UINT32: F.TYPE_UINT64, F.TYPE_SINT32: F.TYPE_SINT64}
_OTHER_SIGN: _Kinds = {
    F.TYPE_INT32: F.TYPE_UINT32,
    F.TYPE_FIXED32: F.TYPE_SFIXED32,
    F.TYPE_UINT64: F.TYPE_INT64,
    F.TYPE_INT64: F.TYPE_BOOL,
    F.TYPE_SFIXED64: F.TYPE_FIXED64,
    F.TYPE_BYTES: F.TYPE_STRING,
    F.TYPE_SINT64: F.TYPE_SINT32,
}
_OTHER_JSON: _Kinds = {F.TYPE_STRING: F.TYPE_BYTES, F.TYPE_BOOL: F.TYPE_INT32, F.TYPE_ENUM: F.TYPE_INT32}
_OTHER_WIRE: _Kinds = {
    F.TYPE_INT32: F.TYPE_SINT32,
    F.TYPE_STRING: F.TYPE_INT64,
    F.TYPE_DOUBLE: F.TYPE_FLOAT,
    F.TYPE_FIXED64: F.TYPE_INT64,
    F.TYPE_MESSAGE: F.TYPE_STRING,
    F.TYPE_FLOAT: F.TYPE_FIXED32,
}


def _one(random: Random, candidates: Iterable[T]) -> T | None:
    listed = list(candidates)
    return random.choice(listed) if listed else None


def _fields(file: FileDescriptorProto) -> list[Place]:
    """Return the fields of all messages, without entries of maps."""
    return [(message, field) for message in random_files.messages(file) for field in message.field]


def _fields_and_entries(file: FileDescriptorProto) -> list[Place]:
    entries = (
        each for message in random_files.messages(file) for each in message.nested_type if each.options.map_entry
    )
    return _fields(file) + [(entry, field) for entry in entries for field in entry.field]


def _is_plain(place: Place) -> bool:
    return place[1].label == OPTIONAL and not place[1].HasField("oneof_index")


def _is_map(place: Place) -> bool:
    return random_files.entry_of(*place) is not None


def _on_field(
    fits: Callable[[Place], bool] = lambda _: True,
    places: Callable[[FileDescriptorProto], list[Place]] = _fields,
    syntaxes: tuple[str, ...] = (PROTO2, PROTO3, EDITION),
) -> Callable[[_FieldChange], Step]:
    """Return the decorator of a change of one field that fits."""

    def decorate(change: _FieldChange) -> Step:
        def step(random: Random, file: FileDescriptorProto) -> bool:
            place = _one(random, filter(fits, places(file)))
            return place is not None and file.syntax in syntaxes and change(At(random, file, *place)) is not False

        return step

    return decorate


def _on_enum(change: _EnumChange) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        enum = _one(random, (each for each in random_files.enums(file) if len(each.value) > 1))
        return enum is not None and change(random, file, enum) is not False

    return step


def retype(field: FieldDescriptorProto, kind: "F.Type.ValueType") -> None:
    for attribute in ("default_value", "type_name"):
        field.ClearField(attribute)
    field.options.ClearField("packed")
    field.type = kind


def _by_type(kinds: _Kinds) -> Step:
    """Return the step by which a field, or the value of a map, gets the type that is beside its own."""

    @_on_field(lambda p: p[1].name != "key" and p[1].type in kinds and not _is_map(p), _fields_and_entries)
    def step(at: At) -> None:
        retype(at.field, kinds[at.field.type])

    return step


@_on_field(_is_map)
def _map_key(at: At) -> bool | None:
    entry = random_files.entry_of(at.message, at.field)
    if entry is None or entry.field[0].type not in _OTHER_SIGN:
        return False
    entry.field[0].type = _OTHER_SIGN[entry.field[0].type]
    return None


@_on_field(lambda place: place[1].type in _OTHER_WIRE and not _is_map(place))
def _reuse(at: At) -> None:
    retype(at.field, _OTHER_WIRE[at.field.type])
    at.field.name = f"other_{at.field.number}"
    at.field.ClearField("json_name")


@_on_field(lambda place: len(place[0].field) > 1 and not place[1].proto3_optional)
def _swap(at: At) -> None:
    other = at.random.choice([each for each in at.message.field if each is not at.field])
    at.field.number, other.number = other.number, at.field.number


@_on_field()
def _renumber(at: At) -> None:
    at.message.reserved_range.add(start=at.field.number, end=at.field.number + 1)
    at.field.number = random_files.free_number(at.random, at.message)


@_on_field()
def _rename(at: At) -> None:
    at.field.name = f"renamed_{at.field.number}"
    at.field.ClearField("json_name")


@_on_field()
def _rename_in_code(at: At) -> None:
    at.field.json_name = random_files.json_name(at.field)
    at.field.name = f"renamed_{at.field.number}"


@_on_field()
def _json_name(at: At) -> None:
    at.field.json_name = f"json{at.field.number}"


def _rename_type(random: Random, file: FileDescriptorProto) -> bool:
    kinds: list[list[_Holder]] = [[*random_files.messages(file)[1:]], [*random_files.enums(file)]]
    holder = _one(random, random.choice(kinds))
    if holder is None:
        return False
    before, holder.name = holder.name, f"{holder.name}2"
    for _, field in _fields_and_entries(file):
        parts = field.type_name.split(".")
        if before in parts[2:]:
            field.type_name = ".".join(holder.name if part == before else part for part in parts)
    return True


@_on_field(lambda p: p[1].type == F.TYPE_MESSAGE and not _is_map(p), syntaxes=(EDITION,))
def _delimited(at: At) -> None:
    at.field.options.features.message_encoding = FeatureSet.DELIMITED


@_on_field(lambda p: p[1].type == F.TYPE_STRING, syntaxes=(EDITION,))
def _unchecked(at: At) -> None:
    at.field.options.features.utf8_validation = FeatureSet.NONE


@_on_field(lambda p: (p[1].label == REPEATED or _is_plain(p)) and not _is_map(p))
def _label(at: At) -> None:
    at.field.label = OPTIONAL if at.field.label == REPEATED else REPEATED
    at.field.ClearField("default_value")
    at.field.options.ClearField("packed")
    at.field.options.ClearField("features")


@_on_field(_is_map)
def _map(at: At) -> None:
    entry = random_files.entry_of(at.message, at.field)
    assert entry is not None
    entry.options.map_entry = False


def _require(random: Random, file: FileDescriptorProto) -> bool:
    if file.syntax == PROTO3:
        return False
    message = random.choice(random_files.messages(file))
    field = random_files.place(random, file, message, label=OPTIONAL, type=random.choice(random_files.SCALARS))
    field.ClearField("default_value")
    if file.syntax == EDITION:
        field.options.features.field_presence = FeatureSet.LEGACY_REQUIRED
    else:
        field.label = REQUIRED
    return True


def _oneof(count: int) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        holders = [
            (message, [f for f in message.field if _is_plain((message, f))]) for message in random_files.messages(file)
        ]
        holder = _one(random, (each for each in holders if len(each[1]) >= count))
        if holder is None or any(field.proto3_optional for field in holder[0].field):
            return False  # real oneofs stand before those of `optional`
        message, fields = holder
        message.oneof_decl.add(name="either")
        for field in random.sample(fields, count):
            field.oneof_index = len(message.oneof_decl) - 1
            field.options.ClearField("features")
        return True

    return step


@_on_field(
    lambda p: _is_plain(p) and p[1].type not in (F.TYPE_MESSAGE, F.TYPE_ENUM) and not p[1].default_value,
    syntaxes=(PROTO3, EDITION),
)
def _presence(at: At) -> None:
    if at.file.syntax == PROTO3:
        random_files.make_optional(at.message, at.field)
    else:
        at.field.options.features.field_presence = FeatureSet.IMPLICIT
        at.field.ClearField("default_value")


@_on_field(
    lambda p: p[1].label == OPTIONAL and p[1].type not in (F.TYPE_MESSAGE, F.TYPE_ENUM, F.TYPE_BYTES),
    syntaxes=(PROTO2, EDITION),
)
def _default(at: At) -> None:
    at.field.options.ClearField("features")
    random_files.give_default(at.random, at.field)


def _drop_field(*, number: bool, name: bool) -> Step:
    @_on_field(lambda p: p[1].label != REQUIRED and not p[1].HasField("oneof_index"))
    def step(at: At) -> None:
        if number:
            at.message.reserved_range.add(start=at.field.number, end=at.field.number + 1)
        if name:
            at.message.reserved_name.append(at.field.name)
        at.message.field.remove(at.field)

    return step


@_on_enum
def _renumber_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool | None:
    value = enum.value[1]
    if sum(each.number == value.number for each in enum.value) > 1:
        return False
    enum.reserved_range.add(start=value.number, end=value.number)
    value.number += 20
    return None


@_on_enum
def _rename_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> None:
    enum.value[random.randrange(2)].name += "_NEW"


@_on_enum
def _drop_alias(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool | None:
    if not enum.options.allow_alias or not enum.value[-1].name.endswith("SAME"):
        return False
    enum.value.pop()
    enum.options.ClearField("allow_alias")
    return None


@_on_enum
def _first_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if file.syntax != PROTO2:
        return False
    values = [*enum.value[1:], enum.value[0]]
    del enum.value[:]
    enum.value.extend(values)
    return values[0].number != values[-1].number


@_on_enum
def _close(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if file.syntax == EDITION:
        enum.options.features.enum_type = FeatureSet.CLOSED
    return file.syntax == EDITION


def _drop_value(*, reserve: bool) -> Step:
    @_on_enum
    def step(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool | None:
        number = enum.value[1].number
        gone = [value for value in enum.value if value.number == number]
        left = [value for value in enum.value if value.number != number]
        defaults = {field.default_value for _, field in _fields_and_entries(file)}
        if not left or defaults & {value.name for value in gone}:
            return False
        del enum.value[:]
        enum.value.extend(left)
        if len({value.number for value in left}) == len(left):
            enum.options.ClearField("allow_alias")
        if reserve:
            enum.reserved_range.add(start=number, end=number)
            enum.reserved_name.extend(value.name for value in gone)
        return None

    return step


def _unreserve(attribute: str) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        holders: list[_Holder] = [*random_files.messages(file), *random_files.enums(file)]
        del getattr(random.choice(holders), attribute)[:]
        return True

    return step


def _close_range(random: Random, file: FileDescriptorProto) -> bool:
    if not file.extension:
        return False
    del file.extension[:]
    del file.message_type[0].extension_range[:]
    return True


def take_numbers(random: Random, first: FileDescriptorProto, file: FileDescriptorProto) -> bool:
    """Take numbers that the first file had or reserved, and the later one does not: a number of each holder."""
    taken = False
    for before, after in _holders(first, file):
        used = {each.number for each in _members(after)}
        reserved = {number for each in after.reserved_range for number in range(each.start, each.end + 1)}
        free = {each.number for each in _members(before)} - used - reserved
        if not free:
            continue
        taken = True
        if isinstance(after, DescriptorProto):
            kind = random.choice(random_files.SCALARS)
            after.field.add(name=f"taken_{min(free)}", number=min(free), type=kind, label=random_files.OPTIONAL)
        else:
            after.value.add(name=f"{after.name}_TAKEN", number=min(free))
    return taken


def take_names(random: Random, first: FileDescriptorProto, file: FileDescriptorProto) -> bool:
    """Take names that the first file had or reserved, and the later one does not, for something else."""
    taken = False
    for before, after in _holders(first, file):
        if not isinstance(after, DescriptorProto):
            continue
        free = {each.name for each in _members(before)} - {each.name for each in after.field} - {*after.reserved_name}
        for name in sorted(free)[:1]:
            number = random_files.free_number(random, after)
            after.field.add(
                name=name, number=number, type=random.choice(random_files.SCALARS), label=random_files.OPTIONAL
            )
            taken = True
    return taken


def _holders(first: FileDescriptorProto, file: FileDescriptorProto) -> Iterator[tuple[_Holder, _Holder]]:
    yield from zip(random_files.messages(first), random_files.messages(file), strict=True)
    yield from zip(random_files.enums(first), random_files.enums(file), strict=True)


def _members(holder: _Holder) -> list[FieldDescriptorProto] | list[EnumValueDescriptorProto]:
    return list(holder.field) if isinstance(holder, DescriptorProto) else list(holder.value)


def _add_field(random: Random, file: FileDescriptorProto) -> bool:
    message = random.choice(random_files.messages(file))
    field = random_files.place(random, file, message, label=random.choice((OPTIONAL, REPEATED)))
    if field.label == REQUIRED:
        field.label = OPTIONAL
    return True


def _add_map(random: Random, file: FileDescriptorProto) -> bool:
    random_files.place_map(random, random.choice(random_files.messages(file)))
    return True


def _add_to_oneof(random: Random, file: FileDescriptorProto) -> bool:
    message = _one(
        random, (each for each in random_files.messages(file) if "choice" in [o.name for o in each.oneof_decl])
    )
    if message is not None:
        random_files.place(random, file, message, oneof_index=0, label=OPTIONAL)
    return message is not None


def _add_message(random: Random, file: FileDescriptorProto) -> bool:
    made = file.message_type.add(name=f"Added{len(file.message_type)}")
    random_files.place(random, file, made)
    random_files.place(random, file, file.message_type[0], type_name=f".p.{made.name}", label=OPTIONAL)
    return True


@_on_enum
def _add_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> None:
    number = max(value.number for value in enum.value) + 1
    enum.value.add(name=f"{enum.name}_ADDED_{number}", number=number)


@_on_enum
def _add_alias(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> None:
    enum.options.allow_alias = True
    enum.value.add(name=f"{enum.name}_ALSO_{len(enum.value)}", number=enum.value[1].number)


def _reorder(random: Random, file: FileDescriptorProto) -> bool:
    message = random.choice(random_files.messages(file))
    fields = list(message.field)
    random.shuffle(fields)
    del message.field[:]
    message.field.extend(fields)
    return True


@_on_field(lambda p: p[1].label == REPEATED and p[1].type in random_files.NUMBERS)
def _pack(at: At) -> None:
    if at.file.syntax == EDITION:
        at.field.options.features.repeated_field_encoding = FeatureSet.EXPANDED
    else:
        at.field.options.packed = not at.field.options.packed


def _reserve(random: Random, file: FileDescriptorProto) -> bool:
    number = random.randrange(500, 600)
    random.choice(random_files.messages(file)).reserved_range.add(start=number, end=number + 1)
    return True


@_on_field()
def _deprecate(at: At) -> None:
    at.field.options.deprecated = True


@_on_field(_is_map)
def _rename_entry(at: At) -> None:
    entry = random_files.entry_of(at.message, at.field)
    assert entry is not None
    entry.name = f"Other{at.field.number}Entry"
    at.field.type_name = f"{at.field.type_name.rpartition('.')[0]}.{entry.name}"


BREAKING: dict[str, tuple[Step, ...]] = {
    "FIELD_NUMBER_REUSED": (_reuse, _swap),
    "FIELD_RENUMBERED": (_renumber, _swap),
    "FIELD_RENAMED": (_rename,),
    "FIELD_RENAMED_IN_CODE": (_rename_in_code,),
    "JSON_NAME_CHANGED": (_json_name,),
    "FIELD_TYPE_CHANGED": (_by_type(_OTHER_WIRE),),
    "FIELD_TYPE_NARROWED": (_by_type(_OTHER_SIGN), _map_key),
    "FIELD_TYPE_CHANGED_IN_JSON": (_by_type(_OTHER_JSON),),
    "FIELD_TYPE_CHANGED_IN_CODE": (_by_type(_WIDER),),
    "FIELD_TYPE_RENAMED": (_rename_type,),
    "FIELD_ENCODING_CHANGED": (_delimited,),
    "UTF8_CHECKED": (_unchecked,),
    "REPEATED_READ_AS_SINGULAR": (_label,),
    "SINGULAR_READ_AS_REPEATED": (_label,),
    "REPEATED_READ_AS_MAP": (_map,),
    "MAP_READ_AS_REPEATED": (_map,),
    "REQUIRED_NOT_WRITTEN": (_require,),
    "ONEOF_MERGED": (_oneof(2),),
    "ONEOF_CHANGED": (_oneof(1),),
    "PRESENCE_CHANGED": (_presence,),
    "DEFAULT_CHANGED": (_default,),
    "ENUM_VALUE_RENUMBERED": (_renumber_value,),
    "ENUM_VALUE_RENAMED": (_rename_value,),
    "ENUM_VALUE_UNKNOWN": (_drop_value(reserve=True),),
    "ENUM_VALUE_REMOVED": (_drop_value(reserve=True),),
    "ENUM_NUMBER_NOT_RESERVED": (_drop_value(reserve=False),),
    "ENUM_ALIAS_REMOVED": (_drop_alias,),
    "ENUM_DEFAULT_CHANGED": (_first_value,),
    "ENUM_CLOSED": (_close,),
    "FIELD_NUMBER_NOT_RESERVED": (_drop_field(number=False, name=True),),
    "FIELD_NAME_NOT_RESERVED": (_drop_field(number=True, name=False),),
    "RESERVED_NUMBER_REMOVED": (_unreserve("reserved_range"),),
    "RESERVED_NAME_REMOVED": (_unreserve("reserved_name"),),
    "EXTENSION_RANGE_REMOVED": (_close_range,),
}
HARMLESS: tuple[Step, ...] = (
    *(_add_field, _add_map, _add_to_oneof, _add_message, _add_value, _add_alias, _reorder, _pack, _reserve),
    *(_deprecate, _rename_entry, _drop_field(number=True, name=True)),
)
