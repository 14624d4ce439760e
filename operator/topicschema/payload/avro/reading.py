"""Reader of Avro's binary encoding: a value, or the byte and the field at which it cannot be read.

Faults that a Java reader tolerates are findings as well: those of `wire`, and trailing bytes.
"""

import math
from collections.abc import Mapping
from types import GeneratorType
from typing import Any, ClassVar, Final

from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.doubles import is_array_of_doubles
from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.avro.model import Array, Enum, Field, Fixed, Map, Node, Primitive, Record, Union
from topicschema.payload import numbers
from topicschema.payload.avro.wire import PRIMITIVES, AvroWire, Block
from topicschema.payload.finding import PayloadFinding, tolerated, trailing
from topicschema.payload.path import MapEntry, Path

MAX_DEPTH: Final = 700
"""Maximum levels of records, arrays and maps.

Java's GenericDatumReader (JDK 17, x86-64, default stack) overflows in a new consumer at about 800 levels of records.
"""
_HOLDER: Final = 2
"""Values that a record, an array or a map counts for, besides those in it."""


def read(
    root: Node, payload: bytes, findings: list[PayloadFinding], *, library: Library | None = None, cuts: bool = False
) -> Any:
    """Return the value. Tolerated faults are added to `findings`; any other one raises Unreadable.

    The value is what a consumer with this release of Avro gets, or without one what was written. With `cuts`, a number
    loses excess bits, as in Java, and reading continues.
    """
    reading = Reading(payload, findings, library=library, cuts=cuts)
    return reading.all_of(reading.begin(root, None))


class Reading(AvroWire):
    """Reading of a payload by one schema."""

    __slots__ = ("_depth", "_flat", "_narrows")

    def __init__(
        self, payload: bytes, findings: list[PayloadFinding], *, library: Library | None = None, cuts: bool = False
    ) -> None:
        super().__init__(payload, findings, cuts=cuts)
        self._narrows = library is not None and library.stores_doubles_as_floats
        self._depth = 0
        self._flat: dict[Record, bool] = {}

    def all_of(self, begun: Any) -> Any:
        """Return the value that `begun` is or reads, with a finding if the payload has more bytes."""
        value = run(begun) if begun.__class__ is GeneratorType else begun
        if self.at < len(self.payload):
            message = trailing(self.payload, self.at, "the message")
            self._findings.append(tolerated("TRAILING_BYTES", message, self.at))
        return value

    def begin(self, node: Node, path: Path | None) -> Any:
        """Return the value of `node` that begins here, or the step that reads it if it may hold many others."""
        start = self.at
        while node.__class__ is Union:
            node = self.branch(node, path)
        self._left -= 1
        if self._left < 0:
            self.spend(0, path)
        if isinstance(node, Primitive):
            value = PRIMITIVES[node.kind](self, path)
        elif isinstance(node, Enum | Fixed):
            value = self._symbol(node, path) if isinstance(node, Enum) else self.take(node.size, "a fixed", path)
        else:
            return self._HOLDERS[node.__class__](self, node, path)
        if self.at == start:
            self.spend_empty(path)
        return value

    def branch(self, node: Node, path: Path | None) -> Node:
        """Return the branch of a union that the index here selects."""
        assert isinstance(node, Union)  # noqa: S101  # only a union has branches
        start = self.at
        index = self.long("a union's index", path, numbers.INT)
        if 0 <= index < len(node.branches):
            return node.branches[index]
        message = f"index {index}, but the union has {len(node.branches)} branches, from index 0"
        raise self.stop("UNION_INDEX", message, start, path)

    def enter(self, path: Path | None) -> None:
        """Enter a record, an array or a map."""
        self._depth += 1
        self.spend(_HOLDER, path)
        if self._depth > MAX_DEPTH:
            message = f"the values are nested more than {MAX_DEPTH} levels deep, and Java's stack may overflow"
            raise self.stop("TOO_DEEP", message, self.at, path)

    def leave(self) -> None:
        """Leave it."""
        self._depth -= 1

    def _record(self, node: Record, path: Path | None) -> Any:
        if not node.fields:
            self.spend_empty(path)
        if node not in self._flat:
            self._flat[node] = all(map(_is_flat, node.fields))
        if not self._flat[node]:
            return self._deep_record(node, path)
        self.enter(path)
        record = {field.name: self.begin(field.type, (path, field.name)) for field in node.fields}
        self.leave()
        return record

    def _deep_record(self, node: Record, path: Path | None) -> Computation[dict[str, Any]]:
        self.enter(path)
        record: dict[str, Any] = {}
        for field in node.fields:
            value = self.begin(field.type, (path, field.name))
            record[field.name] = (yield value) if value.__class__ is GeneratorType else value
        self.leave()
        return record

    def _array(self, node: Array, path: Path | None) -> Computation[list[Any]]:
        start = self.at
        self.enter(path)
        values: list[Any] = []
        while count := (block := Block(self, path)).count:
            integers = self.integers(node.items.kind, count) if isinstance(node.items, Primitive) else ()
            values += integers
            for _ in range(count - len(integers)):
                value = self.begin(node.items, (path, len(values)))
                values.append((yield value) if value.__class__ is GeneratorType else value)
            block.end(self, path)
        self.leave()
        return self.stored(values, node, start, path)

    def stored(self, values: list[Any], node: Array, start: int, path: Path | None) -> list[Any]:
        """Return the values of an array, which begins at byte `start`, as the library stores them."""
        if not self._narrows or self.is_skipping or not is_array_of_doubles(node):
            return values
        floats = [*map(numbers.nearest_float, values)]
        if any(each != value and not math.isnan(value) for each, value in zip(floats, values, strict=True)):
            message = "consumers with AUTO_CONSUME or a generated class get these doubles as floats, from Pulsar 4.1 on"
            self.note("ARRAY_OF_DOUBLES_AS_FLOATS", message, start, path)
        return floats

    def _map(self, node: Map, path: Path | None) -> Computation[dict[str, Any]]:
        self.enter(path)
        values: dict[str, Any] = {}
        number = 0
        while count := (block := Block(self, path)).count:
            for _ in range(count):
                below = path, MapEntry(number)
                key = self.read_string(below)
                value = self.begin(node.values, below)
                values[key] = (yield value) if value.__class__ is GeneratorType else value
                number += 1
            block.end(self, path)
        self.leave()
        return values

    def _symbol(self, node: Enum, path: Path | None) -> str:
        start = self.at
        index = self.long("an enum's index", path, numbers.INT)
        if 0 <= index < len(node.symbols):
            return node.symbols[index]
        message = f"index {index}, but the enum has {len(node.symbols)} symbols, from index 0"
        if self.is_skipping:  # where Java does not need the symbol
            self.note("ENUM_INDEX", message, start, path)
            return ""
        raise self.stop("ENUM_INDEX", message, start, path)

    # Functions, not bound methods: a reading that refers to itself would need the garbage collector.
    _HOLDERS: ClassVar[Mapping[type[Node], Any]] = {Record: _record, Array: _array, Map: _map}


def _is_flat(field: Field) -> bool:
    """Return True if the field's values hold no others."""
    kinds = field.type.branches if isinstance(field.type, Union) else (field.type,)
    return not any(isinstance(each, Record | Array | Map) for each in kinds)
