"""Upper bounds of the number of names in JSON texts, by their colons, which is fast.

A colon after a quote or a blank may end a name. One in a text may do so, too: then the bound is too high, but never too
low.
"""

from typing import Final

import numpy as np

from topicschema.payload.columnar.column import Bytes, Column, Offsets

_COLON: Final = ord(":")
_ENDS: Final = np.isin(np.arange(256), np.frombuffer(b'" \t\r\n', np.uint8))
_SPARSE: Final = 2


def most(payloads: Column) -> Offsets:
    """Return the maximum number of names in each payload."""
    values, starts = _together(payloads)
    colons = np.flatnonzero(values == _COLON)
    ends = _ENDS[values[colons - 1]]  # before byte 0 is the last one: harmless
    before = np.zeros(len(colons) + 1, np.int64)
    np.cumsum(ends, out=before[1:])
    counted: Offsets = (
        before[np.searchsorted(colons, starts + payloads.lengths)] - before[np.searchsorted(colons, starts)]
    )
    return counted


def _together(payloads: Column) -> tuple[Bytes, Offsets]:
    """Return the bytes from the first payload to the last, or only the payloads' if others lie between."""
    if not len(payloads):
        return payloads.values[:0], payloads.starts
    first, last = int(payloads.starts.min()), int(payloads.ends.max())
    lengths = payloads.lengths
    if last - first <= _SPARSE * int(lengths.sum()):
        return payloads.values[first:last], payloads.starts - first
    starts = np.cumsum(lengths) - lengths
    return payloads.values[np.repeat(payloads.starts - starts, lengths) + np.arange(lengths.sum())], starts
