"""Protobuf's wire format, compiled: tags, varints, lengths, and skipped fields.

See payload/protobuf_native for the rules.

numba does not check bounds: each read follows a comparison with the end. A function that returns a bool returns True if
the reading continues. If not, the state has the reason.
"""

from typing import Any, Final

import numpy as np

from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.compiled import LONG_BYTES, NO, fast
from topicschema.payload.columnar.compiled import varint as _varint
from topicschema.payload.columnar.protobuf import layout as to
from topicschema.payload.protobuf_native import kinds
from topicschema.payload.protobuf_native.wire import MAX_DEPTH

_U32: Final = 0xFFFF_FFFF
_MAX_LENGTH: Final = 0x7FFF_FFFF
_FIRST_TAG: Final = 1 << 3
_VARINT, _FIXED_64, _LENGTH, _GROUP, _END_GROUP, _FIXED_32 = (
    kinds.VARINT, kinds.FIXED_64, kinds.LENGTH, kinds.GROUP, kinds.END_GROUP, kinds.FIXED_32
)  # fmt: skip


@fast
def stop(m: Any, reason: Any, offset: Any) -> Any:
    """Record that the reading ends here."""
    m.state[to.REASON] = reason
    m.state[to.OFFSET] = offset
    return False


@fast
def varint(m: Any, end: Any) -> Any:
    """Return the 64 bits, and whether there are any."""
    bits, at = _varint(m.values, m.state[to.AT], end, LONG_BYTES)
    if at >= 0:
        m.state[to.AT] = at
        return bits, True
    is_cut = end - m.state[to.AT] < LONG_BYTES
    return bits, stop(m, why.TRUNCATED if is_cut else why.VARINT_TOO_LONG, m.state[to.AT])


@fast
def tag(m: Any) -> Any:
    """Return a field's number and its wire type. The number is 0 at the end."""
    start = m.state[to.AT]
    bits, is_there = varint(m, m.state[to.END])
    if not is_there:
        return np.int64(0), np.int64(0)
    bits &= _U32
    if bits < _FIRST_TAG:
        stop(m, why.INVALID_FIELD_NUMBER, start)
        return np.int64(0), np.int64(0)
    return bits >> 3, bits & 7


@fast
def length(m: Any) -> Any:
    """Return a length that the remaining bytes can hold, negative for an invalid one."""
    start = m.state[to.AT]
    bits, is_there = varint(m, m.state[to.END])
    if not is_there:
        return np.int64(NO)
    bits &= _U32
    if bits > _MAX_LENGTH:
        stop(m, why.NEGATIVE_LENGTH, start)
        return np.int64(NO)
    if bits > m.state[to.END] - m.state[to.AT]:
        stop(m, why.TRUNCATED, start)
        return np.int64(NO)
    return bits


@fast
def take(m: Any, size: Any) -> Any:
    """Skip a number of bytes."""
    if size > m.state[to.END] - m.state[to.AT]:
        return stop(m, why.TRUNCATED, m.state[to.AT])
    m.state[to.AT] += size
    return True


@fast
def count(m: Any, values: Any) -> Any:
    """Count values, up to the maximum of a message."""
    m.state[to.LEFT] -= values
    return m.state[to.LEFT] >= 0 or stop(m, why.TOO_MANY_VALUES, m.state[to.AT])


@fast
def _skip_single(m: Any, wire: Any, start: Any) -> Any:
    if wire == _VARINT:
        return varint(m, m.state[to.END])[1]
    if wire == _LENGTH:
        size = length(m)
        return size >= 0 and take(m, size)
    if wire in (_FIXED_32, _FIXED_64):
        return take(m, np.int64(4 if wire == _FIXED_32 else 8))
    return stop(m, why.INVALID_WIRE_TYPE, start)


@fast
def _skip_one(m: Any, number: Any, wire: Any, start: Any, groups: Any) -> Any:
    """Return the number of open groups after a field, negative if the reading ends."""
    if wire == _GROUP:
        if m.state[to.DEPTH] + groups >= MAX_DEPTH:
            stop(m, why.TOO_DEEP, start)
            return np.int64(NO)
        m.groups[groups] = number
        return groups + 1
    if wire == _END_GROUP:
        if groups == 0 or m.groups[groups - 1] != number:
            stop(m, why.UNMATCHED_GROUP, start)
            return np.int64(NO)
        return groups - 1
    return groups if _skip_single(m, wire, start) else np.int64(NO)


@fast
def skip(m: Any, number: Any, wire: Any, start: Any) -> Any:
    """Skip a field whose tag began at `start`. A group is skipped with its content."""
    groups = np.int64(0)
    while True:
        groups = _skip_one(m, number, wire, start, groups)
        if groups <= 0:
            return groups == 0
        start = m.state[to.AT]
        if start == m.state[to.END]:
            return stop(m, why.TRUNCATED, start)
        number, wire = tag(m)
        if number == 0:
            return False
