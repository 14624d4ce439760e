"""How many names the objects in JSON texts may have, told by their colons: too fast to look at anything else.

A colon behind a quote or a blank may end a name. One in a text may look so, too: then there seem to be more names than
there are, and never fewer.
"""

from typing import Final

import numpy as np

from topicschema.payload.columnar.column import Bytes, Column, Offsets

_COLON: Final = ord(":")
_ENDS: Final = np.isin(np.arange(256), np.frombuffer(b'" \t\r\n', np.uint8))
_SPARSE: Final = 2


def most(payloads: Column) -> Offsets:
    """At most so many names are in each payload."""
    values, starts = _together(payloads)
    colons = np.flatnonzero(values == _COLON)
    ends = _ENDS[values[colons - 1]]  # before the first byte stands the last, which is as good: no name ends at once
    before = np.zeros(len(colons) + 1, np.int64)
    np.cumsum(ends, out=before[1:])
    counted: Offsets = (
        before[np.searchsorted(colons, starts + payloads.lengths)] - before[np.searchsorted(colons, starts)]
    )
    return counted


def _together(payloads: Column) -> tuple[Bytes, Offsets]:
    """The bytes from the first payload to the last, or where others lie between, the payloads' alone."""
    if not len(payloads):
        return payloads.values[:0], payloads.starts
    first, last = int(payloads.starts.min()), int(payloads.ends.max())
    lengths = payloads.lengths
    if last - first <= _SPARSE * int(lengths.sum()):
        return payloads.values[first:last], payloads.starts - first
    starts = np.cumsum(lengths) - lengths
    return payloads.values[np.repeat(payloads.starts - starts, lengths) + np.arange(lengths.sum())], starts
