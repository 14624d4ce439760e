"""Compiler of two versions to a program: the next part of a writer's message, and the reader's use of it.

The rules are those of payload/avro for a single message, whose Resolver decides. Two versions on which Avro itself
fails become a program that reads no message. There is no recursion: pending parts wait in a list, the next one at its
end.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.doubles import is_array_of_doubles
from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union
from topicschema.payload.avro.defaults import DefaultMaker, UnfitError
from topicschema.payload.avro.resolving import Resolver
from topicschema.payload.columnar import reasons
from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.avro.program import LOST, NOWHERE, Program, ProgramBuilder, TooLargeError

_SAME: Final = Primitive(path="", kind="the same")
"""Placeholder for a reader's type: the writer's own."""
_DROPPED: Final = Primitive(path="", kind="dropped")
"""Placeholder for a reader's type: the value is dropped."""
_WHOLE: Final = (_SAME, _DROPPED)
_PLAIN: Final = {
    "boolean": (to.BOOLEAN, 0),
    "int": (to.INT, 0),
    "long": (to.LONG, 0),
    "float": (to.SIZED, 4),
    "double": (to.SIZED, 8),
    "bytes": (to.BYTES, 0),
    "string": (to.STRING, 0),
    "null": (to.EMPTY, 0),
}
_ROUNDED: Final = {
    ("int", "float"): (to.ROUNDED_INT, 24),
    ("long", "float"): (to.ROUNDED_LONG, 24),
    ("long", "double"): (to.ROUNDED_LONG, 53),
}
"""Promotions that may lose precision, with the bits of the reader's type."""

FIELD_DROPPED, PRECISION_LOST, SYMBOL_REPLACED, ARRAY_OF_DOUBLES_AS_FLOATS = range(len(LOST))
_NARROWED: Final = {"int": (to.ROUNDED_INT, 24), "long": (to.ROUNDED_LONG, 24), "double": (to.NARROWED, 0)}
"""Values that a float may not hold, by the kind of the writer."""


def compile_program(reader: AvroSchema, writer: AvroSchema) -> Program:
    """Return the program of two parsed AVRO schemas. Every pair has one."""
    try:
        return _Compiler(Resolver(writer.root, reader.root, reader.library)).program()
    except InvalidSchemaError:
        return _of_nothing(reasons.CANNOT_READ)
    except TooLargeError:
        return _of_nothing(reasons.SCHEMA_TOO_COMPLEX)


def _of_nothing(reason: int) -> Program:
    draft = ProgramBuilder()
    draft.add(to.FAIL, draft.path(NOWHERE, ""), reason)
    draft.begin_bodies()
    return draft.program


class _Spot:
    """Place of a value: its path, its depth in its body, and a flag for a union's branch.

    `mark` is the path in the form of an instruction. `is_float` is True if the reader stores its double as a float.
    """

    __slots__ = ("in_union", "is_float", "level", "mark", "path")

    def __init__(self, path: int, level: int, *, dropped: bool, in_union: bool = False, is_float: bool = False) -> None:
        self.path = path
        self.level = level
        self.mark = -1 - path if dropped else path
        self.in_union = in_union
        self.is_float = is_float


class _Compiler:
    """Compilation of one program."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._narrows = resolver.library.stores_doubles_as_floats
        self._draft = ProgramBuilder()
        self._ahead: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._calls: dict[tuple[Node, Node], list[int]] = {}
        self._counts = _uses(resolver.reader) | _uses(resolver.writer)
        self._is_called = False

    def program(self) -> Program:
        self._value(
            self._resolver.writer, self._resolver.reader, _Spot(self._draft.path(NOWHERE, ""), 0, dropped=False)
        )
        self._go_on()
        self._draft.add(to.END, 0)
        self._draft.begin_bodies()
        self._is_called = True
        bodies: dict[tuple[Node, Node], int] = {}
        while len(bodies) < len(self._calls):
            for key in [each for each in self._calls if each not in bodies]:
                bodies[key] = self._draft.at
                self._body(*key)
        for key, calls in self._calls.items():
            for call in calls:
                self._draft.aim(call, bodies[key])
        return self._draft.program

    def _body(self, writer: Node, reader: Node) -> None:
        assert isinstance(writer, Record)  # noqa: S101  # only records are called
        path = self._draft.path(NOWHERE, "")
        self._fields(writer, reader, _Spot(path, 1, dropped=reader is _DROPPED))
        self._go_on()
        self._draft.add(to.RETURN, path)

    def _go_on(self) -> None:
        while self._ahead:
            write, arguments = self._ahead.pop()
            write(*arguments)

    def _value(self, writer: Node, reader: Node, spot: _Spot) -> None:
        if writer is reader or (writer.digest and writer.digest == reader.digest):
            reader = _SAME
        if isinstance(writer, Union):
            self._union(writer, reader, spot)
            return
        if isinstance(reader, Union):
            chosen = self._resolver.branch(writer, reader)
            if chosen is None:
                self._misfit(writer, spot, before=True)
                return
            reader = chosen
        if (
            isinstance(writer, Record | Array | Map)
            and reader not in _WHOLE
            and reader.__class__ is not writer.__class__
        ):
            self._misfit(writer, spot, before=True)
            return
        self._BY_WRITER[writer.__class__](self, writer, reader, spot)

    def _misfit(self, writer: Node, spot: _Spot, *, before: bool) -> None:
        is_null = isinstance(writer, Primitive) and writer.kind == "null"
        operation = to.FAIL_BEFORE if before and spot.in_union else to.FAIL
        self._draft.add(operation, spot.mark, reasons.NULL_NOT_ALLOWED if is_null else reasons.CANNOT_READ)

    def _union(self, writer: Union, reader: Node, spot: _Spot) -> None:
        if isinstance(reader, Union) and self._resolver.is_same(writer, reader):
            writer, reader = reader, _SAME
        count = len(writer.branches)
        start = self._draft.reserve(count)
        self._draft.add(to.UNION, spot.mark, start, count)
        within = _Spot(spot.path, spot.level, dropped=spot.mark < 0, in_union=True, is_float=spot.is_float)
        jumps: list[int] = []
        empty = [number for number, branch in enumerate(writer.branches) if self._is_null(branch, reader)]
        written = [number for number in range(count) if number not in empty]
        self._ahead.append((self._end_union, (start, empty, jumps)))
        for number in reversed(written):
            self._ahead.append((self._end_branch, (jumps, number == written[-1])))
            self._ahead.append((self._value, (writer.branches[number], reader, within)))
            self._ahead.append((self._begin_branch, (start + number,)))

    def _is_null(self, branch: Node, reader: Node) -> bool:
        """Return True if the branch has nothing to read."""
        if not isinstance(branch, Primitive) or branch.kind != "null":
            return False
        chosen = self._resolver.branch(branch, reader) if isinstance(reader, Union) else reader
        return chosen in _WHOLE or (isinstance(chosen, Primitive) and chosen.kind == "null")

    def _begin_branch(self, entry: int) -> None:
        self._draft.table[entry] = self._draft.at

    def _end_branch(self, jumps: list[int], is_last: bool) -> None:  # noqa: FBT001  # waits in a list with its values
        if not is_last:
            jumps.append(self._draft.add(to.JUMP, 0))

    def _end_union(self, start: int, empty: list[int], jumps: list[int]) -> None:
        for jump in jumps:
            self._draft.aim(jump, self._draft.at)
        for number in empty:
            self._draft.table[start + number] = self._draft.at

    def _primitive(self, writer: Primitive, reader: Node, spot: _Spot) -> None:
        operation, size = _PLAIN[writer.kind]
        if spot.is_float and writer.kind in _NARROWED:
            operation, bits = _NARROWED[writer.kind]
            self._draft.add(operation, spot.mark, bits)
            self._draft.lose(ARRAY_OF_DOUBLES_AS_FLOATS, spot.path)
        elif reader in _WHOLE:
            self._draft.add(operation, spot.mark, size)
        elif not self._resolver.is_readable(writer, reader) or not isinstance(reader, Primitive):
            self._misfit(writer, spot, before=False)
        elif (writer.kind, reader.kind) in _ROUNDED:
            operation, bits = _ROUNDED[writer.kind, reader.kind]
            self._draft.add(operation, spot.mark, bits)
            self._draft.lose(PRECISION_LOST, spot.path)
        else:
            self._draft.add(to.STRING if reader.kind == "string" else operation, spot.mark, size)

    def _fixed(self, writer: Fixed, reader: Node, spot: _Spot) -> None:
        if reader not in _WHOLE and not self._resolver.is_readable(writer, reader):
            self._misfit(writer, spot, before=False)
        else:
            self._draft.add(to.SIZED if writer.size else to.EMPTY, spot.mark, writer.size)

    def _enum(self, writer: Enum, reader: Node, spot: _Spot) -> None:
        if reader not in _WHOLE and not self._resolver.is_readable(writer, reader):
            self._misfit(writer, spot, before=False)
            return
        symbols = set(reader.symbols) if isinstance(reader, Enum) else set(writer.symbols)
        if symbols.issuperset(writer.symbols):
            self._draft.add(to.ENUM, spot.mark, len(writer.symbols))
            return
        otherwise = to.REPLACED if isinstance(reader, Enum) and reader.default is not None else to.UNKNOWN
        start = self._draft.reserve(len(writer.symbols))
        self._draft.table[start:] = [to.UNCHANGED if symbol in symbols else otherwise for symbol in writer.symbols]
        self._draft.add(to.SYMBOL, spot.mark, start, len(writer.symbols))
        self._draft.lose(SYMBOL_REPLACED, spot.path)

    def _items(self, writer: Array | Map, reader: Node, spot: _Spot) -> None:
        level = spot.level + 1
        loop = self._draft.add(to.LOOP, spot.mark, 0, level)
        path = self._draft.path(spot.path, "[]" if isinstance(writer, Array) else "{}")
        is_float = self._narrows and is_array_of_doubles(writer if reader is _SAME else reader)
        item = _Spot(path, level, dropped=reader is _DROPPED, is_float=is_float)
        self._ahead.append((self._end_items, (loop, spot.mark)))
        if isinstance(writer, Map):
            self._draft.add(to.STRING, item.mark)
        self._ahead.append(
            (self._value, (writer.children[0], reader if reader in _WHOLE else reader.children[0], item))
        )

    def _end_items(self, loop: int, mark: int) -> None:
        self._draft.add(to.NEXT, mark, loop + 1)
        self._draft.aim(loop, self._draft.at)

    def _record(self, writer: Record, reader: Node, spot: _Spot) -> None:
        if self._counts.get(writer, 2) > 1 or spot.level > to.MAX_INLINED:
            call = self._draft.add(to.CALL, spot.mark, 0, spot.level)
            self._calls.setdefault((writer, reader), []).append(call)
        else:
            self._fields(writer, reader, _Spot(spot.path, spot.level + 1, dropped=reader is _DROPPED))

    def _fields(self, writer: Record, reader: Node, spot: _Spot) -> None:
        if self._is_called:
            self._draft.add(to.LEVEL, spot.mark, spot.level)
        if not writer.fields:
            self._draft.add(to.EMPTY, spot.mark)
        plan = self._resolver.plan(writer, reader) if isinstance(reader, Record) else None
        for field in plan.absent if plan else ():
            try:
                DefaultMaker().of(field)
            except UnfitError:
                path = self._draft.path(spot.path, f".{field.name}")
                self._draft.add(to.FAIL, path, reasons.MISSING_DEFAULT)
                return
        met = plan.met if plan else tuple((field, reader) for field in writer.fields)
        for field, target in reversed(met):
            self._ahead.append((self._field, (field.name, field.type, target, spot)))

    def _field(self, name: str, writer: Node, reader: Node | None, spot: _Spot) -> None:
        path = self._draft.path(spot.path, f".{name}")
        if reader is None:
            reader = _DROPPED
            self._draft.lose(FIELD_DROPPED, path)
        self._value(writer, reader, _Spot(path, spot.level, dropped=reader is _DROPPED))

    _BY_WRITER: ClassVar[Mapping[type[Node], Any]] = {
        Primitive: _primitive,
        Fixed: _fixed,
        Enum: _enum,
        Array: _items,
        Map: _items,
        Record: _record,
    }


def _uses(root: Node) -> dict[Record, int]:
    """Return the records, each with its number of uses. One with one use is read inline, others are called."""
    counts: dict[Record, int] = {}
    ahead = [root]
    while ahead:
        node = ahead.pop()
        if isinstance(node, Record):
            counts[node] = counts.get(node, 0) + 1
            if counts[node] > 1:
                continue
        ahead += node.children
    return counts
