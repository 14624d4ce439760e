"""Loop that runs a program over valid messages and writes the reader's values into columns.

It follows the same program as the loop of the verdicts. So it reads on only where that one did, and only within the
message. A value that its column cannot hold is a fault of its own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.avro import output_layout as o
from topicschema.payload.columnar.avro import outputs as form
from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.output_values import column_of, full, give, put, unfit
from topicschema.payload.columnar.avro.values import DOUBLE_BYTES, number, value
from topicschema.payload.columnar.avro.vm_loop import begin, branch, record
from topicschema.payload.columnar.avro.vm_variants import first_item, next_item, stop
from topicschema.payload.columnar.compiled import LONG_BYTES, NO, fast, inlined


@inlined
def _next_line(k: Any, out: Any, column: Any) -> Any:
    """Begin the next item of a column. Return NO if it has no memory, or the message may have no more items."""
    slot = out.columns[column, o.SLOT]
    line = out.slots[slot, o.COUNT]
    if line >= out.columns[column, o.LIMIT]:
        return full(k, out, slot, line + 1)
    out.state[o.BUDGET] -= out.columns[column, o.COST]
    if out.state[o.BUDGET] < 0:
        k.state[m.REASON] = why.TOO_MANY_VALUES
        return np.int64(NO)
    out.slots[slot, o.COUNT] = line + 1
    out.state[o.LINE] = line
    return line


@inlined
def _end_list(out: Any, column: Any, line: Any) -> Any:
    """Record the end of a list's items."""
    end = out.slots[out.columns[column, o.SLOT], o.COUNT]
    out.ints[np.uint64(out.columns[column, o.DATA] + line + 1)] = np.int32(end)
    give(out, column, line)


@fast
def _loop(k: Any, out: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the next instruction and byte after the start of an array or a map."""
    line, loop = out.state[o.LINE], k.state[m.LOOPS]
    is_stored = out.stores[pc, form.FORM] != form.NOTHING
    following, after = first_item(k, out.source, pc, at, end)
    if following < 0 or not is_stored:
        return following, after
    column = column_of(out, pc)
    if k.state[m.LOOPS] == loop:  # there are no items
        _end_list(out, column, line)
    else:
        out.lines[loop] = line
        if _next_line(k, out, column) < 0:
            return np.int64(NO), at
    return following, after


@fast
def _next(k: Any, out: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the next instruction and byte after an item."""
    loop = k.state[m.LOOPS] - 1
    following, after = next_item(k, out.source, pc, at, end)
    if following < 0 or out.stores[pc, form.FORM] == form.NOTHING:
        return following, after
    column = column_of(out, pc)
    if k.state[m.LOOPS] == loop:  # this was the last one
        out.state[o.LINE] = out.lines[loop]
        _end_list(out, column, out.lines[loop])
    elif _next_line(k, out, column) < 0:
        return np.int64(NO), at
    return following, after


@inlined
def _empty(k: Any, out: Any, pc: Any, at: Any) -> Any:
    """Read a value that takes no bytes."""
    k.state[m.EMPTIES] -= 1
    if k.state[m.EMPTIES] < 0:
        return stop(k, why.TOO_MANY_VALUES, at)
    what = out.stores[pc, form.FORM]
    if what == form.CONTENT:
        column, line = column_of(out, pc), out.state[o.LINE]
        end = out.slots[out.columns[column, o.SLOT], o.COUNT]
        out.ints[np.uint64(out.columns[column, o.DATA] + line + 1)] = np.int32(end)
        give(out, column, line)
    return pc + 1, at


@inlined
def _absent(k: Any, out: Any, pc: Any, at: Any) -> Any:
    """Let a column have its default, and return `at`, or NO if it cannot."""
    column = column_of(out, pc)
    cost = out.columns[column, o.DEFAULT_COST]
    if cost < 0:
        return unfit(k)
    out.state[o.BUDGET] -= cost
    if out.state[o.BUDGET] < 0:
        return stop(k, why.TOO_MANY_VALUES, at)[0]
    out.state[o.DEFAULT_BYTES] += cost
    out.bytes_[np.uint64(out.columns[column, o.VALID] + out.state[o.LINE])] = o.DEFAULT
    return at


@inlined
def _call(k: Any, out: Any, pc: Any, at: Any) -> Any:
    call = k.state[m.CALLS]
    if call >= m.FRAMES:
        return stop(k, why.TOO_DEEP, at)
    frame, path = m.FRAMES + call, np.int64(k.code[pc, to.PATH])
    k.stack[frame, m.BACK], k.stack[frame, m.SITE] = pc + 1, path if path >= 0 else -1 - path
    k.stack[frame, m.CONTEXT], k.stack[frame, m.BASE] = 0, out.state[o.BASE]
    k.state[m.CALLS] = call + 1
    out.state[o.BASE] += out.stores[pc, form.COLUMN]
    return np.int64(k.code[pc, to.FIRST]), at


@inlined
def _return(k: Any, out: Any, at: Any) -> Any:
    call = k.state[m.CALLS] - 1
    k.state[m.CALLS] = call
    out.state[o.BASE] = k.stack[m.FRAMES + call, m.BASE]
    return k.stack[m.FRAMES + call, m.BACK], at


@inlined
def _goes(k: Any, out: Any, pc: Any, at: Any) -> Any:
    """Return the next instruction and byte after one that reads nothing."""
    op = k.code[pc, to.OP]
    if op == to.EMPTY:
        return _empty(k, out, pc, at)
    if op == to.CALL:
        return _call(k, out, pc, at)
    if op == to.RETURN:
        return _return(k, out, at)
    if op == to.DROP or op == to.LEVEL:  # noqa: PLR1714  # cheaper to compile
        return pc + 1, at
    return stop(k, k.code[pc, to.FIRST], at)  # the verdict was another one


@inlined
def _other(k: Any, out: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the next instruction and byte after one that does not only read a value."""
    op = k.code[pc, to.OP]
    if op == to.UNION:
        return branch(k, out.source, pc, at, end)
    if op == to.JUMP:
        return np.int64(k.code[pc, to.FIRST]), at
    if op == to.LOOP:
        return _loop(k, out, pc, at, end)
    return _next(k, out, pc, at, end) if op == to.NEXT else _goes(k, out, pc, at)


@inlined
def _skipped(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the end of a value that no column gets."""
    op = k.code[pc, to.OP]
    if op < to.UNION:
        return value(op, k.code[pc, to.FIRST], values, at, end)
    if op == to.NARROWED:
        return at + DOUBLE_BYTES if end - at >= DOUBLE_BYTES else np.int64(NO)
    return number(values, at, end, LONG_BYTES)[1]


@inlined
def _value(k: Any, out: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the end of a value, which the next instruction follows, or NO."""
    op = k.code[pc, to.OP]
    if op == to.PRESENT:
        give(out, column_of(out, pc), out.state[o.LINE])
        return at
    if op == to.ABSENT:
        return _absent(k, out, pc, at)
    if out.stores[pc, form.FORM] == form.NOTHING:
        return _skipped(k, out.source, pc, at, end)
    return put(k, out, pc, at, end)


@inlined
def _message(k: Any, out: Any, at: Any, end: Any) -> Any:
    """Return the instruction that failed, NO if none did, and the byte."""
    pc = np.int64(0)
    while True:
        op = k.code[np.uint64(pc), to.OP]  # as in `byte`
        if op < to.UNION or op >= to.SYMBOL:
            after = _value(k, out, pc, at, end)
            if after < 0:
                return pc, at
            pc, at = pc + 1, after
        elif op == to.END:
            k.state[m.REASON] = why.TRAILING_BYTES
            return (pc if at < end else np.int64(NO)), at
        else:
            following, after = _other(k, out, pc, at, end)
            if following < 0:
                return pc, after
            pc, at = following, after


@fast
def _clear(out: Any, row: Any) -> None:
    """Remove what a message wrote."""
    for column in range(len(out.columns)):
        level = out.columns[column, o.LEVEL]
        first, last = (row, row + 1) if level < 0 else (out.slots[level, o.SAVED], out.slots[level, o.COUNT])
        valid, data, kind = out.columns[column, o.VALID], out.columns[column, o.DATA], out.columns[column, o.KIND]
        for each in range(first, last):
            out.bytes_[valid + each] = o.MISSING
            if kind == form.CONTENT or kind == form.LIST or kind == form.MAP:  # noqa: PLR1714
                out.ints[data + each + 1] = 0
    for slot in range(len(out.slots)):
        out.slots[slot, o.COUNT] = out.slots[slot, o.SAVED]


@fast
def written(k: Any, inputs: Any, out: Any, result: Any) -> None:
    """Write the columns from message ROW on. It ends before the last message if a column needs more memory."""
    while out.state[o.ROW] < len(inputs.starts):
        row = out.state[o.ROW]
        out.state[o.ROW] = row + 1
        if inputs.nulls[row % len(inputs.nulls)]:
            continue
        at, end = inputs.starts[row], inputs.ends[row]
        begin(k, row, end - at)
        for slot in range(len(out.slots)):
            out.slots[slot, o.SAVED] = out.slots[slot, o.COUNT]
        out.state[o.BUDGET] = o.MAX_BUDGET + o.BUDGET_A_BYTE * (end - at)
        out.state[o.BASE], out.state[o.LINE] = 0, row
        failure = _message(k, out, at, end)
        if failure[0] >= 0:
            _clear(out, row)
            if k.state[m.REASON] == o.FULL:
                out.state[o.ROW] = row
                return
            record(k, inputs, result, row, failure)


def marked(mark: int) -> Callable[[Any, Any, Any, Any], int]:
    """Return the function to compile and cache: `written`, with a number that changes with its parts."""

    def run(k: Any, inputs: Any, out: Any, result: Any) -> int:
        written(k, inputs, out, result)
        return mark

    return run
