"""Maps with a key more than once. Java's readers keep the last entry of a key.

A loop finds them, with a table of all keys of a map. It gives up on a key that collides with many others, so that no
message makes it slow: such a map is examined by Python's own dict.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.compiled import byte, cached, fast, inlined, mark

_PROBES: Final = 32
_SEED: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3


@inlined
def _hash(content: Any, start: Any, end: Any) -> Any:
    bits = np.uint64(_SEED)
    for at in range(start, end):
        bits = (bits ^ np.uint64(byte(content, at))) * np.uint64(_PRIME)
    return bits ^ bits >> np.uint64(32)


@inlined
def _are_equal(content: Any, ends: Any, one: Any, other: Any) -> Any:
    size = ends[one + 1] - ends[one]
    if ends[other + 1] - ends[other] != size:
        return False
    for place in range(size):  # noqa: SIM110  # compiled
        if content[ends[one] + place] != content[ends[other] + place]:
            return False
    return True


@fast
def _may_repeat(entries: Any, ends: Any, content: Any, table: Any, row: Any) -> Any:
    """Return True if a map has a key twice, or if that is too costly to decide."""
    most = len(table) - 1
    for entry in range(entries[row], entries[row + 1]):
        slot = np.int64(_hash(content, ends[entry], ends[entry + 1]) & np.uint64(most))
        for probe in range(_PROBES):
            place = (slot + probe) & most
            if table[place, 0] != row + 1:
                table[place, 0], table[place, 1] = row + 1, entry
                break
            if _are_equal(content, ends, entry, table[place, 1]) or probe == _PROBES - 1:
                return True
    return False


@fast
def examined(entries: Any, ends: Any, content: Any, table: Any, rows: Any) -> None:
    """Mark the maps that may have a key twice."""
    for row in range(len(rows)):
        if entries[row + 1] - entries[row] > 1:
            rows[row] = _may_repeat(entries, ends, content, table, row)


def marked(mark: int) -> Callable[[Any, Any, Any, Any, Any], int]:
    """Return the function to compile and cache: `examined`, with a number that changes with its parts."""

    def run(entries: Any, ends: Any, content: Any, table: Any, rows: Any) -> int:
        examined(entries, ends, content, table, rows)
        return mark

    return run


def retained(
    entries: NDArray[np.int32], ends: NDArray[np.int32], content: NDArray[np.uint8]
) -> NDArray[np.bool_] | None:
    """Return a flag for each entry that a reader keeps, or None if no map has a key twice.

    Map i has the entries from `entries[i]` to the next, and entry j the key from `ends[j]` to the next in `content`.
    """
    most = int(np.diff(entries).max(initial=0))
    if most < 2:  # noqa: PLR2004  # keys
        return None
    table = np.zeros((1 << (2 * most).bit_length(), 2), np.int64)
    rows = np.zeros(len(entries) - 1, np.bool_)
    _RUN(entries, ends, content, table, rows)
    flags = None
    for row in np.flatnonzero(rows).tolist():
        first, last = int(entries[row]), int(entries[row + 1])
        keys = {content[ends[each] : ends[each + 1]].tobytes(): each for each in range(first, last)}
        if len(keys) < last - first:
            flags = np.ones(len(ends) - 1, np.bool_) if flags is None else flags
            flags[first:last] = False
            flags[list(keys.values())] = True
    return flags


_RUN: Final = cached(marked(mark(())))
