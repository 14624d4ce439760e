"""Reader of KEY_VALUE: a struct of key and value, each read by its own type."""

from typing import Final

import numpy as np
import pyarrow as pa

from topicschema.core.formats.key_value import Side
from topicschema.payload.arrow import values
from topicschema.payload.arrow.decoder import ColumnFault, ColumnReader
from topicschema.payload.columnar.column import Column, Flags, Offsets
from topicschema.payload.columnar.primitives import integers

_LENGTH: Final = 4


class PairReader:
    """Reader of INLINE or SEPARATED pairs, with a reader each for key and value."""

    def __init__(self, kind: pa.DataType, key: ColumnReader, value: ColumnReader, *, is_inline: bool) -> None:
        self._type = kind
        self._readers = {Side.KEY: key, Side.VALUE: value}
        self._is_inline = is_inline

    def read(self, payloads: Column, keys: Column | None, skipped: Flags) -> tuple[pa.Array, list[ColumnFault]]:
        """Return the pairs, and the faults of the messages that the column cannot hold. Null parts are null.

        A SEPARATED pair without a payload has a null value, as in Java.
        """
        if self._is_inline:
            skipped = skipped if payloads.nulls is None else skipped | payloads.nulls
            parts = _split(payloads, skipped)
        else:
            empty = np.zeros(len(payloads), np.int64)
            no_keys = Column(payloads.values, empty, empty, np.ones(len(payloads), np.bool_))
            parts = {Side.KEY: no_keys if keys is None else keys, Side.VALUE: payloads}
        arrays, faults = [], dict[int, ColumnFault]()
        for side, column in parts.items():
            array, met = self._readers[side].read(column, None, skipped)
            arrays.append(array)
            begins = column.starts - payloads.starts if self._is_inline else np.zeros(len(column), np.int64)
            for row, reason, path, offset in met:
                at = offset if offset < 0 else offset + int(begins[row])
                faults.setdefault(row, ColumnFault(row, reason, f"$.{side}{path[1:]}", at))
        is_read = ~skipped
        is_read[list(faults)] = False
        return (
            pa.Array.from_buffers(self._type, len(payloads), [values.bitmap(is_read)], children=arrays),
            list(faults.values()),
        )


def _split(payloads: Column, skipped: Flags) -> dict[Side, Column]:
    """Return the parts of valid INLINE pairs."""
    rows = np.flatnonzero(~skipped)
    parts = {}
    ends = payloads.starts.copy()
    for side in Side:
        starts, nulls = ends.copy(), np.ones(len(payloads), np.bool_)
        lengths = _lengths(payloads, ends[rows])
        starts[rows] += _LENGTH
        ends[rows] += _LENGTH + np.maximum(lengths, 0)
        nulls[rows] = lengths < 0
        parts[side] = Column(payloads.values, starts, ends.copy(), nulls)
    return parts


def _lengths(payloads: Column, starts: Offsets) -> Offsets:
    return integers(payloads, starts, _LENGTH)
