"""Types of protobuf's single values: their wire format, and their type in Python."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from topicschema.core.formats.protobuf_native import Kind

VARINT: Final = 0
FIXED_64: Final = 1
LENGTH: Final = 2
GROUP: Final = 3
END_GROUP: Final = 4
FIXED_32: Final = 5

_U32: Final = 0xFFFF_FFFF
_TOP_32: Final = 1 << 31
_TOP_64: Final = 1 << 63

HOLDERS: Final = frozenset({Kind.MESSAGE, Kind.GROUP})
FLOATS: Final = frozenset({Kind.FLOAT, Kind.DOUBLE})
KEYS: Final = frozenset(Kind) - HOLDERS - FLOATS - {Kind.BYTES, Kind.ENUM}
"""Types of a map's key."""


def _signed_32(bits: int) -> int:
    bits &= _U32
    return bits - (1 << 32) if bits & _TOP_32 else bits


def _signed_64(bits: int) -> int:
    return bits - (1 << 64) if bits & _TOP_64 else bits


def _zigzag_32(bits: int) -> int:
    return (bits & _U32) >> 1 ^ -(bits & 1)


def _zigzag_64(bits: int) -> int:
    return bits >> 1 ^ -(bits & 1)


OF_VARINT: Final[Mapping[Kind, Callable[[int], int]]] = MappingProxyType(
    {
        Kind.INT32: _signed_32,
        Kind.INT64: _signed_64,
        Kind.UINT32: _U32.__and__,
        Kind.UINT64: int,
        Kind.SINT32: _zigzag_32,
        Kind.SINT64: _zigzag_64,
        Kind.BOOL: bool,
        Kind.ENUM: _signed_32,
    }
)
"""Conversions of a varint's 64 bits to a value of the type. Excess bits are cut off, as in Java."""

FIXED: Final[Mapping[Kind, tuple[int, str]]] = MappingProxyType(
    {
        Kind.FIXED32: (4, "I"),
        Kind.SFIXED32: (4, "i"),
        Kind.FIXED64: (8, "Q"),
        Kind.SFIXED64: (8, "q"),
        Kind.FLOAT: (4, "f"),
        Kind.DOUBLE: (8, "d"),
    }
)
"""Types of a fixed size: the number of bytes, and the letter for `struct`."""

WIRE: Final[Mapping[Kind, int]] = MappingProxyType(
    {
        **dict.fromkeys(OF_VARINT, VARINT),
        **{kind: FIXED_32 if size == 4 else FIXED_64 for kind, (size, _) in FIXED.items()},  # noqa: PLR2004  # bytes
        **dict.fromkeys((Kind.STRING, Kind.BYTES, Kind.MESSAGE), LENGTH),
        Kind.GROUP: GROUP,
    }
)
"""Wire type of each type, if it is not packed."""

_INT_32: Final = range(-_TOP_32, _TOP_32)
_INT_64: Final = range(-_TOP_64, _TOP_64)
_UINT_32: Final = range(1 << 32)
_UINT_64: Final = range(1 << 64)
RANGES: Final[Mapping[Kind, range]] = MappingProxyType(
    {
        **dict.fromkeys((Kind.INT32, Kind.SINT32, Kind.SFIXED32), _INT_32),
        **dict.fromkeys((Kind.INT64, Kind.SINT64, Kind.SFIXED64), _INT_64),
        **dict.fromkeys((Kind.UINT32, Kind.FIXED32), _UINT_32),
        **dict.fromkeys((Kind.UINT64, Kind.FIXED64), _UINT_64),
    }
)
"""Ranges of integers."""

ENUM_NUMBERS: Final = _INT_32
"""Range of an enum's number."""
