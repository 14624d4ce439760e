"""Resolver: the data of a writer that a reader cannot read, exactly as Pulsar's broker decides.

The broker calls Avro's SchemaValidator, which builds the resolving grammar (Resolver.resolve,
ResolvingGrammarGenerator) and searches it for an error. The results differ from those of Avro's SchemaCompatibility,
and slightly from the specification. This module takes the same steps in the same order, because the choice of a union's
branch depends on the current state of records that are still being compared. An exception in Avro is a fault like
others. This module collects faults; `findings` selects those that count and words them.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import GeneratorType
from typing import Any, ClassVar, cast

from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.traits import InfiniteRecords, traits_of
from topicschema.core.formats.avro.graph.trampoline import Computation, run, settled
from topicschema.core.formats.avro.model import ABSENT, Array, Enum, Field, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.formats.avro.names import shown
from topicschema.core.formats.avro.resolution import aliases, crashes
from topicschema.core.formats.avro.resolution.branch_index import BranchIndex
from topicschema.core.formats.avro.resolution.crashes import Decisions
from topicschema.core.formats.avro.resolution.default_encoding import DefaultTrials, is_plain_null, never_read_back
from topicschema.core.formats.avro.resolution.findings import (
    Fault,
    Nested,
    ReadingRule,
    SchemaPair,
    TypeOutcome,
    inner,
    inner_later,
    mismatches,
)
from topicschema.core.formats.avro.resolution.promotions import READ_BY
from topicschema.core.formats.avro.resolution.unions import Equivalence
from topicschema.core.formats.format import Mismatch
from topicschema.core.steps import PER_PAIR, PER_TRY, Steps, TooComplexError

_Answer = Any  # an Outcome or None; or, if the computation may be deep, the Step that returns it


def unreadable(
    reader: Node, writer: Node, library: Library = Library.AVRO_1_11, steps: Steps | None = None
) -> tuple[Mismatch, ...]:
    """Return a mismatch for each part of `writer`'s data that `reader` cannot read, in the reader's field order.

    The result is empty exactly when the SchemaValidator of that Avro library, with the canRead strategy, accepts the
    two. Raise TooComplexError if the remaining `steps` do not suffice.
    """
    steps = steps or Steps()
    traits = traits_of(reader)
    same = fingerprint.equal(reader, writer)
    if same and not traits.is_recursive_through_fields:
        return ()
    renamed, faults = aliases.apply(writer, reader, library, steps) if traits.is_aliased and not same else (writer, [])
    resolution = Resolution(reader, library, steps)
    outcome = resolution.resolve(renamed, reader)
    if traits.is_recursive_through_fields:
        faults += crashes.faults(renamed, reader, resolution.decided, steps)
    if outcome is None and not (faults or resolution.fatal):
        return ()
    return mismatches(outcome, faults + resolution.fatal, steps)


class Resolution:
    """One comparison: its decisions, and the faults on which Avro throws."""

    def __init__(self, root: Node, library: Library, steps: Steps) -> None:
        self.branch_index = BranchIndex(root, steps)
        self.decided = Decisions(Equivalence(steps))
        self.fatal: list[Fault] = []
        self._is_recursive_through_fields = traits_of(root).is_recursive_through_fields
        self._pairs = self.decided.pairs
        self._unions = self.decided.unions
        self._infinite = InfiniteRecords(steps)
        self._defaults = DefaultTrials(library, steps)
        self._steps = steps
        self._final: dict[tuple[Record, Union], TypeOutcome | None] = {}
        """The outcome of choosing a branch, if it depends on no open pair."""
        self._uses_of_open = 0

    def resolve(self, writer: Node, reader: Node) -> TypeOutcome | None:
        """Return the outcome of reading `writer` with `reader`, or None if it is readable."""
        answer = self._BY_WRITER[writer.__class__](self, writer, reader)
        return cast("TypeOutcome | None", run(answer) if answer.__class__ is GeneratorType else answer)

    def branch(self, writer: Record, reader: Union) -> Record | None:
        """Return the branch, or None, for a record whose name no branch has, as chosen when comparing the schemas."""
        if (writer, reader) not in self.decided.branches:
            with suppress(TooComplexError):
                run(self._choose(writer, reader))
        return self.decided.branches.get((writer, reader))

    def _step(self, writer: Node, reader: Node) -> Computation[TypeOutcome | None]:
        answer = self._BY_WRITER[writer.__class__](self, writer, reader)  # evaluated when the step runs
        return cast("TypeOutcome | None", (yield answer) if answer.__class__ is GeneratorType else answer)

    def _primitive(self, writer: Primitive, reader: Node) -> _Answer:
        readable = READ_BY[writer.kind]
        if reader.__class__ is Primitive:
            return None if reader.kind in readable else Fault(ReadingRule.TYPE_MISMATCH, reader, writer)
        if reader.__class__ is not Union:
            return Fault(ReadingRule.TYPE_MISMATCH, reader, writer)
        self._steps.take(len(reader.branches))
        for branch in reader.branches:
            if branch.__class__ is Primitive and branch.kind in readable:
                return None
        return Fault(ReadingRule.NO_UNION_BRANCH, reader, writer)

    def _named(self, writer: Enum | Fixed, reader: Node) -> _Answer:
        if reader.__class__ is writer.__class__:
            if writer.simple_name != reader.simple_name:
                return Fault(ReadingRule.NAME_MISMATCH, reader, writer)
            return _size_fault(writer, reader)
        if reader.__class__ is not Union:
            return Fault(ReadingRule.TYPE_MISMATCH, reader, writer)
        self._steps.take(len(reader.branches))
        for branch in reader.branches:
            if branch.__class__ is writer.__class__ and branch.full_name == writer.full_name:
                return inner(_size_fault(writer, branch))
        return Fault(ReadingRule.NO_UNION_BRANCH, reader, writer)

    def _repeated(self, writer: Array | Map, reader: Node) -> _Answer:
        self._steps.take(len(reader.branches) if isinstance(reader, Union) else 1)
        if reader.__class__ is Union:
            branch = next((each for each in reader.branches if each.__class__ is writer.__class__), None)
            if branch is None:
                return Fault(ReadingRule.NO_UNION_BRANCH, reader, writer)
            reader = branch
        if reader.__class__ is not writer.__class__:
            return Fault(ReadingRule.TYPE_MISMATCH, reader, writer)
        return self._within(writer.children[0], reader.children[0])

    def _within(self, writer: Node, reader: Node) -> _Answer:
        if writer.__class__ is Primitive:
            return inner(self._primitive(writer, reader))
        return inner_later(self._step(writer, reader))

    def _union(self, writer: Union, reader: Node) -> _Answer:
        if reader.__class__ is Union and self._unions.holds(writer, reader):
            return None
        return self._each_branch(writer.branches, reader)

    def _each_branch(self, branches: Sequence[Node], reader: Node) -> Computation[TypeOutcome | None]:
        parts: list[TypeOutcome] = []
        self._steps.take(len(branches))
        for branch in branches:
            answer = self._BY_WRITER[branch.__class__](self, branch, reader)
            if answer.__class__ is GeneratorType:
                answer = yield answer
            if answer.__class__ is Fault and answer.rule is ReadingRule.TYPE_MISMATCH:
                answer = Fault(ReadingRule.UNION_BRANCH_UNREADABLE, reader, branch)
            if answer is not None:
                parts.append(answer)
        return Nested(tuple(parts)) if parts else None

    def _record(self, writer: Record, reader: Node) -> _Answer:
        if reader.__class__ is Record:
            return self._pair(writer, reader)
        if reader.__class__ is Union:
            key = writer, reader
            if key in self._final:
                return self._final[key]
            same_name = self.branch_index.same_name(writer, reader)
            return self._choose(writer, reader) if same_name is None else self._in_branch(writer, same_name)
        return Fault(ReadingRule.TYPE_MISMATCH, reader, writer)

    def _in_branch(self, writer: Record, branch: Record) -> _Answer:
        answer = self._pair(writer, branch)
        return inner_later(answer) if answer.__class__ is GeneratorType else inner(answer)

    def _choose(self, writer: Record, reader: Union) -> Computation[TypeOutcome | None]:
        """Choose the branch of the full name, else one of the same structure. Return its outcome."""
        self._steps.take(2 * PER_TRY)
        tried: dict[Record, SchemaPair] = {}
        uses_before = self._uses_of_open
        candidates = self.branch_index.candidates(writer, reader)
        chosen = yield (
            self._of_all(writer, reader, tried) if candidates is None else self._first(writer, candidates, tried)
        )
        outcome: TypeOutcome | None
        if chosen is None:
            outcome = Fault(ReadingRule.NO_UNION_BRANCH, reader, writer, tried=tuple(tried.values())[:2])
        else:
            self.decided.branches[writer, reader] = chosen
            outcome = yield settled(self._in_branch(writer, chosen))
        if self._uses_of_open == uses_before:
            self._final[writer, reader] = outcome
        return outcome

    def _of_all(self, writer: Record, reader: Union, tried: dict[Record, SchemaPair]) -> Computation[Record | None]:
        """Return the chosen branch.

        Try all branches before the one of the full name, as in Avro: a trial adds its pair to the known ones.
        """
        chosen: Record | None = None
        own_name = writer.simple_name
        for branch in reader.branches:
            if branch.__class__ is not Record:
                continue
            if branch.full_name == writer.full_name:
                return branch
            self._steps.take(PER_TRY)
            answer = self._pair(writer, branch)
            if answer.__class__ is GeneratorType:
                answer = yield answer
            if not _takes(answer, branch, tried):
                continue
            if chosen is None or (branch.full_name.endswith(own_name) and branch.simple_name == own_name):
                chosen = branch
        return chosen

    def _first(
        self, writer: Record, candidates: Iterable[Record], tried: dict[Record, SchemaPair]
    ) -> Computation[Record | None]:
        for branch in candidates:
            self._steps.take(PER_TRY)
            answer = yield settled(self._pair(writer, branch))
            if _takes(answer, branch, tried):
                return branch
        return None

    def _pair(self, writer: Record, reader: Record) -> _Answer:
        key = writer, reader
        if key in self._pairs:
            known = self._pairs[key]
            self._uses_of_open += known is not None and known.is_open
            return known
        if writer.digest and writer.digest == reader.digest and not self._is_recursive_through_fields:
            return None
        pair = self._pairs[key] = SchemaPair(writer, reader)
        return self._fields(pair)

    def _fields(self, pair: SchemaPair) -> Computation[TypeOutcome | None]:
        self._steps.take(PER_PAIR + len(pair.writer.fields) + len(pair.reader.fields))
        absent = {each.name: each for each in pair.reader.fields}
        for written in pair.writer.fields:
            read = absent.pop(written.name, None)
            if read is None:
                self._skip(pair, written)
                continue
            answer = self._BY_WRITER[written.type.__class__](self, written.type, read.type)
            if answer.__class__ is GeneratorType:
                answer = yield answer
            if answer is not None:
                pair.add(read, answer)
        if absent:
            yield self._put_in(pair, absent.values())
        pair.is_open = False
        if pair.parts:
            return pair
        self._pairs[pair.writer, pair.reader] = None
        return None

    def _put_in(self, pair: SchemaPair, absent: Iterable[Field]) -> Computation[None]:
        """Add the faults of fields that only the reader has and for which Avro cannot insert a default.

        Avro throws on a default that it cannot encode, unless an earlier field has no default at all.
        """
        lacking = False
        for read in absent:
            if read.default is ABSENT:
                lacking = True
                pair.parts.append((read, Fault(ReadingRule.FIELD_WITHOUT_DEFAULT, read, pair.writer)))
                continue
            failure: Any = self._defaults.of(read)
            if failure.__class__ is GeneratorType:
                failure = yield failure
            if failure is None and self._is_recursive_through_fields and not is_plain_null(read):
                infinite = self._infinite.within(read.type)  # Avro reads it back with a grammar, which must be finite
                failure = None if infinite is None else never_read_back(infinite)
            if failure is not None:
                fault = Fault(ReadingRule(failure[0]), read, pair.writer, failure[1])
                pair.parts.append((read, Nested((fault,))))
                if not lacking:
                    self.fatal.append(fault)
        pair.lacks_field = lacking

    def _skip(self, pair: SchemaPair, written: Field) -> None:
        """Add a fault for an infinite field that only the writer has. Avro skips its data, but builds its grammar."""
        infinite = None if written.type.__class__ is Primitive else self._infinite.within(written.type)
        if infinite is not None:
            pair.parts.append(
                (None, Fault(ReadingRule.INFINITE_RECORD, pair.reader, infinite, shown(infinite.full_name)))
            )

    # Functions, not bound methods: a comparison with a reference to itself would wait for the garbage collector.
    _BY_WRITER: ClassVar[Mapping[type[Node], Any]] = {
        Primitive: _primitive,
        Record: _record,
        Union: _union,
        Array: _repeated,
        Map: _repeated,
        Enum: _named,
        Fixed: _named,
    }


def _size_fault(writer: Enum | Fixed, reader: Enum | Fixed) -> Fault | None:
    if isinstance(writer, Fixed) and isinstance(reader, Fixed) and writer.size != reader.size:
        return Fault(ReadingRule.FIXED_SIZE, reader, writer)
    return None


def _takes(answer: TypeOutcome | None, branch: Record, tried: dict[Record, SchemaPair]) -> bool:
    """Return True if a branch takes a record; `answer` is the outcome of comparing the two."""
    if not isinstance(answer, SchemaPair) or not (answer.lacks_field or answer.wrong_field):
        return True
    tried.pop(branch, None)  # a branch that is tried again moves to the end
    tried[branch] = answer
    return False
