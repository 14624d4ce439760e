"""Loop that runs a program over a column: one instruction after the other, without objects.

numba compiles it in its first run, with all that it calls; see `compiled`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.diagnose import error_at, in_dropped
from topicschema.payload.columnar.avro.error_paths import placed
from topicschema.payload.columnar.avro.values import DOUBLE_BYTES, is_float, number, value
from topicschema.payload.columnar.avro.vm_variants import first_item, next_item, stop
from topicschema.payload.columnar.compiled import INT_BYTES, LONG_BYTES, NO, fast, inlined, signed


@inlined
def _path(k: Any, pc: Any) -> Any:
    path = np.int64(k.code[pc, to.PATH])
    return path if path >= 0 else -1 - path


@inlined
def _lose(k: Any, pc: Any) -> Any:
    """Record a loss, once for a message."""
    loss = np.int64(k.code[pc, to.FIRST])
    if k.state[m.CALLS]:
        place = placed(k, m.LOSSES, loss)
        loss = k.state[m.OWN_LOSSES] + (m.KINDS + place if place >= 0 else np.int64(k.code[pc, to.SECOND]))
    if k.tally[loss, m.STAMP] != k.state[m.MESSAGE]:
        k.tally[loss, m.STAMP] = k.state[m.MESSAGE]
        k.tally[k.state[m.TOUCHED], m.LIST] = loss
        k.state[m.TOUCHED] += 1


@inlined
def _step(k: Any, pc: Any, at: Any) -> Any:
    """Continue with the next instruction, unless too many have read nothing."""
    k.state[m.STEPS] -= 1
    return (pc + 1, at) if k.state[m.STEPS] >= 0 else stop(k, why.TOO_MANY_VALUES, at)


@inlined
def _call(k: Any, pc: Any, at: Any) -> Any:
    call = k.state[m.CALLS]
    if call >= m.FRAMES:
        return stop(k, why.TOO_DEEP, at)
    frame = m.FRAMES + call
    k.stack[frame, m.BACK], k.stack[frame, m.SITE] = pc + 1, _path(k, pc)
    k.stack[frame, m.CONTEXT], k.stack[frame, m.BASE] = 0, k.state[m.DEPTH]
    k.state[m.CALLS] = call + 1
    k.state[m.DEPTH] += k.code[pc, to.SECOND]
    return _step(k, np.int64(k.code[pc, to.FIRST]) - 1, at)


@inlined
def _return(k: Any, at: Any) -> Any:
    call = k.state[m.CALLS] - 1
    k.state[m.CALLS] = call
    k.state[m.DEPTH] = k.stack[m.FRAMES + call, m.BASE]
    return k.stack[m.FRAMES + call, m.BACK], at


@inlined
def _symbol(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    bits, after = number(values, at, end, INT_BYTES)
    index = signed(bits)
    if after < 0 or index < 0 or index >= k.code[pc, to.SECOND]:
        return np.int64(NO), at
    fate = k.table[k.code[pc, to.FIRST] + index]
    if fate == to.UNKNOWN:
        return stop(k, why.UNKNOWN_SYMBOL, at)
    return pc + (1 if fate == to.REPLACED else 2), after


@inlined
def _rounded(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    is_int = k.code[pc, to.OP] == to.ROUNDED_INT
    bits, after = number(values, at, end, INT_BYTES if is_int else LONG_BYTES)
    if after < 0:
        return np.int64(NO), at
    size, precision = np.uint64(abs(signed(bits))), np.uint64(k.code[pc, to.FIRST])  # of the smallest number, too
    while size >> precision and not size & np.uint64(1):
        size >>= np.uint64(1)
    return pc + (1 if size >> precision else 2), after


@inlined
def _narrowed(values: Any, pc: Any, at: Any, end: Any) -> Any:
    if end - at < DOUBLE_BYTES:
        return np.int64(NO), at
    return pc + (2 if is_float(values, at) else 1), at + DOUBLE_BYTES


@inlined
def _empty(k: Any, pc: Any, at: Any) -> Any:
    k.state[m.EMPTIES] -= 1
    return (pc + 1, at) if k.state[m.EMPTIES] >= 0 else stop(k, why.TOO_MANY_VALUES, at)


@inlined
def _fail(k: Any, pc: Any, at: Any) -> Any:
    is_before = k.code[pc, to.OP] == to.FAIL_BEFORE
    return stop(k, k.code[pc, to.FIRST], k.state[m.BEFORE] if is_before else at)


@inlined
def _reads(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the next instruction and byte after a special one that reads."""
    op = k.code[pc, to.OP]
    if op == to.LOOP:
        return first_item(k, values, pc, at, end)
    if op == to.NEXT:
        return next_item(k, values, pc, at, end)
    if op == to.SYMBOL:
        return _symbol(k, values, pc, at, end)
    if op == to.NARROWED:
        return _narrowed(values, pc, at, end)
    return _rounded(k, values, pc, at, end)


@inlined
def _goes(k: Any, pc: Any, at: Any) -> Any:
    """Return the next instruction and byte after one that reads nothing."""
    op = k.code[pc, to.OP]
    if op == to.DROP:
        _lose(k, pc)
        return _step(k, pc, at)
    if op == to.EMPTY:
        return _empty(k, pc, at)
    if op == to.CALL:
        return _call(k, pc, at)
    if op == to.RETURN:
        return _return(k, at)
    if op == to.LEVEL:
        is_deep = k.state[m.DEPTH] + k.code[pc, to.FIRST] > to.MAX_DEPTH
        return stop(k, why.TOO_DEEP, at) if is_deep else _step(k, pc, at)
    return _fail(k, pc, at)


@inlined
def branch(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the start of a union's branch, and its instructions."""
    bits, after = number(values, at, end, INT_BYTES)
    index = signed(bits)
    if after < 0 or index < 0 or index >= k.code[pc, to.SECOND]:
        return np.int64(NO), at
    k.state[m.BEFORE] = at
    return np.int64(k.table[k.code[pc, to.FIRST] + index]), after


@inlined
def _other(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the next instruction and byte after one that does not only read a value."""
    op = k.code[pc, to.OP]
    if op == to.UNION:
        return branch(k, values, pc, at, end)
    if op == to.JUMP:
        return np.int64(k.code[pc, to.FIRST]), at
    return _reads(k, values, pc, at, end) if op >= to.READS else _goes(k, pc, at)


@inlined
def _message(k: Any, values: Any, at: Any, end: Any) -> Any:
    """Return the instruction that failed, NO if none did, and the byte."""
    pc = np.int64(0)
    while True:
        row = np.uint64(pc)  # as in `byte`
        op = k.code[row, to.OP]
        if op < to.UNION:
            after = value(op, k.code[row, to.FIRST], values, at, end)
            if after < 0:
                return pc, at
            pc, at = pc + 1, after
        elif op == to.END:
            k.state[m.REASON] = why.TRAILING_BYTES
            return (pc if at < end else np.int64(NO)), at
        else:
            following, at = _other(k, values, pc, at, end)
            if following < 0:
                return pc, at
            pc = following


@inlined
def begin(k: Any, row: Any, size: Any) -> Any:
    """Begin a message of `size` bytes."""
    k.state[m.MESSAGE] = row + 1
    k.state[m.LOOPS] = k.state[m.CALLS] = k.state[m.DEPTH] = k.state[m.TOUCHED] = k.state[m.REASON] = 0
    k.state[m.EMPTIES] = to.MAX_EMPTY + size
    k.state[m.STEPS] = to.MAX_STEPS + to.STEPS_A_BYTE * size


@fast
def record(k: Any, inputs: Any, result: Any, row: Any, failure: Any) -> Any:
    """Record the failure of an instruction at a byte."""
    pc, at = failure
    reason = k.state[m.REASON]
    if reason == why.FITS:
        reason, at = error_at(k, inputs.values, pc, at, inputs.ends[row])
    result.reasons[row] = in_dropped(k, reason) if k.code[pc, to.PATH] < 0 else reason
    path = _path(k, pc)
    if k.state[m.CALLS]:
        path = k.state[m.OWN_PATHS] + 1 + placed(k, m.PATHS, path)
    result.paths[row] = path
    result.offsets[row] = at - inputs.starts[row]


@fast
def judged(k: Any, inputs: Any, result: Any) -> None:
    """Fill `result`. `inputs` are the values, the positions within them, and the nulls."""
    for row in range(len(inputs.starts)):
        at, end = inputs.starts[row], inputs.ends[row]
        result.offsets[row] = NO
        if inputs.nulls[row % len(inputs.nulls)]:
            continue  # null to every reader
        begin(k, row, end - at)
        failure = _message(k, inputs.values, at, end)
        if failure[0] >= 0:
            record(k, inputs, result, row, failure)
        else:
            for each in range(k.state[m.TOUCHED]):
                k.tally[k.tally[each, m.LIST], m.COUNT] += 1


def marked(mark: int) -> Callable[[Any, Any, Any], int]:
    """Return the function to compile and cache: `judged`, with a number that changes with its parts."""

    def run(k: Any, inputs: Any, result: Any) -> int:
        judged(k, inputs, result)
        return mark

    return run
