"""Compiled loop over protobuf messages: the first finding of payload/protobuf_native's reading, without values.

Required fields are only checked in each piece. If one lacks a field, the caller must examine whole messages (LACKS),
because pieces may be merged or replaced.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.compiled import NO, fast, malformed
from topicschema.payload.columnar.protobuf import layout as to
from topicschema.payload.columnar.protobuf.lookups import extends, has_symbol, row_of
from topicschema.payload.columnar.protobuf.wire import count, length, skip, stop, tag, take, varint
from topicschema.payload.protobuf_native import kinds
from topicschema.payload.protobuf_native.reading import MALFORMED, MAX_VALUES, MESSAGE
from topicschema.payload.protobuf_native.wire import MAX_DEPTH

_LENGTH, _GROUP, _END_GROUP, _FIXED_32, _FIXED_64 = (
    kinds.LENGTH, kinds.GROUP, kinds.END_GROUP, kinds.FIXED_32, kinds.FIXED_64
)  # fmt: skip
_PRIME: Final = 1_000_003


@fast
def _read_text(m: Any, row: Any) -> Any:
    size = length(m)
    if size < 0 or not take(m, size):
        return False
    kind = m.fields[row, to.KIND]
    if kind == to.BYTES:
        return True
    wrong = malformed(m.values, m.state[to.AT] - size, m.state[to.AT])
    if wrong < 0:
        return True
    if kind == to.TEXT and not count(m, MALFORMED):
        return False
    return stop(m, why.INVALID_UTF8, wrong)


@fast
def _read_single(m: Any, row: Any) -> Any:
    kind = m.fields[row, to.KIND]
    if kind == to.FIXED:
        return take(m, np.int64(4 if m.fields[row, to.WIRE] == _FIXED_32 else 8))
    if kind > to.FIXED:
        return _read_text(m, row)
    start = m.state[to.AT]
    bits, is_there = varint(m, m.state[to.END])
    if not is_there:
        return False
    if kind == to.ENUM and not has_symbol(m, row, bits):
        return stop(m, why.UNKNOWN_SYMBOL, start)
    return True


@fast
def _read_varints(m: Any, row: Any, end: Any) -> Any:
    """Read a packed list of varints: check first that all can be read, then that an enum has them."""
    start = m.state[to.AT]
    is_known = True
    is_enum = m.fields[row, to.KIND] == to.ENUM
    while m.state[to.AT] < end:
        bits, is_there = varint(m, end)
        if not is_there:
            return False
        if is_enum and is_known:
            is_known = has_symbol(m, row, bits)
    return is_known or stop(m, why.UNKNOWN_SYMBOL, start)


@fast
def _read_packed(m: Any, row: Any) -> Any:
    size = length(m)
    if size < 0:
        return False
    end = m.state[to.AT] + size
    if m.fields[row, to.KIND] != to.FIXED:
        return _read_varints(m, row, end)
    rest = size % (4 if m.fields[row, to.WIRE] == _FIXED_32 else 8)
    if rest:
        return stop(m, why.TRUNCATED, end - rest)
    m.state[to.AT] = end
    return True


@fast
def _enter(m: Any, row: Any) -> Any:
    """Begin the message that the field holds."""
    state = m.state
    if not count(m, MESSAGE):
        return False
    start = state[to.AT]
    is_group = m.fields[row, to.WIRE] == _GROUP
    size = np.int64(0) if is_group else length(m)
    if size < 0:
        return False
    depth = state[to.DEPTH]
    if depth >= MAX_DEPTH:
        return stop(m, why.TOO_DEEP, start)
    m.stack[depth, to.BEFORE_END] = state[to.END]
    m.stack[depth, to.BEFORE_NODE] = state[to.NODE]
    m.stack[depth, to.BEFORE_GROUP] = state[to.GROUP]
    m.stack[depth, to.BEFORE_PRESENT] = state[to.PRESENT]
    m.stack[depth, to.BY_FIELD] = row
    if not is_group:
        state[to.END] = state[to.AT] + size
    state[to.GROUP] = m.fields[row, to.NUMBER] if is_group else 0
    state[to.NODE] = m.fields[row, to.MESSAGE]
    state[to.PRESENT], state[to.FIELD], state[to.DEPTH] = 0, NO, depth + 1
    return True


@fast
def _complete(m: Any) -> Any:
    """Record if the ended message may lack a required field."""
    node, state = m.state[to.NODE], m.state
    required = m.messages[node, to.REQUIRED]
    if m.messages[node, to.IS_ODD] or state[to.PRESENT] & required != required:
        state[to.LACKS] = 1


@fast
def _leave(m: Any) -> Any:
    state = m.state
    _complete(m)
    depth = state[to.DEPTH] - 1
    state[to.DEPTH], state[to.FIELD] = depth, NO
    state[to.END] = m.stack[depth, to.BEFORE_END]
    state[to.NODE] = m.stack[depth, to.BEFORE_NODE]
    state[to.GROUP] = m.stack[depth, to.BEFORE_GROUP]
    state[to.PRESENT] = m.stack[depth, to.BEFORE_PRESENT]
    return True


@fast
def _takes(m: Any, row: Any, wire: Any) -> Any:
    """Return True if the field has values of that wire type."""
    return wire == m.fields[row, to.WIRE] or (wire == _LENGTH and m.fields[row, to.TAKES_PACKED])


@fast
def _lose(m: Any, loss: Any) -> Any:
    """Record a loss once a message."""
    if m.tally[loss, to.STAMP] != m.state[to.MESSAGE_NUMBER]:
        m.tally[loss, to.STAMP] = m.state[to.MESSAGE_NUMBER]
        m.tally[m.state[to.LOST], to.LIST] = loss
        m.state[to.LOST] += 1
    return True


@fast
def _pass_over(m: Any, row: Any, number: Any, wire: Any, start: Any) -> Any:
    """Skip a field that is unknown, or has another wire type: a loss, or a fault."""
    if not skip(m, number, wire, start) or not count(m, 1):
        return False
    if row < 0:
        return (
            _lose(m, m.messages[m.state[to.NODE], to.RANGES_LOSS])
            if extends(m, number)
            else stop(m, why.UNKNOWN_FIELD, start)
        )
    if m.fields[row, to.KIND] == to.PASSED_BY and wire == _GROUP:
        return True
    if m.fields[row, to.KIND] != to.DROPPED:
        m.state[to.FIELD], m.state[to.IS_BARE] = row, 1
        return stop(m, why.WRONG_WIRE_TYPE, start)
    return _lose(m, m.fields[row, to.LOSS]) if _takes(m, row, wire) else stop(m, why.UNKNOWN_FIELD, start)


@fast
def _read_value(m: Any, row: Any, wire: Any) -> Any:
    m.state[to.FIELD] = row
    m.state[to.PRESENT] |= m.fields[row, to.BIT]
    if wire != m.fields[row, to.WIRE]:
        return _read_packed(m, row)
    return _enter(m, row) if m.fields[row, to.KIND] == to.HOLDER else _read_single(m, row)


@fast
def _read_field(m: Any) -> Any:
    state = m.state
    state[to.FIELD] = NO
    start = state[to.AT]
    number, wire = tag(m)
    if number == 0:
        return False
    if wire == _END_GROUP:
        return _leave(m) if state[to.GROUP] == number else stop(m, why.UNMATCHED_GROUP, start)
    if not count(m, 1):
        return False
    row = row_of(m, number)
    if row < 0 or m.fields[row, to.KIND] >= to.DROPPED or not _takes(m, row, wire):
        return _pass_over(m, row, number, wire, start)
    return _read_value(m, row, wire)


@fast
def _read(m: Any) -> Any:
    """Read the message to its end. Return True if there is no fault."""
    state = m.state
    while state[to.AT] < state[to.END] or state[to.DEPTH]:
        if state[to.AT] < state[to.END]:
            if not _read_field(m):
                return False
        elif state[to.GROUP]:
            state[to.FIELD] = NO
            return stop(m, why.TRUNCATED, state[to.AT])
        else:
            _leave(m)
    _complete(m)
    return True


@fast
def _place(m: Any) -> Any:
    """Return a number for the current position in the schema, never 0."""
    state = m.state
    place = state[to.FIELD] * 2 + state[to.IS_BARE] + 3
    for depth in range(state[to.DEPTH]):
        place = place * _PRIME + m.stack[depth, to.BY_FIELD] + 1
    return place * _PRIME + state[to.REASON]


@fast
def _begin(m: Any, start: Any, end: Any, message: Any) -> Any:
    state = m.state
    state[:] = 0
    state[to.AT], state[to.END], state[to.FIELD] = start, end, NO
    state[to.LEFT], state[to.MESSAGE_NUMBER] = MAX_VALUES, message + 1


@fast
def judged(m: Any, places: Any, result: Any) -> Any:
    """Fill `result`. The places, the start and end of each message, are within the values."""
    starts, ends = places
    for message in range(len(starts)):
        start = starts[message]
        _begin(m, start, ends[message], message)
        if not _read(m):
            result.reasons[message] = m.state[to.REASON]
            result.offsets[message] = m.state[to.OFFSET] - start
            result.paths[message] = _place(m)
            continue
        if m.state[to.LACKS]:
            result.reasons[message] = why.MISSING_FIELD
            continue
        for each in range(m.state[to.LOST]):
            m.tally[m.tally[each, to.LIST], to.LOSSES_COUNT] += 1


def marked(mark: int) -> Callable[[Any, Any, Any], int]:
    """Return the function to compile and cache: `judged`, with a number that changes with its parts."""

    def run(m: Any, places: Any, result: Any) -> int:
        judged(m, places, result)
        return mark

    return run
