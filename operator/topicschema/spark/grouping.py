"""How many rows have which combination of values: numpy does it, no loop over rows."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
_WIDEST: Final = 1 << 62
_DENSE: Final = 4
"""Counting in an array is chosen where it has at most so many cells for a row."""


def grouped(columns: Sequence[NDArray[Any]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each combination of values that rows have, and how many have it; the columns are integers of one length."""
    if not len(columns[0]):
        return
    wide = [each.astype(np.int64, copy=False) for each in columns]
    lowest = [int(each.min()) for each in wide]
    spans = [int(each.max()) - low + 1 for each, low in zip(wide, lowest, strict=True)]
    cells = 1
    for span in spans:
        cells *= span
    if cells >= _WIDEST:
        rows, counts = np.unique(np.stack(wide, axis=1), axis=0, return_counts=True)
        yield from ((tuple(row), count) for row, count in zip(rows.tolist(), counts.tolist(), strict=True))
        return
    codes, counts = _counted(_combined(wide, lowest, spans), cells)
    yield from zip(_parted(codes, lowest, spans), counts.tolist(), strict=True)


def _combined(columns: Sequence[Numbers], lowest: Sequence[int], spans: Sequence[int]) -> Numbers:
    codes = columns[0] - lowest[0]
    for column, low, span in zip(columns[1:], lowest[1:], spans[1:], strict=True):
        codes = codes * span + (column - low)
    return codes


def _counted(codes: Numbers, cells: int) -> tuple[Numbers, Numbers]:
    if cells > _DENSE * len(codes) + 64:
        return np.unique(codes, return_counts=True)
    counts = np.bincount(codes, minlength=1)
    found = np.flatnonzero(counts)
    return found, counts[found]


def _parted(codes: Numbers, lowest: Sequence[int], spans: Sequence[int]) -> Iterator[tuple[int, ...]]:
    parts: list[list[int]] = []
    for low, span in zip(reversed(lowest), reversed(spans), strict=True):
        parts.append((codes % span + low).tolist())
        codes = codes // span
    yield from zip(*reversed(parts), strict=True)
