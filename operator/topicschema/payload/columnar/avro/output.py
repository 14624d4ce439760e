"""Columns of a program: their memory, which grows as messages need it, and what was written into it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar import reasons
from topicschema.payload.columnar.avro import (
    diagnose,
    error_paths,
    opcodes,
    output_layout,
    output_loop,
    output_values,
    outputs,
    values,
    vm_loop,
    vm_variants,
)
from topicschema.payload.columnar.avro import output_layout as o
from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.outputs import SIZES, BatchTooLargeError, Target
from topicschema.payload.columnar.avro.validator import ProgramValidator
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.compiled import LoopResult, cached, mark

_RUN: Final = cached(
    output_loop.marked(
        mark(
            (
                *(output_loop, output_values, output_layout, outputs, vm_loop, vm_variants, m, opcodes, error_paths),
                *(reasons, diagnose, values),
            )
        )
    )
)
_UNITS: Final[Mapping[int, int]] = {**SIZES, outputs.DECIMAL: 8}
_COUNTED: Final = (outputs.CONTENT, outputs.LIST, outputs.MAP)
_ALIGNED: Final = 64
_LEAST: Final = 1_024


@dataclass(frozen=True, slots=True, eq=False)
class WrittenColumns:
    """Columns that a program wrote. `faults` has the messages whose values the columns cannot hold."""

    faults: LoopResult
    _table: NDArray[np.int64]
    _memory: NDArray[np.int64]
    _counts: NDArray[np.int64]

    def rows(self, column: Target) -> int:
        """Return the number of a column's rows."""
        level = int(self._table[column.number, o.LEVEL])
        return len(self.faults.reasons) if level < 0 else int(self._counts[level])

    def validity(self, column: Target) -> NDArray[np.uint8]:
        """Return a byte for each row: MISSING, VALUE or DEFAULT."""
        return self._cut(column, o.VALID, np.uint8, self.rows(column))

    def data(self, column: Target, kind: Any) -> NDArray[Any]:
        """Return the values, two for each decimal."""
        return self._cut(column, o.DATA, kind, self.rows(column) * (SIZES[column.form] // _UNITS[column.form]))

    def ends(self, column: Target) -> NDArray[np.int32]:
        """Return the positions of the contents or items: of row i from the value i to the next."""
        ends: NDArray[np.int32] = self._cut(column, o.DATA, np.int32, self.rows(column) + 1)
        np.maximum.accumulate(ends, out=ends)
        return ends

    def content(self, column: Target) -> NDArray[np.uint8]:
        """Return the bytes of all texts."""
        size = int(self._counts[self._table[column.number, o.SLOT]])
        content: NDArray[np.uint8] = self._cut(column, o.BYTES, np.uint8, size)
        return content

    def _cut(self, column: Target, what: int, kind: Any, count: int) -> NDArray[Any]:
        first = int(self._table[column.number, what])
        piece: NDArray[Any] = self._memory.view(kind)[first : first + count]
        return piece


class ProgramOutput:
    """Output of one program, for many batches in one thread.

    The validator of the same program has the paths of the faults. `costs` has the bytes of the defaults of columns, -1
    for one that its column cannot hold.
    """

    def __init__(self, validator: ProgramValidator, target: Target, costs: Mapping[int, int]) -> None:
        self._validator = validator
        self._table, self._sizes = _table(target, costs)
        self._per_message = np.zeros(int((self._table[:, o.SLOT] >= 0).sum()))

    def write(self, payloads: Column, skipped: NDArray[np.bool_]) -> WrittenColumns:
        """Return the columns of the messages that are not skipped, which must be valid.

        Raises BatchTooLargeError, and ValueError if the offsets do not match the values.
        """
        checked, count = payloads.checked, len(payloads)
        inputs = m.Inputs(checked.values, checked.starts, checked.ends, np.ascontiguousarray(skipped, np.bool_))
        if not count:
            inputs = inputs._replace(nulls=np.zeros(1, np.bool_))
        faults = LoopResult(np.zeros(count, np.int16), np.zeros(count, np.int32), np.full(count, -1, np.int64))
        machine = m.machine(self._validator.program, self._validator.known)
        state = np.zeros(o.STATE_SIZE, np.int64)
        slots = np.zeros((len(self._per_message), 2), np.int64)
        limits = self._first_limits(payloads)
        memory = self._memory(None, count, limits, slots)
        while True:
            out = self._output(inputs.values, memory, state, slots)
            _RUN(machine, inputs, out, faults)
            if state[o.ROW] >= count:
                break
            slot = int(state[o.FULL_SLOT])
            limits[slot] = max(2 * int(limits[slot]), int(state[o.NEEDED]))
            memory = self._memory(memory, count, limits, slots)
        if state[o.DEFAULT_BYTES] > o.MAX_MEMORY and count > 1:
            raise BatchTooLargeError
        if count:
            self._per_message = np.maximum(self._per_message, slots[:, o.COUNT] / count)
        return WrittenColumns(faults, self._table.copy(), memory, slots[:, o.COUNT].copy())

    def _first_limits(self, payloads: Column) -> NDArray[np.int64]:
        """Return the expected numbers of bytes and of items. Together the payloads have at most as many as bytes."""
        total = int(payloads.lengths.sum())
        expected = np.where(
            self._per_message > 0, 1.2 * self._per_message * len(payloads), 2 * total / (len(self._per_message) or 1)
        )
        limits: NDArray[np.int64] = np.minimum(expected.astype(np.int64) + _LEAST, total + _LEAST)
        return limits

    def _output(
        self, source: NDArray[np.uint8], memory: NDArray[np.int64], state: NDArray[np.int64], slots: NDArray[np.int64]
    ) -> o.AvroOutput:
        return o.AvroOutput(
            source,
            self._validator.program.stores,
            self._table,
            slots,
            state,
            np.zeros(m.FRAMES, np.int64),
            memory.view(np.uint8),
            memory.view(np.int32),
            memory,
            memory.view(np.float32),
            memory.view(np.float64),
        )

    def _memory(
        self,
        before: NDArray[np.int64] | None,
        messages: int,
        limits: NDArray[np.int64],
        slots: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the memory for the limits, with what the memory before has. The table gets the places."""
        table, at = self._table, 0
        moved: list[tuple[int, int, int]] = []
        for row, unit in zip(table, self._sizes, strict=True):
            level, slot, kind = int(row[o.LEVEL]), int(row[o.SLOT]), int(row[o.KIND])
            rows = messages if level < 0 else int(limits[level])
            used = messages if level < 0 else int(slots[level, o.COUNT])
            pieces = [(o.VALID, 1, rows, used), (o.DATA, unit, rows + (kind in _COUNTED), used + (kind in _COUNTED))]
            if kind == outputs.CONTENT:
                pieces.append((o.BYTES, 1, int(limits[slot]), int(slots[slot, o.COUNT])))
            for what, size, most, written in pieces:
                scale = _UNITS.get(kind, 1) if what == o.DATA else 1
                moved.append((int(row[what]) * scale, at, written * size))
                row[what] = at // scale
                at += -(-(most * size) // _ALIGNED) * _ALIGNED
            if slot >= 0:
                row[o.LIMIT] = limits[slot]
        if at > (o.MAX_MEMORY if messages > 1 else 2 * o.MAX_MEMORY):
            raise BatchTooLargeError
        memory = np.zeros(at // 8 + _ALIGNED, np.int64)
        if before is not None:
            old, new = before.view(np.uint8), memory.view(np.uint8)
            for origin, place, size in moved:
                new[place : place + size] = old[origin : origin + size]
        return memory


def _table(target: Target, costs: Mapping[int, int]) -> tuple[NDArray[np.int64], list[int]]:
    """Return the table of columns, and the bytes of a value of each."""
    rows: list[list[int]] = []
    sizes: list[int] = []
    slot = 0
    ahead = [(target, -1)]
    items: dict[int, int] = {}
    while ahead:
        column, level = ahead.pop()
        assert column.number == len(rows)  # noqa: S101  # parts follow their column
        row = [0] * o.COLUMN_SIZE
        row[o.KIND], row[o.LEVEL], row[o.SLOT] = column.form, level, -1
        size = SIZES.get(column.form, 0)
        inner = level
        if level >= 0:
            items[level] += size + 1
        if column.form in _COUNTED:
            row[o.SLOT] = slot
            if column.form != outputs.CONTENT:
                inner = slot
                items[slot] = 0
            slot += 1
        row[o.DEFAULT_COST] = costs.get(column.number, 0)
        row[o.HIGH], row[o.LOW] = divmod(10**column.digits, 1 << 64)
        row[o.LOW] -= row[o.LOW] >> 63 << 64
        rows.append(row)
        sizes.append(size)
        ahead.extend((part, inner) for part in reversed(column.parts))
    for row in rows:
        row[o.COST] = max(1, items.get(row[o.SLOT], 0))
    return np.array(rows, np.int64), sizes
