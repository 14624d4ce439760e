"""Comparison of two messages as wholes: names that moved to other numbers, oneofs, and the resolution of JSON names."""

from collections.abc import Iterator, Mapping

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native.model import Field, Presence
from topicschema.core.formats.protobuf_native.risks.sides import MessagePair, finding, json_name
from topicschema.core.formats.protobuf_native.symbols import shown


def compare(pair: MessagePair) -> Iterator[Mismatch]:
    """Yield the findings that are not about two fields with one number."""
    if pair.writer.is_message_set and not pair.reader.is_message_set:
        message = "{writer} has message_set_wire_format, and {reader} does not find its extensions; keep the option"
        yield finding("MESSAGE_SET_CHANGED", message, pair.reader.full_name, pair.writer.full_name)
    yield from _renumbered(pair)
    yield from _required(pair)
    yield from _taken_in_json(pair)
    yield from _oneofs(pair)


def _renumbered(pair: MessagePair) -> Iterator[Mismatch]:
    for name, number in pair.numbers_read.items():
        other = pair.numbers_written.get(name, number)
        if other != number:
            message = (
                f"{shown(name)} has the number {other} in {{writer}} and {number} in {{reader}}, which does not find "
                "it; a field keeps its number"
            )
            where = f"{pair.reader.full_name}.{name}", f"{pair.writer.full_name}.{name}"
            yield finding("FIELD_RENUMBERED", message, *where, is_mutual=True)


def _required(pair: MessagePair) -> Iterator[Mismatch]:
    for number, field in pair.read.items():
        other = pair.written.get(number)
        if field.presence is not Presence.REQUIRED or (other and other.presence is Presence.REQUIRED):
            continue
        lacks = "need not set it" if other else "does not have it"
        message = f"{{reader}} requires {shown(field.name)}, and refuses messages of {{writer}}, which {lacks}"
        where = f"{pair.writer.full_name}.{other.name}" if other else pair.writer.full_name
        yield finding("REQUIRED_NOT_WRITTEN", message, f"{pair.reader.full_name}.{field.name}", where)


def _taken_in_json(pair: MessagePair) -> Iterator[Mismatch]:
    """Yield JSON names of fields that the reader lacks and that it has given to another field."""
    for number, field in pair.written.items():
        name = json_name(field)
        takers = pair.numbers_in_json.get(name)
        if number in pair.read or not takers or field.name in pair.numbers_read:
            continue
        taker = takers[0]
        message = (
            f"{shown(name)} in JSON is field {number} of {{writer}}, and field {taker} of {{reader}}; give it another "
            "json_name"
        )
        places = f"{pair.reader.full_name}.{pair.read[taker].name}", f"{pair.writer.full_name}.{field.name}"
        yield finding("JSON_NAME_CHANGED", message, *places)


def _oneofs(pair: MessagePair) -> Iterator[Mismatch]:
    shared = [number for number in pair.read if number in pair.written]
    reported: set[str] = set()
    for oneof, numbers in _members(pair.read, shared).items():
        before = {pair.written[number].oneof for number in numbers}
        if before == {oneof}:
            continue
        reported.update(name for name in before if name)
        names = ", ".join(shown(pair.read[number].name) for number in numbers)
        where = f"{pair.reader.full_name}.{oneof}", pair.writer.full_name
        if len(before) > 1 or (None in before and len(numbers) > 1):
            message = (
                f"{{reader}} keeps one of {shown(names)}, and {{writer}} may set several; only fields that are new "
                "may share a oneof with others"
            )
            yield finding("ONEOF_MERGED", message, *where)
        else:
            yield finding("ONEOF_CHANGED", _regrouped(names), *where, is_mutual=True)
    for oneof, numbers in _members(pair.written, shared).items():
        if oneof not in reported and {pair.read[number].oneof for number in numbers} != {oneof}:
            names = ", ".join(shown(pair.written[number].name) for number in numbers)
            where = pair.reader.full_name, f"{pair.writer.full_name}.{oneof}"
            yield finding("ONEOF_CHANGED", _regrouped(names), *where, is_mutual=True)


def _members(fields: Mapping[int, Field], numbers: list[int]) -> dict[str, list[int]]:
    members: dict[str, list[int]] = {}
    for number in numbers:
        oneof = fields[number].oneof
        if oneof is not None:
            members.setdefault(oneof, []).append(number)
    return members


def _regrouped(names: str) -> str:
    return f"the oneof of {shown(names)} is another in {{reader}} than in {{writer}}: generated code changes"
