"""Arrays and maps: blocks of items, and the continuation with the next item."""

from typing import Any

import numpy as np

from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.values import number
from topicschema.payload.columnar.compiled import LARGEST, LONG_BYTES, NO, inlined, signed


@inlined
def stop(k: Any, reason: Any, at: Any) -> Any:
    """Return no next instruction, the reason, and the byte."""
    k.state[m.REASON] = reason
    return np.int64(NO), at


@inlined
def _block(k: Any, values: Any, loop: Any, at: Any, end: Any) -> Any:
    """Read the head of a block into a loop: the number of its items, NO for an invalid one, and the position."""
    bits, after = number(values, at, end, LONG_BYTES)
    if after < 0:
        return np.int64(NO), at
    count, close = signed(bits), np.int64(NO)
    if count < 0:
        bits, last = number(values, after, end, LONG_BYTES)
        if last < 0:
            return np.int64(NO), after
        count = -max(count, -LARGEST)
        close, after = last + signed(bits), last
        close = close if close >= 0 else np.int64(LARGEST)
    k.stack[loop, m.LEFT], k.stack[loop, m.BEGIN], k.stack[loop, m.CLOSE] = count, at, close
    return count, after


@inlined
def first_item(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the continuation after the first bytes of an array or a map: at an item, or after the last one."""
    loop = k.state[m.LOOPS]
    if k.state[m.DEPTH] + k.code[pc, to.SECOND] > to.MAX_DEPTH or loop >= m.FRAMES:
        return stop(k, why.TOO_DEEP, at)
    count, after = _block(k, values, loop, at, end)
    if count <= 0:
        return (np.int64(k.code[pc, to.FIRST]) if count == 0 else count), after
    k.stack[loop, m.HEAD] = pc
    k.state[m.LOOPS] = loop + 1
    return pc + 1, after


@inlined
def next_item(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the continuation after an item: at the next one, or after the last one."""
    loop = k.state[m.LOOPS] - 1
    first = np.int64(k.code[pc, to.FIRST])
    k.stack[loop, m.LEFT] -= 1
    if k.stack[loop, m.LEFT] > 0:
        return first, at
    if k.stack[loop, m.CLOSE] >= 0 and k.stack[loop, m.CLOSE] != at:
        return stop(k, why.BLOCK_SIZE, k.stack[loop, m.BEGIN])
    count, after = _block(k, values, loop, at, end)
    if count > 0:
        return first, after
    k.state[m.LOOPS] = loop
    return (pc + 1 if count == 0 else count), after
