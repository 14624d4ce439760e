"""Ranges of integers, and the bits of floating-point numbers as Java converts them, also for NaN."""

import math
import struct
from typing import Final

from topicschema.core.errors import InvalidPayloadError
from topicschema.payload.codec import refused

_FLOAT: Final = struct.Struct(">f")
_DOUBLE: Final = struct.Struct(">d")
_NAN: Final = 0x7FF8_0000_0000_0000
_FLOAT_INFINITY: Final = 0x7F80_0000
_DOUBLE_INFINITY: Final = 0x7FF0_0000_0000_0000
_MANTISSA: Final = 0x007F_FFFF
_FLOAT_BITS: Final = 24  # of a float's mantissa, with the implicit one
_SHIFT: Final = 52 - 23  # extra bits of a double's mantissa


def signed(bits: int) -> range:
    """Return the range of a two's complement number."""
    return range(-(1 << bits - 1), 1 << bits - 1)


INT: Final = signed(32)
LONG: Final = signed(64)


def float_of(bits: int) -> float:
    """Return the number with these 32 bits. A NaN retains its bits, which the processor's conversion would change."""
    value: float = _FLOAT.unpack(bits.to_bytes(4, "big"))[0]
    if not math.isnan(value):
        return value
    return double_of((bits >> 31) << 63 | _DOUBLE_INFINITY | (bits & _MANTISSA) << _SHIFT)


def double_of(bits: int) -> float:
    """Return the number with these 64 bits."""
    value: float = _DOUBLE.unpack(bits.to_bytes(8, "big"))[0]
    return value


def bits_of_float(value: float, path: str = "$") -> int:
    """Return the bits of the nearest 32-bit number. Raises InvalidPayloadError OUT_OF_RANGE if that is infinity."""
    if math.isnan(value):
        bits = int.from_bytes(_DOUBLE.pack(value), "big")
        mantissa = bits >> _SHIFT & _MANTISSA or _MANTISSA + 1 >> 1  # if 0, the usual one: it must not be 0
        return bits >> 63 << 31 | _FLOAT_INFINITY | mantissa
    try:
        return int.from_bytes(_FLOAT.pack(value), "big")
    except OverflowError:
        raise refused("OUT_OF_RANGE", "the number is too large for a float", path) from None


def nearest_float(value: float) -> float:
    """Return the 32-bit number of Java's cast: the nearest one, or infinity beyond the range.

    A NaN retains its bits.
    """
    if isinstance(value, int):
        size = abs(value).bit_length() - _FLOAT_BITS
        if size > 0:  # directly, not first to a double and then to a float
            rounded, rest = divmod(abs(value), 1 << size)
            half = 1 << (size - 1)
            rounded += rest > half or (rest == half and rounded & 1)
            value = (rounded << size) * (1 if value > 0 else -1)
        value = nearest_double(value)
    try:
        return float_of(bits_of_float(value))
    except InvalidPayloadError:
        return math.copysign(math.inf, value)


def nearest_double(value: float) -> float:
    """Return the 64-bit number nearest to an integer, like Java's BigInteger: infinity beyond the range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def integer_of(value: float, limits: range) -> int:
    """Return the integer of Java's cast, within `signed` limits: a double is cut and clamped, an integer wraps."""
    if isinstance(value, int):
        return (value - limits.start) % (limits.stop - limits.start) + limits.start  # a len would overflow
    return int(min(max(value, limits.start), limits.stop - 1))


def canonical_bits_of_double(value: float) -> int:
    """Return the 64 bits, the same for every NaN."""
    return _NAN if math.isnan(value) else int.from_bytes(_DOUBLE.pack(value), "big")


def bits_of_double(value: float) -> int:
    """Return the 64 bits."""
    return int.from_bytes(_DOUBLE.pack(value), "big")
