"""Crashes of Avro 1.11.4 on recursive records, while it builds the grammar of two schemas.

ResolvingGrammarGenerator makes a sequence of symbols from every pair of records. Symbol.flatten copies into each
sequence, and into each array's and map's repeater, the symbols that it directly contains; unions only refer. Two errors
occur:

* A sequence that directly contains itself has no end (StackOverflowError, AVRO-2074).
* A sequence that is being flattened is copied later, when it is complete. But if it directly contains one that is not
  complete by then, the copies have a hole, on which the search for errors fails (NullPointerException).

Only records that are recursive through fields (`graph.traits`) can cause this; all others are not checked. The search
for errors does not enter the grammar of a skipped field. But Avro flattens that grammar, too, and with it the records
that it shares with the types that are read. So flattening may begin with another of these records than it would without
the field.
"""

from dataclasses import dataclass, field

from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.graph import cycles
from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.avro.model import Array, Map, Node, Primitive, Record, Union
from topicschema.core.formats.avro.names import shown
from topicschema.core.formats.avro.resolution.findings import Fault, ReadingRule, SchemaPair
from topicschema.core.formats.avro.resolution.unions import Equivalence
from topicschema.core.steps import Steps

_PER_SYMBOL = 5


@dataclass(slots=True)
class Decisions:
    """The decisions from the comparison of two schemas, by which the grammar is built."""

    unions: Equivalence
    pairs: dict[tuple[Record, Record], SchemaPair | None] = field(default_factory=dict)
    branches: dict[tuple[Record, Union], Record] = field(default_factory=dict)

    def __del__(self) -> None:
        """Separate pairs that contain each other: only the garbage collector would free them, and late."""
        for pair in self.pairs.values():
            if pair is not None:
                pair.parts = []


@dataclass(slots=True, eq=False)
class _Sequence:
    """A record's symbols; `parts` are in Avro's order, which reverses that of the fields.

    `writer` is the type that the reader's record is compared with, or the root of the writer if the record is read as
    it is.
    """

    reader: Record
    writer: Node
    parts: "list[_Symbol]" = field(default_factory=list)
    is_met: bool = False
    is_open: bool = False
    holds: "set[_Sequence]" = field(default_factory=set)
    """The open sequences that it directly contains and whose symbols it does not have yet."""
    awaited_by: "list[_Symbol]" = field(default_factory=list)
    """The symbols that were flattened in the meantime and wait for a copy of it."""


@dataclass(slots=True, eq=False)
class _Repeater:
    """An array or a map; it has one part."""

    parts: "list[_Symbol]"
    holds: set[_Sequence] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class _Alternative:
    """A union of either schema, or a field that the reader skips, which has one part."""

    parts: "list[_Symbol]" = field(default_factory=list)
    is_skipped: bool = False


_Symbol = _Sequence | _Repeater | _Alternative


def faults(writer: Node, reader: Node, decisions: Decisions, steps: Steps) -> list[Fault]:
    """Return a fault for each record on which Avro crashes; empty if the grammar can be built."""
    fingerprint.assign_digests(reader)
    fingerprint.assign_digests(writer)
    grammar = _Grammar(writer, decisions, steps)
    root = run(grammar.symbol(writer, reader))
    infinite = cycles.find(grammar.sequences, lambda each: [part for part in each.parts if isinstance(part, _Sequence)])
    if infinite is not None:
        return [Fault(ReadingRule.INFINITE_RECORD, infinite.reader, infinite.writer, shown(infinite.reader.full_name))]
    if root is None:
        return []
    run(grammar.add_skipped())
    holes: list[tuple[_Sequence, Fault]] = []
    run(_flatten(root, holes, steps))
    met = _searched(root, steps)
    return [fault for sequence, fault in holes if not met.isdisjoint(sequence.awaited_by)]


class _Grammar:
    """A builder of the symbols that can contain records; None represents all others."""

    def __init__(self, writer: Node, decisions: Decisions, steps: Steps) -> None:
        self._steps = steps
        self._writer = writer
        self._decided = decisions
        self._pairs: dict[tuple[Record, Record], _Sequence] = {}
        self._plain: dict[bytes | int, _Sequence] = {}
        self._skipped: list[tuple[_Alternative, Node]] = []

    def __del__(self) -> None:
        """Separate sequences that contain each other, as `Decisions` does with pairs."""
        for each in self.sequences:
            each.parts, each.holds, each.awaited_by = [], set(), []

    @property
    def sequences(self) -> list[_Sequence]:
        """All sequences made so far."""
        return [*self._pairs.values(), *self._plain.values()]

    def symbol(self, writer: Node, reader: Node) -> Computation[_Symbol | None]:
        """Return the symbol for reading `writer` with `reader`."""
        made: _Symbol | None = None
        self._steps.take(_PER_SYMBOL)
        if isinstance(writer, Union):
            if isinstance(reader, Union) and self._decided.unions.holds(writer, reader):
                made = yield self.plain(reader)
            else:
                made = yield self._alternative([(branch, reader) for branch in writer.branches])
        elif isinstance(reader, Union):
            branch = self._branch(writer, reader)
            made = (yield self._alternative([(writer, branch)])) if branch is not None else None
        elif isinstance(writer, Record) and isinstance(reader, Record):
            made = self._pairs.get((writer, reader)) or (yield self._pair(writer, reader))
        else:
            made = yield self._repeater(writer, reader)
        return made

    def _branch(self, writer: Node, reader: Union) -> Node | None:
        if isinstance(writer, Record):
            return self._decided.branches.get((writer, reader))
        self._steps.take(len(reader.branches))
        return next((branch for branch in reader.branches if branch.__class__ is writer.__class__), None)

    def _alternative(self, pairs: list[tuple[Node, Node]]) -> Computation[_Alternative]:
        made = _Alternative()
        for writer, reader in pairs:
            part = yield self.symbol(writer, reader)
            if part is not None:
                made.parts.append(part)
        return made

    def _repeater(self, writer: Node, reader: Node) -> Computation[_Repeater | None]:
        if not isinstance(writer, Array | Map) or writer.__class__ is not reader.__class__:
            return None
        part = yield self.symbol(writer.children[0], reader.children[0])
        return None if part is None else _Repeater([part])

    def _pair(self, writer: Record, reader: Record) -> Computation[_Sequence | None]:
        pair = self._decided.pairs.get((writer, reader))
        if pair is not None and pair.lacks_field:
            return None  # an error's symbol, which contains nothing
        made = self._pairs[writer, reader] = _Sequence(reader, writer)
        absent = {each.name: each for each in reader.fields}
        for written in writer.fields:
            read = absent.pop(written.name, None)
            if read is not None:
                yield self._add(made, self.symbol(written.type, read.type))
            elif not isinstance(written.type, Primitive):
                self._skipped.append((_Alternative(is_skipped=True), written.type))
                made.parts.append(self._skipped[-1][0])
        for read in absent.values():
            yield self._add(made, self.plain(read.type))
        made.parts.reverse()
        return made

    def add_skipped(self) -> Computation[None]:
        """Add the parts of skipped fields after those that are read: of two equal records, the reader's counts."""
        for skipped, node in self._skipped:
            part = yield self.plain(node)
            if part is not None:
                skipped.parts.append(part)

    def _add(self, sequence: _Sequence, step: Computation[_Symbol | None]) -> Computation[None]:
        part = yield step
        if part is not None:
            sequence.parts.append(part)

    def plain(self, node: Node) -> Computation[_Symbol | None]:
        """Return the symbol of a type that is read as it is: of an inserted default, or of a union of both."""
        made: _Symbol | None = None
        self._steps.take(_PER_SYMBOL)
        if isinstance(node, Record):
            # Avro caches these by the schemas' equality, not by their identity.
            made = self._plain.get(node.digest or id(node)) or (yield self._plain_record(node))
        elif isinstance(node, Union):
            made = _Alternative()
            for branch in node.branches:
                part = yield self.plain(branch)
                if part is not None:
                    made.parts.append(part)
        elif isinstance(node, Array | Map):
            part = yield self.plain(node.children[0])
            made = None if part is None else _Repeater([part])
        return made

    def _plain_record(self, node: Record) -> Computation[_Sequence]:
        made = self._plain[node.digest or id(node)] = _Sequence(node, self._writer)
        for each in node.fields:
            yield self._add(made, self.plain(each.type))
        made.parts.reverse()
        return made


def _flatten(symbol: _Symbol, holes: list[tuple[_Sequence, Fault]], steps: Steps) -> Computation[None]:
    steps.take(_PER_SYMBOL)
    if isinstance(symbol, _Sequence):
        if symbol.is_met:
            return
        symbol.is_met = symbol.is_open = True
    for part in symbol.parts:
        yield _flatten(part, holes, steps)
        if not isinstance(symbol, _Alternative):
            _copy(part, symbol, steps)
    if isinstance(symbol, _Sequence):
        symbol.is_open = False
        lacking = next((each for each in symbol.holds if each.is_open), None)
        if lacking is not None:
            inner = shown(lacking.reader.full_name)
            holes.append(
                (symbol, Fault(ReadingRule.RECURSIVE_RECORD_CRASHES_AVRO, symbol.reader, symbol.writer, inner))
            )


def _copy(part: _Symbol, into: _Sequence | _Repeater, steps: Steps) -> None:
    """Copy the contents of `part`. Register an open sequence for a later copy."""
    if isinstance(part, _Sequence):
        steps.take(len(part.holds))
        for each in (part,) if part.is_open else part.holds:
            if each.is_open:
                each.awaited_by.append(into)
                into.holds.add(each)


def _searched(root: _Symbol, steps: Steps) -> set[_Symbol]:
    """Return all symbols that the search for errors enters."""
    met, waiting = {root}, [root]
    while waiting:
        steps.take()
        for each in waiting.pop().parts:
            if each not in met and not (isinstance(each, _Alternative) and each.is_skipped):
                met.add(each)
                waiting.append(each)
    return met
