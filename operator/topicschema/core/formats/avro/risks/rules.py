"""Risks that the broker's check accepts and by which a reader loses or misreads data: a walk over the matching pairs.

The pairs are those of Avro's resolver: fields by name and alias, a union's branch by `branch_selection`. If a type has
no match, `resolution` has reported it. Equal parts are skipped after a cheap comparison, so the cost depends on the
differences. `messages` has the texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Array, Enum, Field, Map, Named, Node, Primitive, Record, Union
from topicschema.core.formats.avro.resolution.branch_selection import Choices, is_called
from topicschema.core.formats.avro.resolution.unions import Equivalence, width
from topicschema.core.formats.avro.risks import messages
from topicschema.core.formats.avro.risks.logical import DECIMAL, logical
from topicschema.core.formats.avro.risks.messages import Risk, RiskRule
from topicschema.core.formats.format import Mismatch
from topicschema.core.steps import PER_FINDING, Steps

_PER_MEETING: Final = 8
_ROUNDED: Final = {("int", "float"), ("long", "float"), ("long", "double")}


def between(reader: Node, writer: Node, library: Library, steps: Steps, *, is_json: bool) -> tuple[Mismatch, ...]:
    """Return the risks in the reader's field order, each once.

    `is_json` is True if messages are JSON documents. These contain no type names, and the default of an enum does not
    replace unknown symbols.
    """
    walk = _Walk(Choices(reader, writer, library, steps), steps, Equivalence(steps), is_json=is_json)
    return tuple(dict.fromkeys(map(messages.mismatch, walk.over(reader, writer))))


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A type of the reader, the type that it reads, and in `within` the reader's field that contains both."""

    reader: Node
    writer: Node
    within: Field | None = None
    is_branch: bool = False


@dataclass(slots=True)
class _Walk:
    choices: Choices
    steps: Steps
    unions: Equivalence
    is_json: bool = field(kw_only=True)
    fields_by_name: dict[tuple[Record, bool], dict[str, Field]] = field(default_factory=dict)
    """The fields of each of the reader's records by name, and if True also by alias."""

    def over(self, reader: Node, writer: Node) -> Iterator[Risk]:
        visited: set[tuple[Node, Node]] = set()
        ahead = [] if fingerprint.equal(reader, writer) else [_Meeting(reader, writer)]  # aliases have no effect then
        while ahead:
            meeting = ahead.pop()
            pair = meeting.reader, meeting.writer
            if pair in visited:
                continue
            visited.add(pair)
            self.steps.take(_PER_MEETING + width(meeting.reader) + width(meeting.writer))
            if isinstance(meeting.reader, Union) or isinstance(meeting.writer, Union):
                ahead.extend(reversed(self._branches(meeting)))
                continue
            for rule in self._rules(meeting):
                self.steps.take(PER_FINDING)
                yield Risk(rule, meeting.reader, meeting.writer, meeting.within, is_json=self.is_json)
            if isinstance(meeting.reader, Record) and isinstance(meeting.writer, Record):
                fields = self._fields(meeting.reader, meeting.writer)
                yield from self._by_alias(fields)
                ahead.extend(
                    _Meeting(read.type, written.type, read)
                    for read, written in reversed(fields)
                    if not self._are_equal(read.type, written.type)
                )
            elif isinstance(meeting.reader, Array | Map) and meeting.reader.__class__ is meeting.writer.__class__:
                ahead.append(_Meeting(meeting.reader.children[0], meeting.writer.children[0], meeting.within))

    def _branches(self, meeting: _Meeting) -> list[_Meeting]:
        reader, writer = meeting.reader, meeting.writer
        pairs: list[tuple[Node | None, Node]]
        if isinstance(reader, Union) and isinstance(writer, Union) and self.unions.holds(writer, reader):
            pairs = list(zip(reader.branches, writer.branches, strict=True))
        else:
            written = writer.branches if isinstance(writer, Union) else (writer,)
            pairs = [
                (self.choices.branch(reader, each) if isinstance(reader, Union) else reader, each) for each in written
            ]
        return [
            _Meeting(read, each, meeting.within, is_branch=True)
            for read, each in pairs
            if read is not None and not self._are_equal(read, each)
        ]

    def _are_equal(self, reader: Node, writer: Node) -> bool:
        """Return True if a cheap comparison shows that the two are equal, and so have no risk. Most parts are."""
        if reader is writer:
            return True
        if reader.__class__ is not writer.__class__:
            return False
        if isinstance(reader, Union) and isinstance(writer, Union):
            self.steps.take(len(reader.branches))
            return len(reader.branches) == len(writer.branches) and all(
                map(_are_equal, reader.branches, writer.branches)
            )
        return _are_equal(reader, writer)

    def _fields(self, reader: Record, writer: Record) -> list[tuple[Field, Field]]:
        """Return the reader's fields that the writer has, each with the writer's, in the reader's order."""
        key = reader, is_called(writer, reader)
        names = self.fields_by_name.get(key)
        if names is None:
            names = self.fields_by_name[key] = {each.name: each for each in reader.fields}
            if key[1]:
                names |= {alias: each for each in reader.fields for alias in each.aliases}
        met = {names[written.name]: written for written in writer.fields if written.name in names}
        return [(read, met[read]) for read in reader.fields if read in met]

    def _by_alias(self, fields: Sequence[tuple[Field, Field]]) -> Iterator[Risk]:
        for read, written in fields if self.is_json else ():
            if read.name != written.name:
                self.steps.take(PER_FINDING)
                yield Risk(RiskRule.ALIAS_IN_JSON, read, written)

    def _rules(self, meeting: _Meeting) -> Iterator[RiskRule]:
        reader, writer = meeting.reader, meeting.writer
        if isinstance(reader, Primitive) and isinstance(writer, Primitive):
            yield from self._promotion(writer.kind, reader.kind)
        elif reader.__class__ is not writer.__class__:
            return  # the reader cannot read it, which `resolution` reports
        elif isinstance(reader, Named) and isinstance(writer, Named) and not is_called(writer, reader):
            yield from self._name(meeting, reader, writer)
        if isinstance(reader, Enum) and isinstance(writer, Enum) and not set(writer.symbols) <= set(reader.symbols):
            is_saved = reader.default is not None and not self.is_json
            yield RiskRule.ENUM_SYMBOL_REPLACED if is_saved else RiskRule.ENUM_SYMBOL_UNKNOWN
        yield from _logical(reader, writer)

    def _promotion(self, written: str, read: str) -> Iterator[RiskRule]:
        if (written, read) in _ROUNDED:
            yield RiskRule.NUMBER_ROUNDED
        elif (written, read) == ("bytes", "string") or (self.is_json and (written, read) == ("string", "bytes")):
            yield RiskRule.BYTES_AS_TEXT

    def _name(self, meeting: _Meeting, reader: Named, writer: Named) -> Iterator[RiskRule]:
        if self.is_json or reader.simple_name == writer.simple_name:
            if not is_called(reader, writer):  # an alias in either schema declares the new name
                yield RiskRule.CLASS_RENAMED
        elif isinstance(reader, Record):
            yield RiskRule.UNION_BRANCH_BY_STRUCTURE if meeting.is_branch else RiskRule.RECORD_RENAMED


def _are_equal(reader: Node, writer: Node) -> bool:
    """Return True if the two, which are no unions, have equal digests, or are equal primitives."""
    if reader is writer:
        return True
    if reader.__class__ is Primitive is writer.__class__:
        return reader.kind == writer.kind and reader.props == writer.props
    return bool(reader.digest) and reader.digest == writer.digest


def _logical(reader: Node, writer: Node) -> Iterator[RiskRule]:
    read, written = logical(reader), logical(writer)
    if read == written:
        return
    if read is None or written is None:
        yield RiskRule.LOGICAL_TYPE_ONE_SIDED
    elif not read.name == written.name == DECIMAL:
        yield RiskRule.LOGICAL_TYPE_CHANGED
    else:
        if read.scale != written.scale:
            yield RiskRule.DECIMAL_SCALE_CHANGED
        if read.precision < written.precision:
            yield RiskRule.DECIMAL_PRECISION_REDUCED
