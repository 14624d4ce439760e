"""Steps that break what a field is."""

from random import Random

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from protobuf_evolution import worlds
from protobuf_evolution.picks import Step, all_fields, field_of, is_map_field, is_plain, one
from protobuf_evolution.worlds import EDITION, OPTIONAL, PROTO2, PROTO3, REPEATED, REQUIRED, F

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


def retype(field: FieldDescriptorProto, kind: "F.Type.ValueType") -> None:
    for attribute in ("default_value", "type_name"):
        field.ClearField(attribute)
    field.options.ClearField("packed")
    field.type = kind


def _by_type(kinds: "dict[F.Type.ValueType, F.Type.ValueType]") -> Step:
    """A field, or the value of a map, gets the type that is beside its own."""

    def step(random: Random, file: FileDescriptorProto) -> bool:
        holders = [
            (message, field)
            for outer in worlds.messages(file)
            for message in (outer, *(each for each in outer.nested_type if each.options.map_entry))
            for field in message.field
            if field.name != "key"
        ]
        found = one(random, ((m, f) for m, f in holders if f.type in kinds and not is_map_field((m, f))))
        if found:
            retype(found[1], kinds[found[1].type])
        return found is not None

    return step


def _map_key(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, is_map_field)
    entry = worlds.entry_of(*found) if found else None
    if entry is None or entry.field[0].type not in _OTHER_SIGN:
        return False
    entry.field[0].type = _OTHER_SIGN[entry.field[0].type]
    return True


def _reuse(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda place: place[1].type in _OTHER_WIRE and not is_map_field(place))
    if found:
        retype(found[1], _OTHER_WIRE[found[1].type])
        found[1].name = f"other_{found[1].number}"
        found[1].ClearField("json_name")
    return found is not None


def _swap(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda place: len(place[0].field) > 1 and not place[1].proto3_optional)
    other = found and one(random, (each for each in found[0].field if each is not found[1]))
    if not found or not other:
        return False
    found[1].number, other.number = other.number, found[1].number
    return True


def _renumber(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda _: True)
    if found:
        message, field = found
        message.reserved_range.add(start=field.number, end=field.number + 1)
        field.number = worlds.free_number(random, message)
    return found is not None


def _rename(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda _: True)
    if found:
        found[1].name = f"renamed_{found[1].number}"
        found[1].ClearField("json_name")
    return found is not None


def _rename_in_code(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda _: True)
    if found:
        _, field = found
        made = worlds.json_name(field)
        field.name, field.json_name = f"renamed_{field.number}", made
    return found is not None


def _json_name(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda _: True)
    if found:
        found[1].json_name = f"json{found[1].number}"
    return found is not None


def _rename_type(random: Random, file: FileDescriptorProto) -> bool:
    kinds: list[list[DescriptorProto | EnumDescriptorProto]] = [[*worlds.messages(file)[1:]], [*worlds.enums(file)]]
    found = one(random, random.choice(kinds))
    if found is None:
        return False
    before, found.name = found.name, f"{found.name}2"
    for _, field in all_fields(file):
        parts = field.type_name.split(".")
        if before in parts[2:]:
            field.type_name = ".".join(found.name if part == before else part for part in parts)
    return True


def _delimited(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(
        random, file, lambda p: p[1].type == F.TYPE_MESSAGE and not is_map_field(p) and file.syntax == EDITION
    )
    if found:
        found[1].options.features.message_encoding = FeatureSet.DELIMITED
    return found is not None


def _unchecked(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda p: p[1].type == F.TYPE_STRING and file.syntax == EDITION)
    if found:
        found[1].options.features.utf8_validation = FeatureSet.NONE
    return found is not None


def _label(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, lambda p: p[1].label == REPEATED or is_plain(p))
    if found and is_map_field(found):
        return False
    if found:
        field = found[1]
        field.label = OPTIONAL if field.label == REPEATED else REPEATED
        field.ClearField("default_value")
        field.options.ClearField("packed")
        field.options.ClearField("features")
    return found is not None


def _map(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, is_map_field)
    entry = worlds.entry_of(*found) if found else None
    if entry is not None:
        entry.options.map_entry = False
    return entry is not None


def _require(random: Random, file: FileDescriptorProto) -> bool:
    message = one(random, worlds.messages(file))
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
        found = [(message, [f for f in message.field if is_plain((message, f))]) for message in worlds.messages(file)]
        holder = one(random, (each for each in found if len(each[1]) >= count))
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
    found = field_of(
        random,
        file,
        lambda p: is_plain(p) and p[1].type not in (F.TYPE_MESSAGE, F.TYPE_ENUM) and not p[1].default_value,
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
    found = field_of(random, file, lambda p: p[1].label == OPTIONAL and p[1].type not in kinds)
    if not found or file.syntax == PROTO3:
        return False
    found[1].options.ClearField("features")
    worlds.give_default(random, found[1])
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
}
