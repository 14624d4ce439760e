"""Changes to a protobuf file as people make them: BREAKING by the rule that speaks of them, and those that harm nobody.

A step changes the file in place and says whether it found something to change.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import TypeVar

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)

import protobuf_worlds as worlds
from protobuf_worlds import EDITION, OPTIONAL, PROTO2, PROTO3, REPEATED, REQUIRED, F

Step = Callable[[Random, FileDescriptorProto], bool]
_Place = tuple[DescriptorProto, FieldDescriptorProto]
_WIDER = {F.TYPE_INT32: F.TYPE_INT64, F.TYPE_UINT32: F.TYPE_UINT64, F.TYPE_SINT32: F.TYPE_SINT64}
_OTHER_SIGN = {
    F.TYPE_INT32: F.TYPE_UINT32,
    F.TYPE_FIXED32: F.TYPE_SFIXED32,
    F.TYPE_UINT64: F.TYPE_INT64,
    F.TYPE_INT64: F.TYPE_BOOL,
    F.TYPE_SFIXED64: F.TYPE_FIXED64,
    F.TYPE_BYTES: F.TYPE_STRING,
    F.TYPE_SINT64: F.TYPE_SINT32,
}
_OTHER_JSON = {F.TYPE_STRING: F.TYPE_BYTES, F.TYPE_BOOL: F.TYPE_INT32, F.TYPE_ENUM: F.TYPE_INT32}
_OTHER_WIRE = {
    F.TYPE_INT32: F.TYPE_SINT32,
    F.TYPE_STRING: F.TYPE_INT64,
    F.TYPE_DOUBLE: F.TYPE_FLOAT,
    F.TYPE_FIXED64: F.TYPE_INT64,
    F.TYPE_MESSAGE: F.TYPE_STRING,
    F.TYPE_FLOAT: F.TYPE_FIXED32,
}
T = TypeVar("T")


def _one(random: Random, found: Iterable[T]) -> T | None:
    listed = list(found)
    return random.choice(listed) if listed else None


def _field(random: Random, file: FileDescriptorProto, wanted: Callable[[_Place], bool]) -> _Place | None:
    places = [(message, field) for message in worlds.messages(file) for field in message.field]
    return _one(random, filter(wanted, places))


def _is_plain(place: _Place) -> bool:
    _, field = place
    return field.label == OPTIONAL and not field.HasField("oneof_index")


def _is_map(place: _Place) -> bool:
    return worlds.entry_of(*place) is not None


def _retype(field: FieldDescriptorProto, kind: int) -> None:
    for attribute in ("default_value", "type_name"):
        field.ClearField(attribute)
    field.options.ClearField("packed")
    field.type = kind


def _by_type(kinds: dict[int, int]) -> Step:
    """A field, or the value of a map, gets the type that is beside its own."""

    def step(random: Random, file: FileDescriptorProto) -> bool:
        holders = [
            (message, field)
            for outer in worlds.messages(file)
            for message in (outer, *(each for each in outer.nested_type if each.options.map_entry))
            for field in message.field
            if field.name != "key"
        ]
        found = _one(random, ((m, f) for m, f in holders if f.type in kinds and not _is_map((m, f))))
        if found:
            _retype(found[1], kinds[found[1].type])
        return found is not None

    return step


def _map_key(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, _is_map)
    entry = worlds.entry_of(*found) if found else None
    if entry is None or entry.field[0].type not in _OTHER_SIGN:
        return False
    entry.field[0].type = _OTHER_SIGN[entry.field[0].type]
    return True


def _reuse(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda place: place[1].type in _OTHER_WIRE and not _is_map(place))
    if found:
        _retype(found[1], _OTHER_WIRE[found[1].type])
        found[1].name = f"other_{found[1].number}"
        found[1].ClearField("json_name")
    return found is not None


def _swap(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda place: len(place[0].field) > 1 and not place[1].proto3_optional)
    other = found and _one(random, (each for each in found[0].field if each is not found[1]))
    if not found or not other:
        return False
    found[1].number, other.number = other.number, found[1].number
    return True


def _renumber(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda _: True)
    if found:
        message, field = found
        message.reserved_range.add(start=field.number, end=field.number + 1)
        field.number = worlds.free_number(random, message)
    return found is not None


def _rename(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda _: True)
    if found:
        found[1].name = f"renamed_{found[1].number}"
        found[1].ClearField("json_name")
    return found is not None


def _rename_in_code(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda _: True)
    if found:
        _, field = found
        made = worlds.json_name(field)
        field.name, field.json_name = f"renamed_{field.number}", made
    return found is not None


def _json_name(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda _: True)
    if found:
        found[1].json_name = f"json{found[1].number}"
    return found is not None


def _rename_type(random: Random, file: FileDescriptorProto) -> bool:
    kind = random.choice((worlds.messages(file)[1:], worlds.enums(file)))
    found = _one(random, kind)
    if found is None:
        return False
    before, found.name = found.name, f"{found.name}2"
    for _, field in _all_fields(file):
        parts = field.type_name.split(".")
        if before in parts[2:]:
            field.type_name = ".".join(found.name if part == before else part for part in parts)
    return True


def _all_fields(file: FileDescriptorProto) -> list[_Place]:
    every = [*worlds.messages(file)]
    every += [each for message in every for each in message.nested_type if each.options.map_entry]
    return [(message, field) for message in every for field in message.field]


def _delimited(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda p: p[1].type == F.TYPE_MESSAGE and not _is_map(p) and file.syntax == EDITION)
    if found:
        found[1].options.features.message_encoding = FeatureSet.DELIMITED
    return found is not None


def _unchecked(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda p: p[1].type == F.TYPE_STRING and file.syntax == EDITION)
    if found:
        found[1].options.features.utf8_validation = FeatureSet.NONE
    return found is not None


def _label(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda p: p[1].label == REPEATED or _is_plain(p))
    if found and _is_map(found):
        return False
    if found:
        field = found[1]
        field.label = OPTIONAL if field.label == REPEATED else REPEATED
        field.ClearField("default_value")
        field.options.ClearField("packed")
        field.options.ClearField("features")
    return found is not None


def _map(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, _is_map)
    entry = worlds.entry_of(*found) if found else None
    if entry is not None:
        entry.options.map_entry = False
    return entry is not None


def _require(random: Random, file: FileDescriptorProto) -> bool:
    message = _one(random, worlds.messages(file))
    if message is None or file.syntax == PROTO3:
        return False
    field = worlds.place(random, file, message, label=OPTIONAL, type=random.choice(worlds.SCALARS))
    field.ClearField("default_value")
    if file.syntax == EDITION:
        field.options.features.field_presence = FeatureSet.LEGACY_REQUIRED
    else:
        field.label = REQUIRED
    return True


def _oneof(count: int) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        found = [(message, [f for f in message.field if _is_plain((message, f))]) for message in worlds.messages(file)]
        holder = _one(random, (each for each in found if len(each[1]) >= count))
        if holder is None or any(field.proto3_optional for field in holder[0].field):
            return False  # real oneofs stand before those of `optional`
        message, fields = holder
        message.oneof_decl.add(name="either")
        for field in random.sample(fields, count):
            field.oneof_index = len(message.oneof_decl) - 1
            field.options.ClearField("features")
        return True

    return step


def _presence(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(
        random,
        file,
        lambda p: _is_plain(p) and p[1].type not in (F.TYPE_MESSAGE, F.TYPE_ENUM) and not p[1].default_value,
    )
    if not found or file.syntax == PROTO2:
        return False
    if file.syntax == PROTO3:
        worlds.make_optional(*found)
    else:
        found[1].options.features.field_presence = FeatureSet.IMPLICIT
        found[1].ClearField("default_value")
    return True


def _default(random: Random, file: FileDescriptorProto) -> bool:
    kinds = (F.TYPE_MESSAGE, F.TYPE_ENUM, F.TYPE_BYTES)
    found = _field(random, file, lambda p: p[1].label == OPTIONAL and p[1].type not in kinds)
    if not found or file.syntax == PROTO3:
        return False
    found[1].options.ClearField("features")
    worlds.give_default(random, found[1])
    return True


def _in_enum(change: Callable[[Random, FileDescriptorProto, EnumDescriptorProto], bool]) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        enum = _one(random, (each for each in worlds.enums(file) if len(each.value) > 1))
        return enum is not None and change(random, file, enum)

    return step


@_in_enum
def _renumber_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    value = enum.value[1]
    if sum(each.number == value.number for each in enum.value) > 1:
        return False
    enum.reserved_range.add(start=value.number, end=value.number)
    value.number += 20
    return True


@_in_enum
def _rename_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    enum.value[random.randrange(2)].name += "_NEW"
    return True


@_in_enum
def _drop_alias(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if not enum.options.allow_alias or not enum.value[-1].name.endswith("SAME"):
        return False
    enum.value.pop()
    enum.options.ClearField("allow_alias")
    return True


@_in_enum
def _first_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if file.syntax != PROTO2:
        return False
    values = [*enum.value[1:], enum.value[0]]
    del enum.value[:]
    enum.value.extend(values)
    return values[0].number != values[-1].number


@_in_enum
def _close(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if file.syntax != EDITION:
        return False
    enum.options.features.enum_type = FeatureSet.CLOSED
    return True


def _drop_value(*, reserve: bool) -> Step:
    @_in_enum
    def step(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
        number = enum.value[1].number
        gone = [value for value in enum.value if value.number == number]
        left = [value for value in enum.value if value.number != number]
        used = any(field.default_value in {value.name for value in gone} for _, field in _all_fields(file))
        if used or len(left) == 0:
            return False
        del enum.value[:]
        enum.value.extend(left)
        if len({value.number for value in left}) == len(left):
            enum.options.ClearField("allow_alias")
        if reserve:
            enum.reserved_range.add(start=number, end=number)
            enum.reserved_name.extend(value.name for value in gone)
        return True

    return step


def _drop_field(*, number: bool, name: bool) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        found = _field(random, file, lambda p: p[1].label != REQUIRED and not p[1].HasField("oneof_index"))
        if not found:
            return False
        message, field = found
        if number:
            message.reserved_range.add(start=field.number, end=field.number + 1)
        if name:
            message.reserved_name.append(field.name)
        message.field.remove(field)
        return True

    return step


def _unreserve(random: Random, file: FileDescriptorProto) -> bool:
    holder = random.choice([*worlds.messages(file), *worlds.enums(file)])
    del holder.reserved_range[:]
    return True


def _unreserve_name(random: Random, file: FileDescriptorProto) -> bool:
    holder = random.choice([*worlds.messages(file), *worlds.enums(file)])
    del holder.reserved_name[:]
    return True


def _close_range(random: Random, file: FileDescriptorProto) -> bool:
    if not file.extension:
        return False
    del file.extension[:]
    del file.message_type[0].extension_range[:]
    return True


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
    "RESERVED_NUMBER_REMOVED": (_unreserve,),
    "RESERVED_NAME_REMOVED": (_unreserve_name,),
    "EXTENSION_RANGE_REMOVED": (_close_range,),
}
"""By the rule that the step is to break; it may break others, too."""


def _add_field(random: Random, file: FileDescriptorProto) -> bool:
    message = random.choice(worlds.messages(file))
    field = worlds.place(random, file, message, label=random.choice((OPTIONAL, REPEATED)))
    if field.label == REQUIRED:
        field.label = OPTIONAL
    return True


def _add_map(random: Random, file: FileDescriptorProto) -> bool:
    worlds.place_map(random, random.choice(worlds.messages(file)))
    return True


def _add_to_oneof(random: Random, file: FileDescriptorProto) -> bool:
    message = _one(random, (each for each in worlds.messages(file) if "choice" in [o.name for o in each.oneof_decl]))
    if message is not None:
        worlds.place(random, file, message, oneof_index=0, label=OPTIONAL)
    return message is not None


def _add_message(random: Random, file: FileDescriptorProto) -> bool:
    made = file.message_type.add(name=f"Added{len(file.message_type)}")
    worlds.place(random, file, made)
    worlds.place(random, file, file.message_type[0], type_name=f".p.{made.name}", label=OPTIONAL)
    return True


@_in_enum
def _add_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    number = max(value.number for value in enum.value) + 1
    enum.value.add(name=f"{enum.name}_ADDED_{number}", number=number)
    return True


@_in_enum
def _add_alias(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    enum.options.allow_alias = True
    enum.value.add(name=f"{enum.name}_ALSO_{len(enum.value)}", number=enum.value[1].number)
    return True


def _reorder(random: Random, file: FileDescriptorProto) -> bool:
    message = random.choice(worlds.messages(file))
    fields = list(message.field)
    random.shuffle(fields)
    del message.field[:]
    message.field.extend(fields)
    return True


def _pack(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda p: p[1].label == REPEATED and p[1].type in worlds.NUMBERS)
    if found and file.syntax == EDITION:
        found[1].options.features.repeated_field_encoding = FeatureSet.EXPANDED
    elif found:
        found[1].options.packed = not found[1].options.packed
    return found is not None


def _reserve(random: Random, file: FileDescriptorProto) -> bool:
    number = random.randrange(500, 600)
    random.choice(worlds.messages(file)).reserved_range.add(start=number, end=number + 1)
    return True


def _deprecate(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, lambda _: True)
    if found:
        found[1].options.deprecated = True
    return found is not None


def _rename_entry(random: Random, file: FileDescriptorProto) -> bool:
    found = _field(random, file, _is_map)
    entry = worlds.entry_of(*found) if found else None
    if found and entry is not None:
        scope = found[1].type_name.rpartition(".")[0]
        entry.name = f"Other{found[1].number}Entry"
        found[1].type_name = f"{scope}.{entry.name}"
    return entry is not None


HARMLESS: tuple[Step, ...] = (
    *(_add_field, _add_map, _add_to_oneof, _add_message, _add_value, _add_alias, _reorder, _pack, _reserve),
    *(_deprecate, _rename_entry, _drop_field(number=True, name=True)),
)
"""What people may do at any time; a value that is added to a closed enum must reach the readers first."""
