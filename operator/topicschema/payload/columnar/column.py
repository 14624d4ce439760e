"""Column: many payloads in one piece of memory, the input of the validators."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]
RowSelection = Offsets | Flags | slice
_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Payloads in one piece of memory. Payload i is `values[starts[i]:ends[i]]`.

    `values` may be an Arrow buffer itself, and hold more than the payloads. `nulls` is True for a message without a
    payload (a tombstone), or None if there is none.
    """

    values: Bytes
    starts: Offsets
    ends: Offsets
    nulls: Flags | None = None

    @classmethod
    def of(cls, payloads: Sequence[bytes | None]) -> "Column":
        """Return the column of single payloads. None is null."""
        lengths = [0 if each is None else len(each) for each in payloads]
        offsets = np.zeros(len(payloads) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = np.frombuffer(b"".join(each for each in payloads if each), np.uint8)
        nulls = np.fromiter((each is None for each in payloads), np.bool_, len(payloads))
        return cls.between(values, offsets, nulls if nulls.any() else None)

    @classmethod
    def between(cls, values: Bytes, offsets: Offsets, nulls: Flags | None = None) -> "Column":
        """Return the column of adjacent payloads. Payload i ends at `offsets[i + 1]`, where the next begins."""
        return cls(values, offsets[:-1], offsets[1:], nulls)

    @property
    def checked(self) -> "Column":
        """Return the column in the form for compiled loops. Raises ValueError if payloads are outside of the values."""
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
        """Return the number of bytes of each payload."""
        return self.ends - self.starts

    def only(self, rows: RowSelection) -> "Column":
        """Return some of the payloads, by indexes, flags or a slice, without a copy."""
        return Column(self.values, self.starts[rows], self.ends[rows], None if self.nulls is None else self.nulls[rows])

    def __len__(self) -> int:
        """Return the number of payloads."""
        return len(self.starts)

    def __getitem__(self, index: int) -> bytes | None:
        """Return a payload's bytes, None for null."""
        if self.nulls is not None and self.nulls[index]:
            return None
        return self.values[self.starts[index] : self.ends[index]].tobytes()


def unwritable(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return a read-only view. Arrow's buffers are read-only, and a loop is compiled for one kind of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
