"""Parts that the loops compiled by numba share. numba checks no bounds; the callers do."""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])
_njit: Any = njit  # its types know nothing of `_nrt`
_OPTIONS: Final = {"nogil": True, "_nrt": False}  # no references to count: that took most of the time


def fast(function: _Function) -> _Function:
    """Return the function, compiled when it is first called; it must not allocate."""
    return cast("_Function", _njit(**_OPTIONS)(function))


def inlined(function: _Function) -> _Function:
    """Return the function, compiled into each function that calls it."""
    return cast("_Function", _njit(forceinline=True, **_OPTIONS)(function))


@fast
def varint(content: Any, at: Any, end: Any) -> Any:
    """Return 64 bits of a variable-length integer and where it ends; -1 as the end if it is not whole."""
    bits = np.int64(0)
    shift = np.int64(0)
    while at < end and shift < 64:  # noqa: PLR2004  # ten bytes
        byte = np.int64(content[at])
        bits |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:  # noqa: PLR2004  # the bit that says more bytes follow
            return bits, at
    return bits, np.int64(-1)
