"""The two sides of a comparison: a field or a message of the reader and one of the writer."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native.model import Descriptors, Enum, Field, Kind, Label, Message
from topicschema.core.formats.protobuf_native.symbols import shown
from topicschema.core.strategies import Direction

HOLDERS: Final = frozenset({Kind.MESSAGE, Kind.GROUP})
_WITH_OPEN_ENUMS: Final = ("proto3", "edition ")
_PAIR: Final[Mapping[int, str]] = {1: "key", 2: "value"}
_PATH: Final = "$.fileDescriptorSet."


@dataclass(frozen=True, slots=True)
class FieldSide:
    """A field, or the key or the value of a map's field. `where` is the field's full name, `name` is for messages.

    `entry` is the message of a map's field, `key` and `value` are its parts. `enum` is an enum's. `is_closed` is True
    if some client of the side drops the numbers that the enum does not have.
    """

    field: Field
    where: str
    name: str
    entry: Message | None = None
    key: "FieldSide | None" = None
    value: "FieldSide | None" = None
    enum: Enum | None = None
    is_closed: bool = False

    @property
    def is_repeated(self) -> bool:
        """True if it is a list or a map."""
        return self.field.label is Label.REPEATED

    @property
    def type(self) -> str:
        """The type as it is written in a .proto file."""
        name = self.field.type_name
        return shown(name) if name else self.field.kind.value.lower()


class View:
    """One side's descriptors, and the context of a field in them."""

    def __init__(self, descriptors: Descriptors) -> None:
        self.descriptors = descriptors

    def fields(self, message: Message) -> Mapping[int, Field]:
        """Return the message's fields by number, then its extensions."""
        extensions = self.descriptors.extensions.get(message.full_name)
        if not extensions:
            return message.fields
        return {**message.fields, **{n: extensions[n] for n in sorted(extensions) if n not in message.fields}}

    def side(self, message: Message, field: Field) -> FieldSide:
        """Return the message's field with the types that it refers to."""
        where, name = f"{message.full_name}.{field.name}", shown(field.name)
        held = self.descriptors.messages[field.type_name] if field.kind in HOLDERS else None
        if (
            held is None
            or not held.is_map_entry
            or field.label is not Label.REPEATED
            or held.fields.keys() != _PAIR.keys()
        ):
            return self._side(field, where, name)
        key, value = (self._side(held.fields[number], where, f"the {part} of {name}") for number, part in _PAIR.items())
        return FieldSide(field, where, name, held, key, value)

    def _side(self, field: Field, where: str, name: str) -> FieldSide:
        if field.kind is not Kind.ENUM:
            return FieldSide(field, where, name)
        enum = self.descriptors.enums[field.type_name]
        return FieldSide(field, where, name, enum=enum, is_closed=self.is_closed(enum))

    def is_closed(self, enum: Enum) -> bool:
        """Return True if some client of that side drops the numbers that the enum does not have.

        Java and C++ use the file of the field, other languages the file of the enum.
        """
        return enum.is_closed or enum.full_name in self._in_proto2

    @cached_property
    def _in_proto2(self) -> frozenset[str]:
        files = self.descriptors.files
        return frozenset(
            field.type_name
            for message in self.descriptors.messages.values()
            if not files[message.file].syntax.startswith(_WITH_OPEN_ENUMS)
            for field in message.fields.values()
            if field.kind is Kind.ENUM
        )


class MessagePair:
    """A message of the reader and one of the writer, with their fields, extensions too, by number and by name."""

    def __init__(
        self, reader: Message, writer: Message, read: Mapping[int, Field], written: Mapping[int, Field]
    ) -> None:
        self.reader, self.writer, self.read, self.written = reader, writer, read, written

    @cached_property
    def numbers_read(self) -> Mapping[str, int]:
        """The reader's numbers by name."""
        return {field.name: number for number, field in self.read.items()}

    @cached_property
    def numbers_written(self) -> Mapping[str, int]:
        """The writer's numbers by name."""
        return {field.name: number for number, field in self.written.items()}

    @cached_property
    def numbers_in_json(self) -> Mapping[str, list[int]]:
        """The numbers, sorted, of the fields that the reader resolves by a name in JSON: the JSON or the other name."""
        numbers_by_name: dict[str, list[int]] = {}
        for number, field in sorted(self.read.items()):
            for name in {json_name(field), field.name}:
                numbers_by_name.setdefault(name, []).append(number)
        return numbers_by_name

    def is_reused(self, reader: FieldSide, writer: FieldSide) -> bool:
        """Return True if one number with two names has two meanings: the types differ, or one of the names moved."""
        one, other = reader.field, writer.field
        if one.name == other.name:
            return False
        is_moved = one.name in self.numbers_written or other.name in self.numbers_read
        are_maps = reader.entry is not None and writer.entry is not None
        return is_moved or one.kind is not other.kind or (one.type_name != other.type_name and not are_maps)


class EnumPair:
    """An enum of the reader and one of the writer. `is_closed` and `was_closed` are as in `FieldSide`."""

    def __init__(self, reader: Enum, writer: Enum, is_closed: bool, was_closed: bool) -> None:  # noqa: FBT001
        self.reader, self.writer, self.is_closed, self.was_closed = reader, writer, is_closed, was_closed

    @property
    def is_changed(self) -> bool:
        """True if they differ in anything. The order of the values counts; equality of mappings ignores it."""
        is_in_order = list(self.reader.values) == list(self.writer.values)
        return self.reader != self.writer or not is_in_order or self.is_closed != self.was_closed

    @cached_property
    def names_read(self) -> Mapping[int, str]:
        """The name of each of the reader's numbers in JSON: the first."""
        return _first_names(self.reader)

    @cached_property
    def names_written(self) -> Mapping[int, str]:
        """The name of each of the writer's numbers in JSON."""
        return _first_names(self.writer)


def _first_names(enum: Enum) -> Mapping[int, str]:
    names: dict[int, str] = {}
    for name, number in enum.values.items():
        names.setdefault(number, name)
    return names


def finding(rule: str, message: str, reader: str, writer: str, *, is_mutual: bool = False) -> Mismatch:
    """Return a finding at two full names."""
    return Mismatch(rule, message, _PATH + shown(reader), _PATH + shown(writer), is_mutual)


def lapse(rule: str, message: str, name: str, direction: Direction) -> Mismatch:
    """Return a finding at a full name that both have. It is for one direction: BACKWARD if the reader is the newer."""
    return Mismatch(rule, message, _PATH + shown(name), _PATH + shown(name), is_mutual=True, only_in=direction)


def json_name(field: Field) -> str:
    """Return the field's name in JSON: that in its descriptor, or the one that protoc derives from its name."""
    if field.json_name or field.name.startswith("["):
        return field.json_name or field.name
    first, *words = field.name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in words)
