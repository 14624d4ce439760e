"""Columns of values that payload's readers return, part by part. A value that its column cannot hold becomes null."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from topicschema.payload.arrow.shapes import BeyondColumnError, Shape
from topicschema.payload.columnar.avro import output_layout, outputs
from topicschema.payload.columnar.avro.outputs import BatchTooLargeError
from topicschema.payload.columnar.column import Column

_UNFIT: Final = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeError, TypeError, ValueError)
_UNFITS: Final = (*_UNFIT, OverflowError, BeyondColumnError)


class Unheld(NamedTuple):
    """The first part of a value that its column cannot hold: the reason, and the path."""

    reason: str
    path: str


def array_of(
    shape: Shape, values: Sequence[Any], budgets: Sequence[int] | None = None
) -> tuple[pa.Array, dict[int, Unheld]]:
    """Return the array of some values, and why its column cannot hold those that it cannot hold, by their rows.

    `budgets` are the bytes that each may take in items and entries. Raises BatchTooLargeError if all together take too
    much memory.
    """
    builder = _Builder(len(values), budgets)
    builder.pay(len(values) * shape.row_size)
    array = builder.array(shape, list(values), range(len(values)), "$")
    return array, builder.faults


def array_of_messages(shape: Shape, values: Sequence[Any], payloads: Column) -> tuple[pa.Array, dict[int, Unheld]]:
    """Return the array of the values of messages, as `array_of`. A value that it cannot hold is null as a whole.

    The longer the payload of a message is, the more bytes it may take in items and entries.
    """
    sizes = payloads.lengths.tolist()
    budgets = [output_layout.MAX_BUDGET + output_layout.BUDGET_A_BYTE * size for size in sizes]
    array, unheld = array_of(shape, values, budgets)
    if unheld:
        held = [None if row in unheld else each for row, each in enumerate(values)]
        array, _ = array_of(shape, held, budgets)
    return array, unheld


class _Builder:
    """Builder of one array. `rows` are the rows of the outermost values that hold each value."""

    def __init__(self, count: int, budgets: Sequence[int] | None) -> None:
        self.faults: dict[int, Unheld] = {}
        self._budgets = [output_layout.MAX_BUDGET] * count if budgets is None else list(budgets)
        self._left = output_layout.MAX_MEMORY if count > 1 else 2 * output_layout.MAX_MEMORY

    def pay(self, size: int) -> None:
        """Count bytes. Raises BatchTooLargeError beyond the limit."""
        self._left -= size
        if self._left < 0:
            raise BatchTooLargeError

    def _fault(self, row: int, path: str, reason: str = "INVALID_FOR_COLUMN") -> None:
        self.faults.setdefault(row, Unheld(reason, path))

    def array(self, shape: Shape, values: list[Any], rows: Sequence[int], path: str) -> pa.Array:
        if shape.form == outputs.STRUCT:
            return self._struct(shape, values, rows, path)
        if shape.form == outputs.CHOICE:
            return self._choice(shape, values, rows, path)
        if shape.form == outputs.LIST:
            return self._list(shape, values, rows, path)
        return (
            self._map(shape, values, rows, path) if shape.form == outputs.MAP else self._leaf(shape, values, rows, path)
        )

    def _struct(self, shape: Shape, values: list[Any], rows: Sequence[int], path: str) -> pa.Array:
        values = self._only(dict, values, rows, path)
        parts = [
            self.array(
                part, [None if each is None else each.get(name, part.absent) for each in values], rows, f"{path}.{name}"
            )
            for name, part in zip(shape.names, shape.parts, strict=True)
        ]
        return _with_parts(shape.type, values, parts)

    def _choice(self, shape: Shape, values: list[Any], rows: Sequence[int], path: str) -> pa.Array:
        choose = shape.choose
        assert choose is not None  # noqa: S101  # a choice has one
        numbers = [None if each is None else choose(each) for each in values]
        for row, value, number in zip(rows, values, numbers, strict=True):
            if value is not None and number is None:
                self._fault(row, path)
        parts = [
            self.array(
                part,
                [value if number == place else None for value, number in zip(values, numbers, strict=True)],
                rows,
                path,
            )
            for place, part in enumerate(shape.parts)
        ]
        return _with_parts(shape.type, numbers, parts)

    def _list(self, shape: Shape, values: list[Any], rows: Sequence[int], path: str) -> pa.Array:
        values = self._paid(shape, self._only(list, values, rows, path), rows, path)
        inner = [row for row, value in zip(rows, values, strict=True) for _ in value or ()]
        item = self.array(shape.parts[0], [*chain.from_iterable(each or () for each in values)], inner, f"{path}[]")
        return _with_items(shape.type, values, item)

    def _map(self, shape: Shape, values: list[Any], rows: Sequence[int], path: str) -> pa.Array:
        values = self._paid(shape, self._only(dict, values, rows, path), rows, path)
        inner = [row for row, value in zip(rows, values, strict=True) for _ in value or ()]
        keys: list[Any] = [*chain.from_iterable(each or () for each in values)]
        held: list[Any] = [*chain.from_iterable((each or {}).values() for each in values)]
        key = self.array(shape.parts[0], keys, inner, f"{path}{{}}")
        if key.null_count:  # of a message that is a fault
            key = pa.array(["" if each is None else each for each in key.to_pylist()], key.type)
        value = self.array(shape.parts[1], held, inner, f"{path}{{}}")
        pairs = pa.StructArray.from_arrays([key, value], fields=[shape.type.key_field, shape.type.item_field])
        return _with_items(shape.type, values, pairs)

    def _paid(self, shape: Shape, values: list[Any], rows: Sequence[int], path: str) -> list[Any]:
        """Return the lists or maps, None for each that takes more memory than its message may."""
        cost = shape.item_size
        sizes = [cost * len(each) if each else 0 for each in values]
        for index, (row, size) in enumerate(zip(rows, sizes, strict=True)):
            self._budgets[row] -= size
            if size and self._budgets[row] < 0:
                self._fault(row, path, "TOO_MANY_VALUES")
                values[index] = None
                sizes[index] = 0
        self.pay(sum(sizes))
        return values

    def _leaf(self, shape: Shape, values: list[Any], rows: Sequence[int], path: str) -> pa.Array:
        if shape.form == outputs.NOTHING:
            return pa.nulls(len(values), shape.type)
        try:
            made = pa.array(_converted(shape, values), shape.type)
        except _UNFITS:
            made = None
        if isinstance(made, pa.ChunkedArray):  # texts of more bytes than one array may have
            raise BatchTooLargeError
        if made is not None:
            return made
        fitting = [_one(shape, each) for each in values]
        for row, value, one in zip(rows, values, fitting, strict=True):
            if value is not None and one is None:
                self._fault(row, path)
        return pa.array(fitting, shape.type)

    def _only(self, kind: type, values: list[Any], rows: Sequence[int], path: str) -> list[Any]:
        """Return the values, None for each of another kind."""
        if all(each is None or isinstance(each, kind) for each in values):
            return values
        for row, value in zip(rows, values, strict=True):
            if value is not None and not isinstance(value, kind):
                self._fault(row, path)
        return [each if isinstance(each, kind) else None for each in values]


def _converted(shape: Shape, values: list[Any]) -> list[Any]:
    convert = shape.convert
    return values if convert is None else [None if each is None else convert(each) for each in values]


def _one(shape: Shape, value: Any) -> Any:
    """Return the converted value, None for one that the column cannot hold."""
    try:
        converted = value if value is None or shape.convert is None else shape.convert(value)
        pa.array([converted], shape.type)
    except _UNFITS:
        return None
    return converted


def bitmap(flags: "np.ndarray[Any, Any]") -> pa.Buffer | None:
    """Return Arrow's bitmap of the values that are not null, None if all are there."""
    return None if flags.all() else pa.py_buffer(np.packbits(flags, bitorder="little"))


def _bitmap_of(values: Iterable[Any]) -> pa.Buffer | None:
    return bitmap(np.array([each is not None for each in values], np.bool_))


def _with_parts(kind: pa.DataType, values: list[Any], parts: list[pa.Array]) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [_bitmap_of(values)], children=parts)


def _with_items(kind: pa.DataType, values: list[Any], part: pa.Array) -> pa.Array:
    ends = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(each) if each else 0 for each in values], out=ends[1:])
    return pa.Array.from_buffers(kind, len(values), [_bitmap_of(values), pa.py_buffer(ends)], children=[part])
