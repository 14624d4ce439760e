"""Compiler of two versions to a program: the next part of a writer's message, and the reader's use of it.

The rules are those of payload/avro for a single message, whose Resolver decides. Two versions on which Avro itself
fails become a program that reads no message. There is no recursion: pending parts wait in a list, the next one at its
end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.doubles import is_array_of_doubles
from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union
from topicschema.payload.avro.defaults import DefaultMaker, UnfitError
from topicschema.payload.avro.resolving import Resolver
from topicschema.payload.columnar import reasons
from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.avro import outputs
from topicschema.payload.columnar.avro.outputs import Target
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


def compile_program(reader: AvroSchema, writer: AvroSchema, target: Target | None = None) -> Program:
    """Return the program of two parsed AVRO schemas. Every pair has one.

    With a target, whose number is 0, the program also writes the reader's values into its columns.
    """
    try:
        return _Compiler(Resolver(writer.root, reader.root, reader.library), target).program()
    except InvalidSchemaError:
        return _of_nothing(reasons.CANNOT_READ)
    except TooLargeError:
        return _of_nothing(reasons.SCHEMA_TOO_COMPLEX)


def _of_nothing(reason: int) -> Program:
    draft = ProgramBuilder()
    draft.add(to.FAIL, draft.path(NOWHERE, ""), reason)
    draft.begin_bodies()
    return draft.program


@dataclass(slots=True, eq=False)  # a frozen one takes much longer to make
class _Spot:
    """Place of a value: its path, its depth in its body, and flags for a dropped value and for a union's branch.

    `is_float` is True if the reader stores its double as a float. `column` is the one that gets the value, or None.
    """

    path: int
    level: int
    dropped: bool
    in_union: bool = False
    is_float: bool = False
    column: Target | None = None

    @property
    def mark(self) -> int:
        """The path in the form of an instruction."""
        return -1 - self.path if self.dropped else self.path


class _Compiler:
    """Compilation of one program."""

    def __init__(self, resolver: Resolver, target: Target | None = None) -> None:
        self._resolver = resolver
        self._narrows = resolver.library.stores_doubles_as_floats
        self._draft = ProgramBuilder(writes=target is not None)
        self._ahead: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._calls: dict[tuple[Node, Node], list[int]] = {}
        self._counts = _uses(resolver.reader) | _uses(resolver.writer)
        self._is_called = False
        self._target = target
        self._targets: dict[tuple[Node, Node], Target | None] = {}
        self._base = 0

    def program(self) -> Program:
        spot = _Spot(self._draft.path(NOWHERE, ""), 0, dropped=False, column=self._target)
        self._value(self._resolver.writer, self._resolver.reader, spot)
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
        column = self._targets[writer, reader]
        self._base = column.number if column else 0
        self._fields(writer, reader, _Spot(path, 1, dropped=reader is _DROPPED, column=column))
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
            spot = self._chosen(reader, chosen, spot)
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
        within = replace(spot, in_union=True)
        jumps: list[int] = []
        empty = [number for number, branch in enumerate(writer.branches) if self._is_null(branch, reader)]
        written = [number for number in range(count) if number not in empty]
        self._ahead.append((self._end_union, (start, empty, jumps)))
        for number in reversed(written):
            self._ahead.append((self._end_branch, (jumps, number == written[-1])))
            self._ahead.append((self._branch, (writer, writer.branches[number], reader, within)))
            self._ahead.append((self._begin_branch, (start + number,)))

    def _is_null(self, branch: Node, reader: Node) -> bool:
        """Return True if the branch has nothing to read."""
        if not isinstance(branch, Primitive) or branch.kind != "null":
            return False
        chosen = self._resolver.branch(branch, reader) if isinstance(reader, Union) else reader
        return chosen in _WHOLE or (isinstance(chosen, Primitive) and chosen.kind == "null")

    def _begin_branch(self, entry: int) -> None:
        self._draft.table[entry] = self._draft.at

    def _branch(self, union: Union, branch: Node, reader: Node, spot: _Spot) -> None:
        self._value(branch, reader, self._chosen(union, branch, spot) if reader is _SAME else spot)

    def _chosen(self, union: Union, branch: Node, spot: _Spot) -> _Spot:
        """Return the spot of the branch of a reader's union, whose column may be another one."""
        if spot.column is None or spot.column.form != outputs.CHOICE:
            return spot
        column = spot.column.branch(union, branch)
        if column is not None:
            self._present(spot)
        return replace(spot, column=column)

    def _present(self, spot: _Spot) -> None:
        if spot.column is not None:
            self._store(self._draft.add(to.PRESENT, spot.mark), spot)

    def _store(self, instruction: int, spot: _Spot, table: int = 0) -> None:
        """Let the instruction write into the spot's column, if it has one."""
        column = spot.column
        if column is not None:
            form = outputs.NARROW if spot.is_float and column.form == outputs.DOUBLE else column.form
            self._draft.store(instruction, form, column.number - self._base, table)

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
            self._store(self._draft.add(operation, spot.mark, bits), spot)
            self._draft.lose(ARRAY_OF_DOUBLES_AS_FLOATS, spot.path)
        elif reader in _WHOLE:
            self._store(self._draft.add(operation, spot.mark, size), spot)
        elif not self._resolver.is_readable(writer, reader) or not isinstance(reader, Primitive):
            self._misfit(writer, spot, before=False)
        elif (writer.kind, reader.kind) in _ROUNDED:
            operation, bits = _ROUNDED[writer.kind, reader.kind]
            self._store(self._draft.add(operation, spot.mark, bits), spot)
            self._draft.lose(PRECISION_LOST, spot.path)
        else:
            operation = to.STRING if reader.kind == "string" else operation
            self._store(self._draft.add(operation, spot.mark, size), spot)

    def _fixed(self, writer: Fixed, reader: Node, spot: _Spot) -> None:
        if reader not in _WHOLE and not self._resolver.is_readable(writer, reader):
            self._misfit(writer, spot, before=False)
        else:
            self._store(self._draft.add(to.SIZED if writer.size else to.EMPTY, spot.mark, writer.size), spot)

    def _enum(self, writer: Enum, reader: Node, spot: _Spot) -> None:
        if reader not in _WHOLE and not self._resolver.is_readable(writer, reader):
            self._misfit(writer, spot, before=False)
            return
        symbols = set(reader.symbols) if isinstance(reader, Enum) else set(writer.symbols)
        numbers = self._numbers(writer, reader, spot.column)
        if symbols.issuperset(writer.symbols):
            self._store(self._draft.add(to.ENUM, spot.mark, len(writer.symbols)), spot, numbers)
            return
        otherwise = to.REPLACED if isinstance(reader, Enum) and reader.default is not None else to.UNKNOWN
        start = self._draft.reserve(len(writer.symbols))
        self._draft.table[start:] = [to.UNCHANGED if symbol in symbols else otherwise for symbol in writer.symbols]
        self._store(self._draft.add(to.SYMBOL, spot.mark, start, len(writer.symbols)), spot, numbers)
        self._draft.lose(SYMBOL_REPLACED, spot.path)

    def _numbers(self, writer: Enum, reader: Node, column: Target | None) -> int:
        """Return the place of the reader's numbers of the writer's symbols in the table. An unknown one has none."""
        if column is None:
            return 0
        otherwise = reader.default if isinstance(reader, Enum) else None
        start = self._draft.reserve(len(writer.symbols))
        unknown = -1 if otherwise is None else column.symbols[otherwise]
        self._draft.table[start:] = [column.symbols.get(symbol, unknown) for symbol in writer.symbols]
        return start

    def _items(self, writer: Array | Map, reader: Node, spot: _Spot) -> None:
        level = spot.level + 1
        loop = self._draft.add(to.LOOP, spot.mark, 0, level)
        self._store(loop, spot)
        path = self._draft.path(spot.path, "[]" if isinstance(writer, Array) else "{}")
        is_float = self._narrows and is_array_of_doubles(writer if reader is _SAME else reader)
        column = spot.column
        item = _Spot(path, level, dropped=reader is _DROPPED, is_float=is_float, column=column.item if column else None)
        self._ahead.append((self._end_items, (loop, spot)))
        if isinstance(writer, Map):
            self._store(
                self._draft.add(to.STRING, item.mark), replace(item, column=column.parts[0] if column else None)
            )
        self._ahead.append(
            (self._value, (writer.children[0], reader if reader in _WHOLE else reader.children[0], item))
        )

    def _end_items(self, loop: int, spot: _Spot) -> None:
        self._store(self._draft.add(to.NEXT, spot.mark, loop + 1), spot)
        self._draft.aim(loop, self._draft.at)

    def _record(self, writer: Record, reader: Node, spot: _Spot) -> None:
        if self._counts.get(writer, 2) > 1 or spot.level > to.MAX_INLINED:
            call = self._draft.add(to.CALL, spot.mark, 0, spot.level)
            self._store(call, spot)
            self._calls.setdefault((writer, reader), []).append(call)
            self._targets.setdefault((writer, reader), spot.column)
        else:
            self._fields(
                writer, reader, _Spot(spot.path, spot.level + 1, dropped=reader is _DROPPED, column=spot.column)
            )

    def _fields(self, writer: Record, reader: Node, spot: _Spot) -> None:
        if self._is_called:
            self._draft.add(to.LEVEL, spot.mark, spot.level)
        self._present(spot)
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
            if spot.column is not None:
                path = self._draft.path(spot.path, f".{field.name}")
                self._store(self._draft.add(to.ABSENT, path), replace(spot, column=spot.column.names[field.name]))
        met = plan.met if plan else tuple((field, reader) for field in writer.fields)
        for field, target in reversed(met):
            self._ahead.append((self._field, (field.name, field.type, target, spot)))

    def _field(self, name: str, writer: Node, reader: Node | None, spot: _Spot) -> None:
        path = self._draft.path(spot.path, f".{name}")
        column = spot.column
        if reader is None:
            reader, column = _DROPPED, None
            self._draft.lose(FIELD_DROPPED, path)
        within = column.names[name] if column else None
        self._value(writer, reader, _Spot(path, spot.level, dropped=reader is _DROPPED, column=within))

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
