"""Risks: what a reader loses or misreads of a writer's messages. The broker compares only the root's name.

Sources: protobuf.dev's "Updating A Message Type" for proto2, proto3 and editions, its "ProtoJSON Format", and the
behavior of protobuf's libraries. tests/property checks the rules against google.protobuf.

The comparison covers all types that the root message refers to, each pair of a reader's and a writer's message once,
nearest to the root first. The packing of lists is not compared, because every reader accepts both forms. Additions are
not compared either, because readers skip them (in JSON only if configured).
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native.model import Descriptors, Field, Kind, Message
from topicschema.core.formats.protobuf_native.risks import enums, fields, lapses, messages
from topicschema.core.formats.protobuf_native.risks.sides import HOLDERS, EnumPair, FieldSide, MessagePair, View
from topicschema.core.steps import PER_FINDING, PER_PAIR, Steps

__all__ = ["risks"]

_PER_FIELD: Final = 5
MAX_STAND_INS: Final = 5_000
"""The maximum number of compared pairs of types with two names: a bound against cycles, which are reported before."""


def risks(reader: Descriptors, writer: Descriptors, steps: Steps) -> tuple[Mismatch, ...]:
    """Return all risks in the order of the reader's field numbers; none if the broker refuses the root message."""
    if reader.root.full_name != writer.root.full_name:
        return ()
    findings = []
    for each in _Walk(reader, writer, steps).findings():
        steps.take(PER_FINDING)
        findings.append(each)
    return tuple(findings)


class _Walk:
    """The pairs of messages and of enums that are still to be compared, and those that were queued before."""

    def __init__(self, reader: Descriptors, writer: Descriptors, steps: Steps) -> None:
        self._steps = steps
        self._reader, self._writer = View(reader), View(writer)
        self._waiting: deque[tuple[Kind, str, str]] = deque()
        self._met: set[tuple[str, str]] = set()
        self._stand_ins = 0

    def findings(self) -> Iterator[Mismatch]:
        reader, writer = self._reader.descriptors, self._writer.descriptors
        self._met.add((reader.root.full_name, writer.root.full_name))
        yield from self._messages(reader.root, writer.root)
        while self._waiting:
            kind, read, written = self._waiting.popleft()
            if kind is Kind.ENUM:
                yield from self._enums(read, written)
            else:
                yield from self._messages(reader.messages[read], writer.messages[written])

    def _enums(self, reader_name: str, writer_name: str) -> Iterator[Mismatch]:
        reader, writer = self._reader.descriptors.enums[reader_name], self._writer.descriptors.enums[writer_name]
        self._steps.take(PER_PAIR + len(reader.values) + len(writer.values))
        pair = EnumPair(reader, writer, self._reader.is_closed(reader), self._writer.is_closed(writer))
        if pair.is_changed:
            yield from enums.compare(pair)
            if reader_name == writer_name:
                yield from lapses.of_enums(pair)

    def _messages(self, reader: Message, writer: Message) -> Iterator[Mismatch]:
        pair = MessagePair(reader, writer, self._reader.fields(reader), self._writer.fields(writer))
        size = len(pair.read) + len(pair.written)
        self._steps.take(PER_PAIR + size)
        is_changed = reader != writer or pair.read != pair.written
        if is_changed:
            self._steps.take(_PER_FIELD * size)
            yield from messages.compare(pair)
        for number, read in pair.read.items():
            written = pair.written.get(number)
            if written is not None:
                yield from self._fields(pair, read, written, is_changed=is_changed)
        if is_changed and reader.full_name == writer.full_name:
            yield from lapses.of_messages(pair)

    def _fields(self, pair: MessagePair, read: Field, written: Field, *, is_changed: bool) -> Iterator[Mismatch]:
        if not is_changed and not read.type_name:
            return
        reader, writer = self._reader.side(pair.reader, read), self._writer.side(pair.writer, written)
        if is_changed and pair.is_reused(reader, writer):
            yield fields.reused(reader, writer)
            return
        parts = list(fields.parts(reader, writer))
        for one, other in parts:
            if one.field.kind is not other.field.kind:
                self._steps.take(_values(one) + _values(other))
        is_map_in_one = (reader.entry is None) != (writer.entry is None)
        if is_changed or is_map_in_one or any(one.field != other.field for one, other in parts):
            yield from fields.compare(pair, reader, writer)
        for one, other in parts:
            if one.field.kind is other.field.kind or {one.field.kind, other.field.kind} == HOLDERS:
                self._meet(one.field, other.field)

    def _meet(self, read: Field, written: Field) -> None:
        names = read.type_name, written.type_name
        is_stand_in = read.type_name != written.type_name
        if not read.type_name or names in self._met or (is_stand_in and self._stand_ins == MAX_STAND_INS):
            return
        self._met.add(names)
        self._waiting.append((read.kind, *names))
        self._stand_ins += is_stand_in


def _values(side: FieldSide) -> int:
    """Return the number of values to compare if an enum is read as another type, or another type as an enum."""
    return len(side.enum.values) if side.enum is not None else 0
