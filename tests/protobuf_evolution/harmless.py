"""Steps that harm nobody."""

from random import Random

from google.protobuf.descriptor_pb2 import EnumDescriptorProto, FeatureSet, FileDescriptorProto

from protobuf_evolution import worlds
from protobuf_evolution.of_others import drop_field
from protobuf_evolution.picks import Step, field_of, in_enum, is_map_field, one
from protobuf_evolution.worlds import EDITION, OPTIONAL, REPEATED, REQUIRED


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
    message = one(random, (each for each in worlds.messages(file) if "choice" in [o.name for o in each.oneof_decl]))
    if message is not None:
        worlds.place(random, file, message, oneof_index=0, label=OPTIONAL)
    return message is not None


def _add_message(random: Random, file: FileDescriptorProto) -> bool:
    made = file.message_type.add(name=f"Added{len(file.message_type)}")
    worlds.place(random, file, made)
    worlds.place(random, file, file.message_type[0], type_name=f".p.{made.name}", label=OPTIONAL)
    return True


@in_enum
def _add_value(random: Random, file: FileDescriptorProto, enum: EnumDescriptorProto) -> bool:
    number = max(value.number for value in enum.value) + 1
    enum.value.add(name=f"{enum.name}_ADDED_{number}", number=number)
    return True


@in_enum
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
    found = field_of(random, file, lambda p: p[1].label == REPEATED and p[1].type in worlds.NUMBERS)
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
    found = field_of(random, file, lambda _: True)
    if found:
        found[1].options.deprecated = True
    return found is not None


def _rename_entry(random: Random, file: FileDescriptorProto) -> bool:
    found = field_of(random, file, is_map_field)
    entry = worlds.entry_of(*found) if found else None
    if found and entry is not None:
        scope = found[1].type_name.rpartition(".")[0]
        entry.name = f"Other{found[1].number}Entry"
        found[1].type_name = f"{scope}.{entry.name}"
    return entry is not None


HARMLESS: tuple[Step, ...] = (
    *(_add_field, _add_map, _add_to_oneof, _add_message, _add_value, _add_alias, _reorder, _pack, _reserve),
    *(_deprecate, _rename_entry, drop_field(number=True, name=True)),
)
