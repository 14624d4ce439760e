"""Reader of AVRO messages: a program writes the buffers of the column, without an object for a message."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.arrow import values
from topicschema.payload.arrow.decoder import ColumnFault
from topicschema.payload.arrow.shapes import Shape
from topicschema.payload.avro.defaults import DefaultMaker, UnfitError
from topicschema.payload.columnar.avro import (
    ProgramValidator,
    compile_program,
    output_layout,
    outputs,
    repeated_keys,
)
from topicschema.payload.columnar.avro.output import ProgramOutput, WrittenColumns
from topicschema.payload.columnar.avro.outputs import Target
from topicschema.payload.columnar.column import Column, Flags
from topicschema.payload.columnar.reasons import REASONS

_KINDS: Final[dict[int, Any]] = {
    outputs.INT: np.int32,
    outputs.FLOAT: np.float32,
    **dict.fromkeys((outputs.LONG, outputs.MILLIS, outputs.DECIMAL), np.int64),
    outputs.DOUBLE: np.float64,
}


class ProgramReader:
    """Reader of the messages of one writer for one reader. `skipped` is the number of bytes before each message."""

    def __init__(self, reader: AvroSchema, writer: AvroSchema, shape: Shape, skipped: int) -> None:
        self._shape = shape
        self._target = _Numbering().target(shape)
        self._defaults = _defaults(shape, self._target)
        self._validator = ProgramValidator(compile_program(reader, writer, self._target))
        costs = {number: -1 if array is None else array.nbytes for number, array in self._defaults.items()}
        self._output = ProgramOutput(self._validator, self._target, costs)
        self._skipped = skipped

    def read(self, payloads: Column, keys: Column | None, skipped: Flags) -> tuple[pa.Array, list[ColumnFault]]:
        """Return the values, and the faults of the messages that the column cannot hold."""
        del keys
        skipped = skipped if payloads.nulls is None else skipped | payloads.nulls
        if self._skipped:
            starts = np.where(skipped, payloads.starts, payloads.starts + self._skipped)
            payloads = Column(payloads.values, starts, payloads.ends, payloads.nulls)
        written = self._output.write(payloads, skipped)
        result = written.faults
        faults = [
            ColumnFault(
                row,
                REASONS[result.reasons[row]],
                self._validator.paths[result.paths[row]],
                self._skipped + int(result.offsets[row]),
            )
            for row in np.flatnonzero(result.reasons).tolist()
        ]
        return self._array(written, self._shape, self._target), faults

    def _array(self, written: WrittenColumns, shape: Shape, target: Target) -> pa.Array:
        """Return the array of a column."""
        if shape.form == outputs.NOTHING:
            return pa.nulls(written.rows(target), shape.type)
        validity = written.validity(target)
        default = self._defaults.get(target.number)
        if default is None:
            return self._plain_array(written, shape, target, validity)
        is_default = validity == output_layout.DEFAULT
        count = len(validity)
        if not is_default.any():
            return self._plain_array(written, shape, target, validity)
        if is_default.all():
            return default.take(pa.array(np.zeros(count, np.int32)))
        array = self._plain_array(written, shape, target, validity)
        places = np.where(is_default, count, np.arange(count))
        return pa.concat_arrays([array, default]).take(pa.array(places))

    def _plain_array(
        self, written: WrittenColumns, shape: Shape, target: Target, validity: NDArray[np.uint8]
    ) -> pa.Array:
        count, bitmap = len(validity), values.bitmap(validity == output_layout.VALUE)
        if shape.form in (outputs.STRUCT, outputs.CHOICE):
            parts = [self._array(written, *both) for both in zip(shape.parts, target.parts, strict=True)]
            return pa.Array.from_buffers(shape.type, count, [bitmap], children=parts)
        if shape.form == outputs.LIST:
            item = self._array(written, shape.parts[0], target.item)
            return pa.Array.from_buffers(
                shape.type, count, [bitmap, pa.py_buffer(written.ends(target))], children=[item]
            )
        if shape.form == outputs.MAP:
            return self._map(written, shape, target, bitmap)
        if shape.form == outputs.SYMBOL:
            numbers = pa.Array.from_buffers(pa.int32(), count, [bitmap, pa.py_buffer(written.data(target, np.int32))])
            return pa.array(shape.symbols, pa.string()).take(numbers)
        return pa.Array.from_buffers(shape.type, count, [bitmap, *_buffers(written, shape, target)])

    def _map(self, written: WrittenColumns, shape: Shape, target: Target, bitmap: pa.Buffer | None) -> pa.Array:
        """Return the array of maps. Of a key that a map has more than once, the last entry counts."""
        ends = written.ends(target)
        parts = [self._array(written, *both) for both in zip(shape.parts, target.parts, strict=True)]
        key = target.parts[0]
        retained = repeated_keys.retained(ends, written.ends(key), written.content(key))
        if retained is not None:
            parts = [each.filter(pa.array(retained)) for each in parts]
            before = np.zeros(len(retained) + 1, np.int32)
            np.cumsum(retained, out=before[1:])
            ends = before[ends]
        fields = [shape.type.key_field, shape.type.item_field]
        pairs = pa.StructArray.from_arrays(parts, fields=fields)
        return pa.Array.from_buffers(shape.type, len(ends) - 1, [bitmap, pa.py_buffer(ends)], children=[pairs])


def _buffers(written: WrittenColumns, shape: Shape, target: Target) -> list[pa.Buffer]:
    """Return the buffers of single values."""
    if shape.form == outputs.CONTENT:
        return [pa.py_buffer(written.ends(target)), pa.py_buffer(written.content(target))]
    if shape.form == outputs.BOOLEAN:
        return [pa.py_buffer(np.packbits(written.data(target, np.uint8), bitorder="little"))]
    return [pa.py_buffer(written.data(target, _KINDS[shape.form]))]


class _Numbering:
    """Numbers of the columns of a shape, each before those of its parts."""

    def __init__(self) -> None:
        self._next = 0

    def target(self, shape: Shape) -> Target:
        number = self._next
        self._next += 1
        parts = tuple(self.target(each) for each in shape.parts)
        names = dict(zip(shape.names, parts, strict=True)) if shape.names else {}
        symbols = {symbol: index for index, symbol in enumerate(shape.symbols)}
        return Target(number, shape.form, parts, names, symbols, shape.digits)


def _defaults(root: Shape, target: Target) -> dict[int, pa.Array | None]:
    """Return the default of each column that has one but null, as an array of one value.

    It is None if the column cannot hold the default.
    """
    defaults: dict[int, pa.Array | None] = {}
    ahead = [(root, target)]
    while ahead:
        shape, column = ahead.pop()
        ahead += zip(shape.parts, column.parts, strict=True)
        if shape.field is None:
            continue
        try:
            value = DefaultMaker().of(shape.field)
        except UnfitError:  # the program has no use for it
            continue
        if value is not None:
            array, faults = values.array_of(shape, [value])
            defaults[column.number] = None if faults else array
    return defaults
