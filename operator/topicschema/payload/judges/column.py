"""Many payloads as one piece of memory: how the judges take them. Where they come from is told elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]
_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Payloads, one after the other; payload i is `values[offsets[i]:offsets[i + 1]]`.

    `values` may be an Arrow buffer itself, and longer than what the offsets speak of. `nulls` has True where a message
    has no payload at all (a tombstone); None where all have one.
    """

    values: Bytes
    offsets: Offsets
    nulls: Flags | None = None

    @classmethod
    def of(cls, payloads: Sequence[bytes | None]) -> "Column":
        """The column of single payloads; None is null."""
        lengths = [0 if each is None else len(each) for each in payloads]
        offsets = np.zeros(len(payloads) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = np.frombuffer(b"".join(each for each in payloads if each), np.uint8)
        nulls = np.fromiter((each is None for each in payloads), np.bool_, len(payloads))
        return cls(values, offsets, nulls if nulls.any() else None)

    @classmethod
    def from_arrays(cls, values: Bytes, offsets: Offsets, nulls: Flags | None = None) -> "Column":
        """The column over buffers of others; ValueError where the offsets go back, or beyond the values."""
        bounds = np.ascontiguousarray(offsets, np.int64)
        if bounds.ndim != 1 or not bounds.size or bounds[0] < 0 or bounds[-1] > len(values):
            raise ValueError("the offsets are not those of the values")
        if (bounds[1:] < bounds[:-1]).any() or (nulls is not None and len(nulls) != len(bounds) - 1):
            raise ValueError("the offsets go back, or there are not as many nulls as payloads")
        return cls(np.ascontiguousarray(values, np.uint8), bounds, nulls)

    @classmethod
    def of_pieces(cls, values: Bytes, starts: Offsets, ends: Offsets, nulls: Flags | None = None) -> "Column":
        """The column of pieces of a buffer, in its order, none over another."""
        offsets = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(ends - starts, out=offsets[1:])
        if not len(starts) or (starts[1:] == ends[:-1]).all():
            first = int(starts[0]) if len(starts) else 0
            return cls(values[first:], offsets, nulls)
        edges = np.zeros(int(ends[-1]) + 1, np.int8)
        np.add.at(edges, starts, 1)
        np.subtract.at(edges, ends, 1)
        inside = np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)
        return cls(values[: len(inside)][inside], offsets, nulls)

    @property
    def lengths(self) -> Offsets:
        """How many bytes each payload has."""
        return self.offsets[1:] - self.offsets[:-1]

    def only(self, rows: Offsets) -> "Column":
        """The payloads at these indexes, which go up; none of them is null."""
        return Column.of_pieces(self.values, self.offsets[:-1][rows], self.offsets[1:][rows])

    def __len__(self) -> int:
        """How many payloads."""
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes | None:
        """A payload's bytes, None for null."""
        if self.nulls is not None and self.nulls[index]:
            return None
        return self.values[self.offsets[index] : self.offsets[index + 1]].tobytes()


def unwritable(array: NDArray[_Number]) -> NDArray[_Number]:
    """The same, not to be written: Arrow's buffers are so, and a loop over a column is compiled for one sort."""
    seen = np.ascontiguousarray(array).view()
    seen.flags.writeable = False
    return seen
