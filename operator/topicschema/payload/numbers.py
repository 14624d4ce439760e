"""Integers' ranges, and the bits of floating-point numbers as Java moves them, those of NaN too."""

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
_FLOAT_BITS: Final = 24  # of a float's mantissa, with the one that is not written
_SHIFT: Final = 52 - 23  # how much longer a double's mantissa is


def signed(bits: int) -> range:
    """What a number in two's complement may be."""
    return range(-(1 << bits - 1), 1 << bits - 1)


INT: Final = signed(32)
LONG: Final = signed(64)


def float_of(bits: int) -> float:
    """The number whose 32 bits are given; a NaN's are kept, which the processor's own conversion would not do."""
    value: float = _FLOAT.unpack(bits.to_bytes(4, "big"))[0]
    if not math.isnan(value):
        return value
    return double_of((bits >> 31) << 63 | _DOUBLE_INFINITY | (bits & _MANTISSA) << _SHIFT)


def double_of(bits: int) -> float:
    """The number whose 64 bits are given."""
    value: float = _DOUBLE.unpack(bits.to_bytes(8, "big"))[0]
    return value


def bits_of_float(value: float, path: str = "$") -> int:
    """The nearest 32-bit number's bits; InvalidPayloadError OUT_OF_RANGE where only infinity is near."""
    if math.isnan(value):
        bits = int.from_bytes(_DOUBLE.pack(value), "big")
        mantissa = bits >> _SHIFT & _MANTISSA or _MANTISSA + 1 >> 1  # none left: the usual one, as it must not be 0
        return bits >> 63 << 31 | _FLOAT_INFINITY | mantissa
    try:
        return int.from_bytes(_FLOAT.pack(value), "big")
    except OverflowError:
        raise refused("OUT_OF_RANGE", "a float has no room for so large a number", path) from None


def nearest_float(value: float) -> float:
    """The 32-bit number that Java's cast makes: the nearest one, infinity where it is too far; a NaN keeps its bits."""
    if isinstance(value, int):
        size = abs(value).bit_length() - _FLOAT_BITS
        if size > 0:  # once, not first to a double and then to a float
            kept, rest = divmod(abs(value), 1 << size)
            half = 1 << (size - 1)
            kept += rest > half or (rest == half and kept & 1)
            value = (kept << size) * (1 if value > 0 else -1)
        value = nearest_double(value)
    try:
        return float_of(bits_of_float(value))
    except InvalidPayloadError:
        return math.copysign(math.inf, value)


def nearest_double(value: float) -> float:
    """The 64-bit number nearest to an integer, as Java's BigInteger makes it: infinity where it is too far."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def canonical_bits_of_double(value: float) -> int:
    """The 64 bits; of every NaN the same."""
    return _NAN if math.isnan(value) else int.from_bytes(_DOUBLE.pack(value), "big")


def bits_of_double(value: float) -> int:
    """The 64 bits."""
    return int.from_bytes(_DOUBLE.pack(value), "big")
