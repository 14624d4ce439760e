"""Avro messages read with another version than that of the writer, as Java's ResolvingDecoder (1.11) reads them.

The writer's version describes the bytes, the reader's version the value. A part that cannot be read is refused only if
a message has it (UNRESOLVABLE): most messages may be readable although the versions are incompatible. Source of the
choice of a union's branch: Resolver.ReaderUnion, like core's `resolution` for the broker's verdict.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, ClassVar, Final

from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.trampoline import Computation
from topicschema.core.formats.avro.model import Array, Enum, Field, Fixed, Map, Named, Node, Primitive, Record, Union
from topicschema.core.formats.avro.resolution.promotions import READ_BY
from topicschema.core.formats.avro.resolution.resolver import Resolution, unreadable
from topicschema.core.formats.avro.resolution.unions import Equivalence
from topicschema.core.steps import Steps, TooComplexError
from topicschema.payload import numbers, text
from topicschema.payload.avro import renaming
from topicschema.payload.avro.defaults import DefaultMaker, UnfitError
from topicschema.payload.avro.reading import Reading
from topicschema.payload.avro.wire import Block
from topicschema.payload.finding import PayloadFinding, Unreadable
from topicschema.payload.path import MapEntry, Path

_UNCHANGED: Final = frozenset({("int", "int"), ("int", "long"), ("long", "long")})


class Resolver:
    """Two versions, compared as far as messages need it, for any number of messages.

    Raises InvalidSchemaError, with the rule, if Avro's library fails on the two versions for any message.
    """

    def __init__(self, writer: Node, reader: Node, library: Library) -> None:
        once = renaming.renamed(writer, reader, library)
        self.writer = once if once is writer else renaming.renamed(once, reader, library)
        self.reader = reader
        self.library = library
        self._unions = Equivalence(Steps(sys.maxsize))
        self._chosen: dict[tuple[Node, Union], Node | None] = {}
        self._same: dict[tuple[Union, Union], bool] = {}
        self._plans: dict[tuple[Record, Record], _Plan] = {}
        self._readable: dict[tuple[Node, Node], bool] = {}
        with suppress(TooComplexError):  # no such version is admitted after the other
            renaming.demand_no_break(unreadable(reader, once, library))  # which renames it once more
        self._resolution = Resolution(reader, library, Steps())
        self._is_compared = False

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        """Return the value by the reader's version.

        Tolerated faults are added to `findings`; others raise Unreadable.
        """
        reading = _Resolving(self, payload, findings)
        return reading.all_of(reading.resolved(self.writer, self.reader, None))

    def plan(self, writer: Record, reader: Record) -> "_Plan":
        """Return the plan for reading the writer's record as the reader's."""
        key = writer, reader
        if key not in self._plans:
            reader_fields = {field.name: field for field in reader.fields}
            met = tuple(
                (each, reader_fields[each.name].type if each.name in reader_fields else None) for each in writer.fields
            )
            written = {each.name for each in writer.fields}
            absent = tuple(each for each in reader.fields if each.name not in written)
            self._plans[key] = _Plan(absent, met, tuple(reader_fields))
        return self._plans[key]

    def is_readable(self, writer: Node, reader: Node) -> bool:
        """Return True if every value of the writer's type, which holds no others, can be read as the reader's type."""
        key = writer, reader
        if key not in self._readable:
            self._readable[key] = _is_readable(writer, reader)
        return self._readable[key]

    def is_same(self, writer: Union, reader: Union) -> bool:
        """Return True if Avro considers two unions equal, and reads the writer's with the reader's branches."""
        key = writer, reader
        if key not in self._same:
            self._same[key] = self._unions.holds(writer, reader)
        return self._same[key]

    def branch(self, writer: Node, reader: Union) -> Node | None:
        """Return the reader's branch for a writer's value, or None."""
        key = writer, reader
        if key not in self._chosen:
            self._chosen[key] = self._choose(writer, reader)
        return self._chosen[key]

    def _choose(self, writer: Node, reader: Union) -> Node | None:
        alike = [branch for branch in reader.branches if branch.__class__ is writer.__class__]
        if isinstance(writer, Named):
            named = [each for each in alike if isinstance(each, Named)]
            exact = next((each for each in named if each.full_name == writer.full_name), None)
            return exact or (self._structure(writer, reader) if isinstance(writer, Record) and named else None)
        if not isinstance(writer, Primitive):
            return alike[0] if alike else None
        kinds = [branch for branch in alike if isinstance(branch, Primitive)]
        branch = next((each for each in kinds if each.kind == writer.kind), None)
        return branch or next((each for each in kinds if each.kind in READ_BY[writer.kind]), None)

    def _structure(self, writer: Record, reader: Union) -> Record | None:
        """Return a record that fits by its fields. Like Avro, the search does not enter arrays and maps."""
        if not self._is_compared:
            self._is_compared = True
            self._resolution.resolve(self.writer, self.reader)
        return self._resolution.branch(writer, reader)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Plan for reading a writer's record as a reader's.

    `absent` are the reader's fields that are not written. `met` are the written ones, each with the type that it is
    read as, or None if it is skipped. `names` are the reader's.
    """

    absent: tuple[Field, ...]
    met: tuple[tuple[Field, Node | None], ...]
    names: tuple[str, ...]


class _Resolving(Reading):
    """Reading of one message."""

    __slots__ = ("_defaults", "_resolver")

    def __init__(self, resolver: Resolver, payload: bytes, findings: list[PayloadFinding]) -> None:
        super().__init__(payload, findings, library=resolver.library)
        self._resolver = resolver
        self._defaults = DefaultMaker()

    def resolved(self, writer: Node, reader: Node, path: Path | None) -> Any:
        """Return the value that begins here, or the step that reads it."""
        start = self.at
        while isinstance(writer, Union):
            if isinstance(reader, Union) and self._resolver.is_same(writer, reader):
                return self.begin(reader, path)
            writer = self.branch(writer, path)
        if isinstance(reader, Union):
            chosen = self._resolver.branch(writer, reader)
            if chosen is None:
                raise self._unresolvable("no branch of the reader's union takes what was written", start, path)
            reader = chosen
        resolve = self._RESOLVED.get(writer.__class__)
        if resolve is None:
            return self._leaf(writer, reader, path)
        if writer.__class__ is not reader.__class__:
            raise self._misfit(writer, reader, start, path)
        return resolve(self, writer, reader, path)

    def _resolve_record(self, writer: Record, reader: Record, path: Path | None) -> Computation[dict[str, Any]]:
        self.enter(path)
        if not writer.fields:
            self.spend_empty(path)
        plan = self._resolver.plan(writer, reader)
        read = self._put_in(plan, path)
        for field, reader_type in plan.met:
            below = path, field.name
            self.is_skipping = reader_type is None
            value = (
                self.begin(field.type, below) if reader_type is None else self.resolved(field.type, reader_type, below)
            )
            if value.__class__ is GeneratorType:
                value = yield value
            self.is_skipping = False
            if reader_type is not None:
                read[field.name] = value
        self.leave()
        return {name: read[name] for name in plan.names}

    def _put_in(self, plan: _Plan, path: Path | None) -> dict[str, Any]:
        """Return the defaults of the fields that were not written."""
        put: dict[str, Any] = {}
        for field in plan.absent:
            try:
                put[field.name] = self._defaults.of(field)
            except UnfitError:
                message = "the writer's record does not have the field, and the reader's has no default for it"
                raise self._unresolvable(message, self.at, (path, field.name)) from None
        return put

    def _resolve_array(self, writer: Array, reader: Array, path: Path | None) -> Computation[list[Any]]:
        start = self.at
        self.enter(path)
        values: list[Any] = []
        while count := (block := Block(self, path)).count:
            integers = self.integers(_integers(writer.items, reader.items), count)
            values += integers
            for _ in range(count - len(integers)):
                value = self.resolved(writer.items, reader.items, (path, len(values)))
                values.append((yield value) if value.__class__ is GeneratorType else value)
            block.end(self, path)
        self.leave()
        return self.stored(values, reader, start, path)

    def _resolve_map(self, writer: Map, reader: Map, path: Path | None) -> Computation[dict[str, Any]]:
        self.enter(path)
        values: dict[str, Any] = {}
        number = 0
        while count := (block := Block(self, path)).count:
            for _ in range(count):
                below = path, MapEntry(number)
                key = self.read_string(below)
                value = self.resolved(writer.values, reader.values, below)
                values[key] = (yield value) if value.__class__ is GeneratorType else value
                number += 1
            block.end(self, path)
        self.leave()
        return values

    def _leaf(self, writer: Node, reader: Node, path: Path | None) -> Any:
        start = self.at
        if not self._resolver.is_readable(writer, reader):
            raise self._misfit(writer, reader, start, path)
        value = self.begin(writer, path)
        if isinstance(writer, Primitive) and isinstance(reader, Primitive):
            return self._promoted(value, writer.kind, reader.kind, path)
        if isinstance(reader, Enum) and value not in reader.symbols:
            if reader.default is None:
                raise self._unresolvable("the reader's enum has not the symbol that was written", start, path)
            return reader.default
        return value

    def _promoted(self, value: Any, written: str, target: str, path: Path | None) -> Any:
        if written == target:
            return value
        if target == "string":
            content, malformed = text.decode(value)
            if malformed is not None:
                where = self.at - len(value) + malformed
                self.note("INVALID_UTF8", "these bytes are not UTF-8; Java reads U+FFFD in their place", where, path)
            return content
        if target == "bytes":
            return text.encode(value)
        return numbers.nearest_float(value) if target == "float" else float(value) if target == "double" else value

    def _misfit(self, writer: Node, reader: Node, start: int, path: Path | None) -> Unreadable:
        message = f"what was written as {_kind(writer)} cannot be read as this {_kind(reader)}"
        return self._unresolvable(message, start, path)

    def _unresolvable(self, message: str, start: int, path: Path | None) -> Unreadable:
        return self.stop("UNRESOLVABLE", message, start, path)

    # Functions, not bound methods: a reading that refers to itself would need the garbage collector.
    _RESOLVED: ClassVar[Mapping[type[Node], Any]] = {Record: _resolve_record, Array: _resolve_array, Map: _resolve_map}


def _integers(writer: Node, reader: Node) -> str:
    """Return the kind of both if they are integers and reading changes none, otherwise ""."""
    if not isinstance(writer, Primitive) or not isinstance(reader, Primitive):
        return ""
    return writer.kind if (writer.kind, reader.kind) in _UNCHANGED else ""


def _is_readable(writer: Node, reader: Node) -> bool:
    """Return True if every value of the writer's type, which holds no others, can be read as the reader's type."""
    if isinstance(writer, Primitive):
        return isinstance(reader, Primitive) and reader.kind in READ_BY[writer.kind]
    if isinstance(writer, Fixed):
        return isinstance(reader, Fixed) and writer.simple_name == reader.simple_name and writer.size == reader.size
    return isinstance(writer, Enum) and isinstance(reader, Enum) and writer.simple_name == reader.simple_name


def _kind(node: Node) -> str:
    return node.kind if isinstance(node, Primitive) else node.__class__.__name__.lower()
