"""An Avro message read with another version than it was written with, as Java's ResolvingDecoder (1.11) reads it.

The writer's version says what the bytes are, the reader's what is made of them. What of it cannot be read is refused
where a message has it (UNRESOLVABLE): two versions that do not go together in all may do for most messages.
Which of a union's branches reads a value: Resolver.ReaderUnion, as core's `resolution` has it for the broker's verdict.
"""

from collections.abc import Mapping
from types import GeneratorType, MappingProxyType
from typing import Any, Final

from topicschema.core.formats.avro import resolution
from topicschema.core.formats.avro.library import Library
from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Named, Node, Primitive, Record, Union
from topicschema.core.formats.avro.stackless import Step, run
from topicschema.core.formats.avro.unions import Equivalence
from topicschema.payload import numbers, text
from topicschema.payload.avro import renaming
from topicschema.payload.avro.defaults import Defaults, UnfitError
from topicschema.payload.avro.reading import Block, Reading
from topicschema.payload.finding import Finding, Unreadable, tolerated, trailing
from topicschema.payload.path import Entry, Path

_PROMOTED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "int": frozenset({"long", "float", "double"}),
        "long": frozenset({"float", "double"}),
        "float": frozenset({"double"}),
        "string": frozenset({"bytes"}),
        "bytes": frozenset({"string"}),
    }
)
"""Which kinds read another one's values too."""


class Resolver:
    """Two versions, compared as far as messages ask for it; to be kept for many messages.

    InvalidSchemaError, with the rule, where Avro's library breaks down on the two, whatever a message holds.
    """

    def __init__(self, writer: Node, reader: Node, library: Library) -> None:
        self.writer = renaming.renamed(writer, reader, library)
        self.reader = reader
        self._library = library
        self._unions = Equivalence()
        self._chosen: dict[tuple[Node, Union], Node | None] = {}
        self._same: dict[tuple[Union, Union], bool] = {}
        renaming.demand_no_break(resolution.unreadable(reader, writer, library))

    def read(self, payload: bytes, found: list[Finding]) -> Any:
        """The value by the reader's version; what Java tolerates is added to `found`, Unreadable for the rest."""
        reading = _Resolving(self, payload, found)
        value = run(reading.resolved(self.writer, self.reader, None))
        if reading.at < len(payload):
            found.append(tolerated("TRAILING_BYTES", trailing(payload, reading.at, "the message"), reading.at))
        return value

    def is_same(self, writer: Union, reader: Union) -> bool:
        """Whether Avro takes two unions for one, and reads the writer's with the reader's branches."""
        key = writer, reader
        if key not in self._same:
            self._same[key] = self._unions.holds(writer, reader)
        return self._same[key]

    def branch(self, writer: Node, reader: Union) -> Node | None:
        """The reader's branch for a writer's value; None where there is none."""
        key = writer, reader
        if key not in self._chosen:
            self._chosen[key] = self._choose(writer, reader)
        return self._chosen[key]

    def _choose(self, writer: Node, reader: Union) -> Node | None:
        alike = [branch for branch in reader.branches if branch.__class__ is writer.__class__]
        if isinstance(writer, Named):
            named = [each for each in alike if isinstance(each, Named)]
            exact = next((each for each in named if each.full_name == writer.full_name), None)
            return exact or (self._structure(writer, named) if isinstance(writer, Record) else None)
        if not isinstance(writer, Primitive):
            return alike[0] if alike else None
        kinds = [branch for branch in alike if isinstance(branch, Primitive)]
        found = next((each for each in kinds if each.kind == writer.kind), None)
        return found or next((each for each in kinds if each.kind in _PROMOTED.get(writer.kind, ())), None)

    def _structure(self, writer: Record, named: list[Named]) -> Named | None:
        fitting = [each for each in named if not resolution.unreadable(each, writer, self._library)]
        same_name = [each for each in fitting if each.simple_name == writer.simple_name]
        return same_name[-1] if same_name else fitting[0] if fitting else None


class _Resolving(Reading):
    """The reading of one message."""

    __slots__ = ("_defaults", "_resolver")

    def __init__(self, resolver: Resolver, payload: bytes, found: list[Finding]) -> None:
        super().__init__(payload, found)
        self._resolver = resolver
        self._defaults = Defaults()

    def resolved(self, writer: Node, reader: Node, path: Path | None) -> Step[Any]:
        """The value that begins here."""
        start = self.at
        while isinstance(writer, Union):
            if isinstance(reader, Union) and self._resolver.is_same(writer, reader):
                return (yield from self._plain(reader, path))
            writer = self._branch(writer, path)
        if isinstance(reader, Union):
            chosen = self._resolver.branch(writer, reader)
            if chosen is None:
                raise self._unresolvable("no branch of the reader's union takes what was written", start, path)
            reader = chosen
        if isinstance(writer, Record | Array | Map):
            if writer.__class__ is not reader.__class__:
                raise self._misfit(writer, reader, start, path)
            return (yield self.held(self._holder(writer, reader, path), path))
        return self._leaf(writer, reader, path)

    def _plain(self, node: Node, path: Path | None) -> Step[Any]:
        """The value that begins here, read as it was written."""
        value = self.begin(node, path)
        return (yield value) if isinstance(value, GeneratorType) else value

    def _holder(self, writer: Node, reader: Any, path: Path | None) -> Step[Any]:
        if isinstance(writer, Record):
            return self._resolve_record(writer, reader, path)
        if isinstance(writer, Array):
            return self._resolve_array(writer, reader, path)
        assert isinstance(writer, Map)  # noqa: S101  # there is no other
        return self._resolve_map(writer, reader, path)

    def _resolve_record(self, writer: Record, reader: Record, path: Path | None) -> Step[dict[str, Any]]:
        if not writer.fields:
            self.count(path)
        wanted = {field.name: field for field in reader.fields}
        written = {field.name for field in writer.fields}
        start = self.at
        read: dict[str, Any] = {}
        for field in (each for each in reader.fields if each.name not in written):
            try:
                read[field.name] = self._defaults.of(field)
            except UnfitError:
                message = "the writer's record does not have the field, and the reader's has no default for it"
                raise self._unresolvable(message, start, Path(path, field.name)) from None
        for field in writer.fields:
            below = Path(path, field.name)
            if field.name in wanted:
                read[field.name] = yield self.resolved(field.type, wanted[field.name].type, below)
            else:
                yield self._plain(field.type, below)
        return {name: read[name] for name in wanted}

    def _resolve_array(self, writer: Array, reader: Array, path: Path | None) -> Step[list[Any]]:
        values: list[Any] = []
        while count := (block := Block(self, path)).count:
            for _ in range(count):
                values.append((yield self.resolved(writer.items, reader.items, Path(path, len(values)))))
            block.end(self, path)
        return values

    def _resolve_map(self, writer: Map, reader: Map, path: Path | None) -> Step[dict[str, Any]]:
        values: dict[str, Any] = {}
        number = 0
        while count := (block := Block(self, path)).count:
            for _ in range(count):
                below = Path(path, Entry(number))
                key = self.read_string(below)
                values[key] = yield self.resolved(writer.values, reader.values, below)
                number += 1
            block.end(self, path)
        return values

    def _leaf(self, writer: Node, reader: Node, path: Path | None) -> Any:
        start = self.at
        if not _is_readable(writer, reader):
            raise self._misfit(writer, reader, start, path)
        value = self.begin(writer, path)
        if isinstance(writer, Primitive) and isinstance(reader, Primitive):
            return self._promoted(value, writer.kind, reader.kind, path)
        if isinstance(reader, Enum) and value not in reader.symbols:
            if reader.default is None:
                raise self._unresolvable("the reader's enum has not the symbol that was written", start, path)
            return reader.default
        return value

    def _promoted(self, value: Any, written: str, wanted: str, path: Path | None) -> Any:
        if written == wanted:
            return value
        if wanted == "string":
            content, malformed = text.decode(value)
            if malformed is not None:
                where = self.at - len(value) + malformed
                self.note("INVALID_UTF8", "these bytes are not UTF-8; Java reads U+FFFD in their place", where, path)
            return content
        if wanted == "bytes":
            return text.encode(value)
        return numbers.nearest_float(value) if wanted == "float" else float(value) if wanted == "double" else value

    def _branch(self, writer: Union, path: Path | None) -> Node:
        start = self.at
        index = self.long("a union's index", path, numbers.INT)
        if not 0 <= index < len(writer.branches):
            raise self.stop(
                "UNION_INDEX",
                f"index {index}, but the union has {len(writer.branches)} branches, from index 0",
                start,
                path,
            )
        return writer.branches[index]

    def _misfit(self, writer: Node, reader: Node, start: int, path: Path | None) -> Unreadable:
        message = f"what was written as {_kind(writer)} cannot be read as this {_kind(reader)}"
        return self._unresolvable(message, start, path)

    def _unresolvable(self, message: str, start: int, path: Path | None) -> Unreadable:
        return self.stop("UNRESOLVABLE", message, start, path)


def _is_readable(writer: Node, reader: Node) -> bool:
    """Whether a value that holds no others can be read as the reader's type, whichever value it is."""
    if isinstance(writer, Primitive):
        return isinstance(reader, Primitive) and reader.kind in (writer.kind, *_PROMOTED.get(writer.kind, ()))
    if isinstance(writer, Fixed):
        return isinstance(reader, Fixed) and writer.simple_name == reader.simple_name and writer.size == reader.size
    return isinstance(writer, Enum) and isinstance(reader, Enum) and writer.simple_name == reader.simple_name


def _kind(node: Node) -> str:
    return node.kind if isinstance(node, Primitive) else node.__class__.__name__.lower()
