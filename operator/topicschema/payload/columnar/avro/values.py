"""Single values of Avro in the bytes of a message: the end of each, or a sign that it is invalid."""

from typing import Any, Final

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

DOUBLE_BYTES: Final = 8
_FRACTION: Final = 52
_FLOAT_FRACTION: Final = 23
"""Bits of the fractions of a double and a float."""
_INFINITE: Final = 0x7FF
"""Exponent of the infinities and of what is no number."""
_SMALLEST, _NORMAL, _LARGEST = 1023 - 149, 1023 - 126, 1023 + 127
"""Exponents of the smallest float, of the smallest that has all bits, and of the largest."""


@inlined
def number(values: Any, at: Any, end: Any, longest: Any) -> Any:
    """Return the bits of an int or a long and their end, or NO if they do not end or are too many."""
    if at < end and byte(values, at) < MORE:  # most have one byte
        return byte(values, at), at + 1
    bits, after = varint(values, at, end, longest)
    is_within = bits >> 32 == 0 if longest == INT_BYTES else after - at < LONG_BYTES or byte(values, after - 1) < 2  # noqa: PLR2004  # its last bit
    return bits, after if after < 0 or is_within else np.int64(NO)


@inlined
def is_float(values: Any, at: Any) -> Any:
    """Return True if the double at `at` is a float, too, or not a number."""
    bits = np.int64(0)
    for place in range(DOUBLE_BYTES):
        bits |= byte(values, at + place) << (8 * place)
    exponent, fraction = bits >> _FRACTION & _INFINITE, bits & (1 << _FRACTION) - 1
    if exponent == _INFINITE or (exponent == 0 and fraction == 0):
        return True
    if exponent < _SMALLEST or exponent > _LARGEST:
        return False
    missing = _FRACTION - _FLOAT_FRACTION + (_NORMAL - exponent if exponent < _NORMAL else 0)
    return fraction & (1 << missing) - 1 == 0


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
