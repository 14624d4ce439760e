"""What a step changes: something of a file that fits, at random."""

from collections.abc import Callable, Iterable
from random import Random
from typing import TypeVar

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from protobuf_evolution import worlds
from protobuf_evolution.worlds import OPTIONAL

Step = Callable[[Random, FileDescriptorProto], bool]
Place = tuple[DescriptorProto, FieldDescriptorProto]
T = TypeVar("T")


def one(random: Random, found: Iterable[T]) -> T | None:
    listed = list(found)
    return random.choice(listed) if listed else None


def field_of(random: Random, file: FileDescriptorProto, wanted: Callable[[Place], bool]) -> Place | None:
    places = [(message, field) for message in worlds.messages(file) for field in message.field]
    return one(random, filter(wanted, places))


def is_plain(place: Place) -> bool:
    _, field = place
    return field.label == OPTIONAL and not field.HasField("oneof_index")


def is_map_field(place: Place) -> bool:
    return worlds.entry_of(*place) is not None


def all_fields(file: FileDescriptorProto) -> list[Place]:
    every = [*worlds.messages(file)]
    every += [each for message in every for each in message.nested_type if each.options.map_entry]
    return [(message, field) for message in every for field in message.field]


def in_enum(change: Callable[[Random, FileDescriptorProto, EnumDescriptorProto], bool]) -> Step:
    def step(random: Random, file: FileDescriptorProto) -> bool:
        enum = one(random, (each for each in worlds.enums(file) if len(each.value) > 1))
        return enum is not None and change(random, file, enum)

    return step
