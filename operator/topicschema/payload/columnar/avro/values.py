"""Single values of Avro in the bytes of a message: the end of each, or a sign that it is invalid."""

from typing import Any

import numpy as np

from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.compiled import (
    INT_BYTES,
    LONG_BYTES,
    MORE,
    NO,
    byte,
    inlined,
    malformed,
    signed,
    varint,
)


@inlined
def number(values: Any, at: Any, end: Any, longest: Any) -> Any:
    """Return the bits of an int or a long and their end, or NO if they do not end or are too many."""
    if at < end and byte(values, at) < MORE:  # most have one byte
        return byte(values, at), at + 1
    bits, after = varint(values, at, end, longest)
    is_within = bits >> 32 == 0 if longest == INT_BYTES else after - at < LONG_BYTES or byte(values, after - 1) < 2  # noqa: PLR2004  # its last bit
    return bits, after if after < 0 or is_within else np.int64(NO)


@inlined
def value(op: Any, operand: Any, values: Any, at: Any, end: Any) -> Any:
    """Return the end of the value for an instruction before UNION, or NO if it is invalid."""
    if op == to.SIZED:
        return at + operand if operand <= end - at else NO
    if op == to.BOOLEAN:
        return at + 1 if at < end and byte(values, at) < 2 else NO  # noqa: PLR2004  # false or true
    bits, after = number(values, at, end, INT_BYTES if op == to.INT or op == to.ENUM else LONG_BYTES)  # noqa: PLR1714
    if after < 0 or op <= to.LONG:
        return after
    integer = signed(bits)
    if op == to.ENUM:
        return after if 0 <= integer < operand else NO
    if integer < 0 or integer > end - after:
        return NO
    return NO if op == to.STRING and malformed(values, after, after + integer) >= 0 else after + integer
