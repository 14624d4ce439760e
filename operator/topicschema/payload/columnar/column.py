"""Many payloads as one piece of memory: how the validators take them. Where they come from is told elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]
Rows = Offsets | Flags | slice
_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Payloads that lie in one piece of memory; payload i is `values[starts[i]:ends[i]]`.

    `values` may be an Arrow buffer itself, and hold more than the payloads. `nulls` has True where a message has no
    payload at all (a tombstone); None where all have one.
    """

    values: Bytes
    starts: Offsets
    ends: Offsets
    nulls: Flags | None = None

    @classmethod
    def of(cls, payloads: Sequence[bytes | None]) -> "Column":
        """The column of single payloads; None is null."""
        lengths = [0 if each is None else len(each) for each in payloads]
        offsets = np.zeros(len(payloads) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = np.frombuffer(b"".join(each for each in payloads if each), np.uint8)
        nulls = np.fromiter((each is None for each in payloads), np.bool_, len(payloads))
        return cls.between(values, offsets, nulls if nulls.any() else None)

    @classmethod
    def between(cls, values: Bytes, offsets: Offsets, nulls: Flags | None = None) -> "Column":
        """The column of payloads one after the other: payload i ends at `offsets[i + 1]`, where the next begins."""
        return cls(values, offsets[:-1], offsets[1:], nulls)

    @property
    def checked(self) -> "Column":
        """The same, as compiled loops take it; ValueError where payloads do not lie in the values."""
        starts, ends = (np.ascontiguousarray(each, np.int64) for each in (self.starts, self.ends))
        nulls = starts if self.nulls is None else self.nulls
        if starts.ndim != 1 or not starts.shape == ends.shape == nulls.shape:
            raise ValueError("there are not as many offsets of one kind as of the other, or nulls")
        if len(starts) and (starts.min() < 0 or ends.max() > len(self.values) or (starts > ends).any()):
            raise ValueError("the offsets are not those of the values")
        values = np.ascontiguousarray(self.values, np.uint8)
        return Column(unwritable(values), unwritable(starts), unwritable(ends), self.nulls)

    @property
    def lengths(self) -> Offsets:
        """How many bytes each payload has."""
        return self.ends - self.starts

    def only(self, rows: Rows) -> "Column":
        """Some of the payloads, by indexes, flags or a slice; nothing of them is copied."""
        return Column(self.values, self.starts[rows], self.ends[rows], None if self.nulls is None else self.nulls[rows])

    def __len__(self) -> int:
        """How many payloads."""
        return len(self.starts)

    def __getitem__(self, index: int) -> bytes | None:
        """A payload's bytes, None for null."""
        if self.nulls is not None and self.nulls[index]:
            return None
        return self.values[self.starts[index] : self.ends[index]].tobytes()


def unwritable(array: NDArray[_Number]) -> NDArray[_Number]:
    """The same, not to be written: Arrow's buffers are so, and a loop over a column is compiled for one sort."""
    seen = np.ascontiguousarray(array).view()
    seen.flags.writeable = False
    return seen
