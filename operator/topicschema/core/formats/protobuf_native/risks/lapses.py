"""Guarantees that the newer of two versions drops: numbers and names that a later version may reuse for other things.

Nothing is lost yet. It is not known here which version is the newer, so each check runs on both, and its findings have
the direction in which they apply.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native.model import Enum, Message
from topicschema.core.formats.protobuf_native.risks.numbers import Numbers
from topicschema.core.formats.protobuf_native.risks.sides import EnumPair, MessagePair, lapse
from topicschema.core.formats.protobuf_native.symbols import shown
from topicschema.core.strategies import Direction


@dataclass(frozen=True, slots=True)
class _Version:
    """A message's fields or an enum's values, and its reservations. `mark` is its name in messages."""

    mark: str
    full_name: str
    names: Mapping[str, int]
    reserved: Numbers
    reserved_names: frozenset[str]
    extensions: Numbers
    first_names: Mapping[int, str]


def of_messages(pair: MessagePair) -> Iterator[Mismatch]:
    """Yield the findings for two messages with one name."""
    reader = _of_message("{reader}", pair.reader, pair.numbers_read)
    writer = _of_message("{writer}", pair.writer, pair.numbers_written)
    for older, newer, direction in ((writer, reader, Direction.BACKWARD), (reader, writer, Direction.FORWARD)):
        yield from _fields(older, newer, direction)
        yield from _extensions(older, newer, direction)
        yield from _reservations(older, newer, direction)


def of_enums(pair: EnumPair) -> Iterator[Mismatch]:
    """Yield the findings for two enums with one name."""
    reader = _of_enum("{reader}", pair.reader, pair.names_read)
    writer = _of_enum("{writer}", pair.writer, pair.names_written)
    for older, newer, direction in ((writer, reader, Direction.BACKWARD), (reader, writer, Direction.FORWARD)):
        is_reported = pair.is_closed and direction is Direction.BACKWARD  # as a number that the reader does not know
        yield from _values(older, newer, direction, is_reported=is_reported)
        yield from _reservations(older, newer, direction)


def _of_message(mark: str, message: Message, names: Mapping[str, int]) -> _Version:
    reserved, extensions = Numbers(message.reserved_numbers), Numbers(message.extension_numbers)
    return _Version(mark, message.full_name, names, reserved, message.reserved_names, extensions, {})


def _of_enum(mark: str, enum: Enum, first_names: Mapping[int, str]) -> _Version:
    reserved = Numbers(enum.reserved_numbers)
    return _Version(mark, enum.full_name, enum.values, reserved, enum.reserved_names, Numbers(()), first_names)


def _fields(older: _Version, newer: _Version, direction: Direction) -> Iterator[Mismatch]:
    taken = set(newer.names.values())
    for name, number in older.names.items():
        if number in taken or name.startswith("["):
            continue
        called = f"{older.mark} has {shown(name)} = {number}, {newer.mark} does not, nor does it reserve the"
        if number not in newer.reserved and number not in newer.extensions:
            message = f"{called} number, which a later field may take for something else; add: reserved {number};"
            yield lapse("FIELD_NUMBER_NOT_RESERVED", message, newer.full_name, direction)
        elif name not in newer.reserved_names and name not in newer.names:
            message = f'{called} name, which a later field may take, in JSON too; add: reserved "{shown(name)}";'
            yield lapse("FIELD_NAME_NOT_RESERVED", message, newer.full_name, direction)


def _values(older: _Version, newer: _Version, direction: Direction, *, is_reported: bool) -> Iterator[Mismatch]:
    taken = set(newer.names.values())
    for name, number in older.names.items():
        if name in newer.names:
            continue
        if number in taken:
            yield from _alias(older, newer, name, direction)
        elif number not in newer.reserved:
            message = (
                f"{older.mark} has {shown(name)} = {number}, {newer.mark} does not, nor does it reserve the number, "
                f"which a later value may take; add: reserved {number};"
            )
            yield lapse("ENUM_NUMBER_NOT_RESERVED", message, newer.full_name, direction)
        elif not is_reported:
            message = f"{newer.mark} does not know {shown(name)}, which is in JSON of {older.mark}; keep it, deprecated"
            yield lapse("ENUM_VALUE_REMOVED", message, newer.full_name, direction)


def _alias(older: _Version, newer: _Version, name: str, direction: Direction) -> Iterator[Mismatch]:
    first = older.first_names[older.names[name]]
    if first != name:  # else it was renamed, which is reported elsewhere
        message = f"{shown(name)}, another name of {shown(first)} in {older.mark}, is gone from {newer.mark}; keep it"
        yield lapse("ENUM_ALIAS_REMOVED", message, newer.full_name, direction)


def _extensions(older: _Version, newer: _Version, direction: Direction) -> Iterator[Mismatch]:
    gone = older.extensions.without(newer.extensions, newer.names.values())
    if gone:
        message = (
            f"{older.mark} lets others extend it with {gone}, {newer.mark} does not: their extensions are not found; "
            "keep the range"
        )
        yield lapse("EXTENSION_RANGE_REMOVED", message, newer.full_name, direction)


def _reservations(older: _Version, newer: _Version, direction: Direction) -> Iterator[Mismatch]:
    gone = older.reserved.without(newer.reserved)
    if gone:
        users = [f"{number} to {name}" for name, number in newer.names.items() if number in gone]
        free = older.reserved.without(newer.reserved, newer.names.values())
        now = f"gives {shown(', '.join(users))}{f' and frees {free}' if free else ''}" if users else "does not"
        message = f"{older.mark} reserves {gone}, {newer.mark} {now}; numbers that were used once stay reserved"
        yield lapse("RESERVED_NUMBER_REMOVED", message, newer.full_name, direction)
    names = sorted(older.reserved_names - newer.reserved_names)
    if names:
        message = (
            f"{older.mark} reserves {shown(', '.join(names))}, {newer.mark} does not; names that were used once stay "
            "reserved"
        )
        yield lapse("RESERVED_NAME_REMOVED", message, newer.full_name, direction)
