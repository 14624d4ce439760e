"""Diagnosis of an invalid value: the reason and the byte.

It runs once for a message, after the fast reading has failed.
"""

from typing import Any

import numpy as np

from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.values import number
from topicschema.payload.columnar.compiled import INT_BYTES, LONG_BYTES, MORE, fast, inlined, malformed, signed


@inlined
def _of_number(values: Any, at: Any, end: Any, longest: Any) -> Any:
    """Return the error of an invalid variable-length number."""
    for each in range(at, min(end, at + longest)):
        if values[each] < MORE:
            return why.OUT_OF_RANGE
    return why.TRUNCATED if at + longest > end else why.VARINT_TOO_LONG


@inlined
def _of_content(values: Any, at: Any, end: Any, bits: Any, after: Any) -> Any:
    """Return the error of a text or bytes with a valid length."""
    length = signed(bits)
    if length < 0:
        return why.NEGATIVE_LENGTH, at
    if length > end - after:
        return why.TRUNCATED, after
    return why.INVALID_UTF8, malformed(values, after, after + length)


@fast
def error_at(k: Any, values: Any, pc: Any, at: Any, end: Any) -> Any:
    """Return the reason and the byte of the value that an instruction could not read at `at`."""
    op = k.code[pc, to.OP]
    is_text = op == to.BYTES or op == to.STRING  # noqa: PLR1714  # cheaper to compile
    is_long = is_text or op == to.LONG or op == to.ROUNDED_LONG or op == to.LOOP or op == to.NEXT  # noqa: PLR1714
    longest = LONG_BYTES if is_long else INT_BYTES
    bits, after = number(values, at, end, longest)
    reason = why.UNION_INDEX if op == to.UNION else why.ENUM_INDEX
    if op == to.SIZED or op == to.NARROWED or at >= end:  # noqa: PLR1714
        reason = why.TRUNCATED
    elif op == to.BOOLEAN:
        reason = why.INVALID_BOOLEAN
    elif after < 0:
        reason = _of_number(values, at, end, longest)
    elif is_text:
        reason, at = _of_content(values, at, end, bits, after)
    return np.int64(reason), at


@fast
def in_dropped(k: Any, reason: Any) -> Any:
    """Return the reason for a value that the reader drops."""
    if reason == why.ENUM_INDEX:
        return np.int64(why.SKIPPED_SYMBOL)
    if reason == why.NEGATIVE_LENGTH or reason == why.BLOCK_SIZE:  # noqa: PLR1714  # cheaper to compile
        return np.int64(why.SKIPPED_CORRUPT)
    if reason == why.TOO_MANY_VALUES or reason == why.TOO_DEEP or reason == why.INVALID_UTF8:  # noqa: PLR1714
        return reason
    for each in range(k.state[m.LOOPS]):
        if k.stack[each, m.CLOSE] >= 0 and k.code[k.stack[each, m.HEAD], to.PATH] < 0:
            return np.int64(why.SKIPPED_CORRUPT)
    return reason
