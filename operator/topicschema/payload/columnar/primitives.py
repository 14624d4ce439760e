"""Validators of primitives: by length, by the limits of some, a STRING by its bytes. See payload/primitives.

Those of integers follow from the codec.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.payload import primitives, text
from topicschema.payload.codec import Codec
from topicschema.payload.columnar.base import FirstFinding, PrefilteredValidator, anything
from topicschema.payload.columnar.column import Column, Flags, Offsets
from topicschema.payload.columnar.reasons import Reasons
from topicschema.payload.columnar.verdicts import Validator
from topicschema.payload.finding import PayloadFinding, Unreadable
from topicschema.payload.primitives import Integer

_ASCII_END: Final = 0x80
_ANYTHING: Final = frozenset({"latin-1"})
_LONG: Final = 8


def validator_for(info: SchemaInfo) -> Validator:
    """Return the validator of a primitive type. Raises InvalidSchemaError like `primitives.codec`."""
    codec = primitives.codec(info)
    if isinstance(codec, Integer):
        reasons, fitting = _integer(codec)
    else:
        reasons = _REASONS[info.type]
        fitting = _texts(info) if info.type is SchemaType.STRING else _FITTING[info.type]
    return PrefilteredValidator(reasons, fitting, partial(_examine, codec))


def _examine(codec: Codec, payload: bytes) -> FirstFinding | None:
    findings: list[PayloadFinding] = []
    try:
        codec.read(payload, findings)
    except Unreadable as stop:
        findings.append(stop.finding)
    return FirstFinding.first(findings)


def _sized(size: int, payloads: Column) -> Flags:
    fits: Flags = payloads.lengths == size
    return fits


def _boolean(payloads: Column) -> Flags:
    fits = _sized(1, payloads)
    fits[fits] = payloads.values[payloads.starts[fits]] <= 1
    return fits


def _integer(codec: Integer) -> tuple[Reasons, Callable[[Column], Flags]]:
    """Return the reasons and the check of a codec's numbers."""
    if codec.is_limited:
        return _LIMITED, partial(_within, codec.size, (codec.allowed,))
    return _SIZED, partial(_sized, codec.size)


def _within(size: int, limits: tuple[range, ...], payloads: Column) -> Flags:
    """Return a flag for each payload of consecutive numbers of `size` bytes that are within their limits."""
    fits = _sized(size * len(limits), payloads)
    starts = payloads.starts[fits]
    is_within = np.ones(len(starts), np.bool_)
    for index, limit in enumerate(limits):
        numbers = integers(payloads, starts + index * size, size)
        is_within &= (numbers >= limit.start) & (numbers < limit.stop)
    fits[fits] = is_within
    return fits


def _instant(payloads: Column) -> Flags:
    fits = _sized(12, payloads)
    starts = payloads.starts[fits]
    seconds, nanos = integers(payloads, starts, _LONG), integers(payloads, starts + _LONG, 4)
    limits = primitives.SECONDS
    fits[fits] = (seconds >= limits.start) & (seconds < limits.stop) & (nanos >= 0) & (nanos < primitives.NANOS)
    return fits


def integers(payloads: Column, starts: Offsets, size: int) -> NDArray[np.int64]:
    """Return the numbers of `size` bytes at the positions `starts`, the highest byte first."""
    cut = payloads.values[starts[:, None] + np.arange(size)]
    numbers: NDArray[np.int64] = np.ascontiguousarray(cut).view(f">i{size}")[:, 0].astype(np.int64)
    return numbers


def _texts(info: SchemaInfo) -> Callable[[Column], Flags]:
    charset = primitives.charset_of(info)
    return anything if charset in _ANYTHING else partial(_decoded, charset)


def _decoded(charset: str, payloads: Column) -> Flags:
    fits = np.ones(len(payloads), np.bool_)
    for row in np.flatnonzero(_odd(charset, payloads)).tolist():
        fits[row] = text.decode(payloads[row] or b"", charset)[1] is None
    return fits


def _odd(charset: str, payloads: Column) -> Flags:
    """Return a flag for each payload with a byte that is not ASCII, so that it may be invalid."""
    if charset not in ("utf-8", "ascii"):
        return payloads.lengths > 0
    first, last = payloads.starts.min(initial=len(payloads.values)), payloads.ends.max(initial=0)
    high = np.flatnonzero(payloads.values[first:last] >= _ASCII_END) + first
    odd: Flags = np.searchsorted(high, payloads.ends) > np.searchsorted(high, payloads.starts)
    return odd


_FITTING: Final[Mapping[SchemaType, Callable[[Column], Flags]]] = MappingProxyType(
    {
        SchemaType.NONE: anything,
        SchemaType.BYTES: anything,
        SchemaType.BOOLEAN: _boolean,
        SchemaType.FLOAT: partial(_sized, 4),
        SchemaType.DOUBLE: partial(_sized, 8),
        SchemaType.INSTANT: _instant,
        SchemaType.LOCAL_DATE_TIME: partial(_within, _LONG, (primitives.DAYS, primitives.NANOS_OF_DAY)),
    }
)

_SIZED: Final[Reasons] = {"TRUNCATED": False, "TRAILING_BYTES": False}
_LIMITED: Final[Reasons] = {**_SIZED, "OUT_OF_RANGE": False}

_REASONS: Final[Mapping[SchemaType, Reasons]] = MappingProxyType(
    {
        **dict.fromkeys(_FITTING, _SIZED),
        SchemaType.NONE: {},
        SchemaType.BYTES: {},
        SchemaType.BOOLEAN: {**_SIZED, "INVALID_BOOLEAN": True},
        SchemaType.INSTANT: {**_LIMITED, "TRAILING_BYTES": True},
        SchemaType.LOCAL_DATE_TIME: {**_LIMITED, "TRAILING_BYTES": True},
        SchemaType.STRING: {"INVALID_UTF8": True, "INVALID_TEXT": True},
    }
)
