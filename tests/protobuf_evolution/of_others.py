"""Steps that break enums, or promises."""

from collections.abc import Iterator
from random import Random

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from protobuf_evolution import worlds
from protobuf_evolution.picks import Step, all_fields, field_of, in_enum
from protobuf_evolution.worlds import EDITION, PROTO2, REQUIRED

_Holder = DescriptorProto | EnumDescriptorProto


@in_enum
def _renumber_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    value = enum.value[1]
    if sum(each.number == value.number for each in enum.value) > 1:
        return False
    enum.reserved_range.add(start=value.number, end=value.number)
    value.number += 20
    return True


@in_enum
def _rename_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    enum.value[random.randrange(2)].name += "_NEW"
    return True


@in_enum
def _drop_alias(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if not enum.options.allow_alias or not enum.value[-1].name.endswith("SAME"):
        return False
    enum.value.pop()
    enum.options.ClearField("allow_alias")
    return True


@in_enum
def _first_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if file.syntax != PROTO2:
        return False
    values = [*enum.value[1:], enum.value[0]]
    del enum.value[:]
    enum.value.extend(values)
    return values[0].number != values[-1].number


@in_enum
def _close(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    if file.syntax != EDITION:
        return False
    enum.options.features.enum_type = FeatureSet.CLOSED
    return True


def _drop_value(*, reserve: bool) -> Step:
    @in_enum
    def step(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
        number = enum.value[1].number
        gone = [value for value in enum.value if value.number == number]
        left = [value for value in enum.value if value.number != number]
        used = any(field.default_value in {value.name for value in gone} for _, field in all_fields(file))
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


def drop_field(*, number: bool, name: bool) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        found = field_of(random, file, lambda p: p[1].label != REQUIRED and not p[1].HasField("oneof_index"))
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
    holders: list[_Holder] = [*worlds.messages(file), *worlds.enums(file)]
    holder = random.choice(holders)
    del holder.reserved_range[:]
    return True


def _unreserve_name(random: Random, file: FileDescriptorProto) -> bool:
    holders: list[_Holder] = [*worlds.messages(file), *worlds.enums(file)]
    holder = random.choice(holders)
    del holder.reserved_name[:]
    return True


def _close_range(random: Random, file: FileDescriptorProto) -> bool:
    if not file.extension:
        return False
    del file.extension[:]
    del file.message_type[0].extension_range[:]
    return True


def take_numbers(random: Random, first: FileDescriptorProto, file: FileDescriptorProto) -> bool:
    """A later file takes numbers that the first one had or reserved, and it does not: a number of each holder."""
    taken = False
    for before, after in _holders(first, file):
        used = {each.number for each in _members(after)}
        reserved = {number for each in after.reserved_range for number in range(each.start, each.end + 1)}
        free = {each.number for each in _members(before)} - used - reserved
        if not free:
            continue
        taken = True
        if isinstance(after, DescriptorProto):
            kind = random.choice(worlds.SCALARS)
            after.field.add(name=f"taken_{min(free)}", number=min(free), type=kind, label=worlds.OPTIONAL)
        else:
            after.value.add(name=f"{after.name}_TAKEN", number=min(free))
    return taken


def take_names(random: Random, first: FileDescriptorProto, file: FileDescriptorProto) -> bool:
    """A later file takes names that the first one had or reserved, and it does not, for something else."""
    taken = False
    for before, after in _holders(first, file):
        if not isinstance(after, DescriptorProto):
            continue
        free = {each.name for each in _members(before)} - {each.name for each in after.field} - {*after.reserved_name}
        for name in sorted(free)[:1]:
            number = worlds.free_number(random, after)
            after.field.add(name=name, number=number, type=random.choice(worlds.SCALARS), label=worlds.OPTIONAL)
            taken = True
    return taken


def _holders(first: FileDescriptorProto, file: FileDescriptorProto) -> Iterator[tuple[_Holder, _Holder]]:
    yield from zip(worlds.messages(first), worlds.messages(file), strict=True)
    yield from zip(worlds.enums(first), worlds.enums(file), strict=True)


def _members(holder: _Holder) -> list[FieldDescriptorProto] | list[EnumValueDescriptorProto]:
    if isinstance(holder, DescriptorProto):
        return list(holder.field)
    return list(holder.value)


BREAKING: dict[str, tuple[Step, ...]] = {
    "ENUM_VALUE_RENUMBERED": (_renumber_value,),
    "ENUM_VALUE_RENAMED": (_rename_value,),
    "ENUM_VALUE_UNKNOWN": (_drop_value(reserve=True),),
    "ENUM_VALUE_REMOVED": (_drop_value(reserve=True),),
    "ENUM_NUMBER_NOT_RESERVED": (_drop_value(reserve=False),),
    "ENUM_ALIAS_REMOVED": (_drop_alias,),
    "ENUM_DEFAULT_CHANGED": (_first_value,),
    "ENUM_CLOSED": (_close,),
    "FIELD_NUMBER_NOT_RESERVED": (drop_field(number=False, name=True),),
    "FIELD_NAME_NOT_RESERVED": (drop_field(number=True, name=False),),
    "RESERVED_NUMBER_REMOVED": (_unreserve,),
    "RESERVED_NAME_REMOVED": (_unreserve_name,),
    "EXTENSION_RANGE_REMOVED": (_close_range,),
}
