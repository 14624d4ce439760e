"""Parts that the loops compiled by numba share: numbers and texts in bytes, and the cache of compiled loops.

numba checks no bounds. Each read follows a comparison with the end.

numba compiles a loop in a process's first run, and stores it on disk if possible. The folder is NUMBA_CACHE_DIR, else
`__pycache__` beside the source, else the user's cache folder. An entry is valid for the same source on the same kind of
processor. numba only notices changes in the function's own file, so the hash of all other parts belongs to the key.
"""

import sys
import zlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

_Function = TypeVar("_Function", bound=Callable[..., Any])
_njit: Any = njit  # its types know nothing of `_nrt`
_OPTIONS: Final = {"nogil": True, "_nrt": False}  # no references to count: that took most of the time
MORE: Final = 0x80
INT_BYTES, LONG_BYTES = 5, 10
"""Maximum bytes of a number."""
LARGEST: Final = 2**63 - 1
NO: Final = -1
_WORD: Final = 8
"""Bytes that are examined together."""
_HIGH: Final = 0x8080808080808080
"""Bits that no byte of an ASCII word has."""


class LoopResult(NamedTuple):
    """Output of a loop: the reason, the offset and the path of each message's fault.

    numba compiles for this type. The paths are a program's, or numbers that are equal for equal paths.
    """

    reasons: NDArray[np.int16]
    paths: NDArray[Any]
    offsets: NDArray[np.int64]


def fast(function: _Function) -> _Function:
    """Return the function, compiled when it is first called; it must not allocate."""
    return cast("_Function", _njit(**_OPTIONS)(function))


def inlined(function: _Function) -> _Function:
    """Return the function, compiled into each function that calls it."""
    return cast("_Function", _njit(forceinline=True, **_OPTIONS)(function))


def cached(run: _Function) -> _Function:
    """Return the loop, compiled in its first run. Without a folder for the cache, each process compiles for itself."""
    try:
        return cast("_Function", njit(nogil=True, cache=True)(run))
    except RuntimeError:
        return cast("_Function", njit(nogil=True)(run))


def mark(modules: Iterable[ModuleType]) -> int:
    """Return a number that changes if anything compiled in the modules or in this one changes: functions, constants."""
    checksum = 0
    for module in (*modules, sys.modules[__name__]):
        for name, each in sorted(vars(module).items()):
            source = getattr(each, "py_func", None)
            if source is not None:
                code = source.__code__
                text = f"{name} {code.co_code.hex()} {code.co_consts} {code.co_names}"
            elif isinstance(each, int):
                text = f"{name} {each}"
            else:
                continue
            checksum = zlib.crc32(text.encode(), checksum)
    return checksum


@inlined
def byte(values: Any, at: Any) -> Any:
    """Return the byte at a position that is not negative, without numba's check for an index from the end."""
    return np.int64(values[np.uint64(at)])


@inlined
def signed(bits: Any) -> Any:
    """Return the integer of zigzag bits."""
    return ((bits >> 1) & LARGEST) ^ -(bits & 1)


@inlined
def varint(values: Any, at: Any, end: Any, longest: Any) -> Any:
    """Return the lowest 64 bits of an integer and its end, or NO if it does not end within `longest` bytes."""
    if at < end and byte(values, at) < MORE:  # most have one byte
        return byte(values, at), at + 1
    bits, shift = np.int64(0), np.int64(0)
    stop = min(end, at + longest)
    while at < stop:
        each = byte(values, at)
        at += 1
        bits |= (each & 0x7F) << shift
        if each < MORE:
            return bits, at
        shift += 7
    return bits, np.int64(NO)


@inlined
def _character(values: Any, at: Any, end: Any) -> Any:
    """Return the number of bytes of the character at `at`, 0 for an invalid one (Unicode's table 3-7)."""
    first = np.int64(values[at])
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4  # noqa: PLR2004  # the first byte of three, of four
    if first < 0xC2 or first > 0xF4 or size > end - at:  # noqa: PLR2004  # the smallest and the largest
        return 0
    low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80  # noqa: PLR2004  # not in fewer bytes
    high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF  # noqa: PLR2004  # no surrogates, nothing beyond
    second = np.int64(values[at + 1])
    if second < low or second > high:
        return 0
    for later in range(at + 2, at + size):
        if values[later] & 0xC0 != 0x80:  # noqa: PLR2004  # a byte that goes on
            return 0
    return size


@inlined
def _of_word(values: Any, at: Any, place: Any) -> Any:
    return np.uint64(byte(values, at + place)) << np.uint64(8 * place)


@inlined
def _word(values: Any, at: Any) -> Any:
    """Return eight bytes as one number, the first the lowest. Written out, it compiles to one instruction."""
    low = _of_word(values, at, 0) | _of_word(values, at, 1) | _of_word(values, at, 2) | _of_word(values, at, 3)
    high = _of_word(values, at, 4) | _of_word(values, at, 5) | _of_word(values, at, 6) | _of_word(values, at, 7)
    return low | high


@inlined
def _is_ascii(values: Any, at: Any, end: Any) -> Any:
    """Return True if all bytes are ASCII. Words may overlap, or reach beyond the end within the memory."""
    size = end - at
    if size >= _WORD:
        combined = _word(values, end - _WORD)
        for each in range(at, end - _WORD, _WORD):
            combined |= _word(values, each)
        return combined & np.uint64(_HIGH) == 0
    if size > 0 and at + _WORD <= len(values):
        return (_word(values, at) & np.uint64(_HIGH)) << np.uint64(8 * (_WORD - size)) == 0
    combined = np.uint64(0)
    for each in range(at, end):
        combined |= np.uint64(values[each])
    return combined < MORE


@fast
def _first_malformed(values: Any, at: Any, end: Any) -> Any:
    while at < end:
        if values[at] < MORE:
            at += _WORD if end - at >= _WORD and _word(values, at) & np.uint64(_HIGH) == 0 else 1
            continue
        size = _character(values, at, end)
        if size == 0:
            return at
        at += size
    return NO


@inlined
def malformed(values: Any, at: Any, end: Any) -> Any:
    """Return the first byte that is not UTF-8, or NO if there is none."""
    return np.int64(NO) if _is_ascii(values, at, end) else _first_malformed(values, at, end)
