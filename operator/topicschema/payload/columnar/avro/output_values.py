"""Single values of Avro, stored in columns. Each reads only within its message, whatever the bytes are."""

from typing import Any

import numpy as np

from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.avro import output_layout as o
from topicschema.payload.columnar.avro import outputs as form
from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.values import number
from topicschema.payload.columnar.compiled import INT_BYTES, LONG_BYTES, NO, byte, fast, inlined, signed

MAX_MILLIS = 9_223_372_036_854_775
"""The largest number of milliseconds that fits into microseconds."""
_LONG_BITS = 63
_LONG_SIZE = 8


@inlined
def column_of(out: Any, pc: Any) -> Any:
    """Return the column that an instruction writes into."""
    return np.uint64(out.stores[np.uint64(pc), form.COLUMN] + out.state[o.BASE])


@inlined
def give(out: Any, column: Any, line: Any) -> Any:
    """Mark a row as one with a value."""
    out.bytes_[np.uint64(out.columns[column, o.VALID] + line)] = o.VALUE


@inlined
def full(k: Any, out: Any, slot: Any, needed: Any) -> Any:
    """Return no position: a column needs more memory."""
    k.state[m.REASON] = o.FULL
    out.state[o.FULL_SLOT], out.state[o.NEEDED] = slot, needed
    return np.int64(NO)


@inlined
def unfit(k: Any) -> Any:
    """Return no position: the column cannot hold the value."""
    k.state[m.REASON] = why.INVALID_FOR_COLUMN
    return np.int64(NO)


@inlined
def _put_integer(k: Any, out: Any, pc: Any, integer: Any, after: Any) -> Any:
    """Store an integer, in one of the forms that take it, and return `after`."""
    what, column, line = out.stores[pc, form.FORM], column_of(out, pc), out.state[o.LINE]
    at = np.uint64(out.columns[column, o.DATA] + line)
    if what == form.INT:
        out.ints[at] = integer
    elif what == form.LONG:
        out.longs[at] = integer
    elif what == form.DOUBLE:
        out.doubles[at] = np.float64(integer)
    elif what == form.FLOAT:
        out.floats[at] = np.float32(integer)
    elif what == form.NARROW:
        out.doubles[at] = np.float64(np.float32(integer))
    elif what == form.MILLIS:
        if integer > MAX_MILLIS or integer < -MAX_MILLIS:
            return unfit(k)
        out.longs[at] = integer * 1000
    else:
        return np.int64(NO)
    give(out, column, line)
    return after


@inlined
def _bits(values: Any, at: Any, size: Any) -> Any:
    """Return bytes as a number, the lowest first."""
    bits = np.int64(0)
    for place in range(size):
        bits |= byte(values, at + place) << (8 * place)
    return bits


@inlined
def _put_float(out: Any, pc: Any, at: Any) -> Any:
    """Store a float as a FLOAT or a DOUBLE. The row holds its bits first."""
    what, column, line = out.stores[pc, form.FORM], column_of(out, pc), out.state[o.LINE]
    place = np.uint64(out.columns[column, o.DATA] + line)
    if what == form.FLOAT:
        out.ints[place] = np.int32(_bits(out.source, at, 4))
    elif what == form.DOUBLE:
        out.ints[np.uint64(2) * place] = np.int32(_bits(out.source, at, 4))
        out.doubles[place] = np.float64(out.floats[np.uint64(2) * place])
    else:
        return np.int64(NO)
    give(out, column, line)
    return at + 4


@inlined
def _put_double(out: Any, pc: Any, at: Any) -> Any:
    what, column, line = out.stores[pc, form.FORM], column_of(out, pc), out.state[o.LINE]
    place = np.uint64(out.columns[column, o.DATA] + line)
    if what != form.DOUBLE and what != form.NARROW:  # noqa: PLR1714  # cheaper to compile
        return np.int64(NO)
    out.longs[place] = _bits(out.source, at, 8)
    if what == form.NARROW:
        out.doubles[place] = np.float64(np.float32(out.doubles[place]))
    give(out, column, line)
    return at + 8


@inlined
def _put_content(k: Any, out: Any, pc: Any, at: Any, size: Any) -> Any:
    """Store a text or bytes, and return their end."""
    column, line = column_of(out, pc), out.state[o.LINE]
    slot = out.columns[column, o.SLOT]
    used = out.slots[slot, o.COUNT]
    if size > out.columns[column, o.LIMIT] - used:
        return full(k, out, slot, used + size)
    begin = out.columns[column, o.BYTES] + used
    for place in range(size):
        out.bytes_[np.uint64(begin + place)] = out.source[np.uint64(at + place)]
    out.slots[slot, o.COUNT] = used + size
    out.ints[np.uint64(out.columns[column, o.DATA] + line + 1)] = np.int32(used + size)
    give(out, column, line)
    return at + size


@inlined
def _is_beyond(out: Any, column: Any, high: Any, low: Any) -> Any:
    """Return True if a number without its sign has more digits than its column."""
    limit_high, limit_low = np.uint64(out.columns[column, o.HIGH]), np.uint64(out.columns[column, o.LOW])
    return high > limit_high or (high == limit_high and low >= limit_low)


@fast
def _put_decimal(k: Any, out: Any, pc: Any, at: Any, size: Any) -> Any:
    """Store a two's complement number, the highest byte first, in 16 bytes, and return its end."""
    if size == 0:
        return unfit(k)
    is_below = out.source[at] >= 0x80  # noqa: PLR2004  # the sign
    sign = np.uint64(0xFF if is_below else 0)
    high = low = ~np.uint64(0) if is_below else np.uint64(0)
    for place in range(at, at + size):
        if high >> np.uint64(56) != sign:
            return unfit(k)
        high = high << np.uint64(8) | low >> np.uint64(56)
        low = low << np.uint64(8) | np.uint64(out.source[place])
    if (high >> np.uint64(_LONG_BITS) == np.uint64(1)) != is_below:
        return unfit(k)
    below = ~low + np.uint64(1) if is_below else low
    above = ~high + np.uint64(below == np.uint64(0)) if is_below else high
    column, line = column_of(out, pc), out.state[o.LINE]
    if _is_beyond(out, column, above, below):
        return unfit(k)
    place = out.columns[column, o.DATA] + 2 * line
    out.longs[place], out.longs[place + 1] = np.int64(low), np.int64(high)
    give(out, column, line)
    return at + size


@inlined
def _put_bytes(k: Any, out: Any, pc: Any, at: Any, size: Any) -> Any:
    """Store bytes of a known size, and return their end."""
    what = out.stores[pc, form.FORM]
    if what == form.CONTENT:
        return _put_content(k, out, pc, at, size)
    return _put_decimal(k, out, pc, at, size) if what == form.DECIMAL else np.int64(NO)


@inlined
def _put_sized(k: Any, out: Any, pc: Any, at: Any, end: Any) -> Any:
    """Store a float, a double or a fixed, and return its end."""
    size, what = np.int64(k.code[pc, to.FIRST]), out.stores[pc, form.FORM]
    if size > end - at:
        return np.int64(NO)
    if what == form.CONTENT or what == form.DECIMAL:  # noqa: PLR1714  # cheaper to compile
        return _put_bytes(k, out, pc, at, size)
    if size == _LONG_SIZE:
        return _put_double(out, pc, at)
    return _put_float(out, pc, at) if size == 4 else np.int64(NO)  # noqa: PLR2004  # a float


@inlined
def _put_boolean(out: Any, pc: Any, at: Any, end: Any) -> Any:
    if at >= end or out.stores[pc, form.FORM] != form.BOOLEAN:
        return np.int64(NO)
    column, line = column_of(out, pc), out.state[o.LINE]
    out.bytes_[np.uint64(out.columns[column, o.DATA] + line)] = out.source[np.uint64(at)]
    give(out, column, line)
    return at + 1


@inlined
def _put_symbol(k: Any, out: Any, pc: Any, integer: Any, after: Any) -> Any:
    """Store the number of an enum's symbol, and return `after`."""
    symbols = k.code[pc, to.FIRST if k.code[pc, to.OP] == to.ENUM else to.SECOND]
    if integer < 0 or integer >= symbols:
        return np.int64(NO)
    symbol = k.table[out.stores[pc, form.TABLE] + integer]
    if symbol < 0:
        return np.int64(NO)
    column, line = column_of(out, pc), out.state[o.LINE]
    out.ints[np.uint64(out.columns[column, o.DATA] + line)] = symbol
    give(out, column, line)
    return after


@inlined
def _put_number(k: Any, out: Any, pc: Any, at: Any, end: Any) -> Any:
    """Store a value that begins with a variable-length integer, and return its end."""
    op = k.code[pc, to.OP]
    is_int = op == to.INT or op == to.ENUM or op == to.SYMBOL or op == to.ROUNDED_INT  # noqa: PLR1714
    bits, after = number(out.source, at, end, INT_BYTES if is_int else LONG_BYTES)
    integer = signed(bits)
    if after < 0:
        return after
    if op == to.BYTES or op == to.STRING:  # noqa: PLR1714  # cheaper to compile
        is_within = integer >= 0 and integer <= end - after
        return _put_bytes(k, out, pc, after, integer) if is_within else np.int64(NO)
    if op == to.ENUM or op == to.SYMBOL:  # noqa: PLR1714
        return _put_symbol(k, out, pc, integer, after)
    return _put_integer(k, out, pc, integer, after)


@inlined
def put(k: Any, out: Any, pc: Any, at: Any, end: Any) -> Any:
    """Store the value that an instruction reads, and return its end, or NO."""
    op = k.code[pc, to.OP]
    if op == to.SIZED:
        return _put_sized(k, out, pc, at, end)
    if op == to.NARROWED:
        return _put_double(out, pc, at) if end - at >= _LONG_SIZE else np.int64(NO)
    return _put_boolean(out, pc, at, end) if op == to.BOOLEAN else _put_number(k, out, pc, at, end)
