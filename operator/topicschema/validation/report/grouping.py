"""Counts of rows by their combination of values."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray


def grouped(columns: Sequence[NDArray[Any]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Return each combination of values that rows have, and the number of these rows.

    The columns are integers of one length.
    """
    names = [str(number) for number in range(len(columns))]
    groups = pa.table(list(columns), names=names).group_by(names, use_threads=False)
    *values, counts = (column.to_pylist() for column in groups.aggregate([([], "count_all")]).columns)
    return zip(zip(*values, strict=True), counts, strict=True)
