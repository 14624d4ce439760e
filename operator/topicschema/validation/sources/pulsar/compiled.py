"""Numbers and members of Protocol Buffers in bytes, for loops that numba compiles.

numba checks no bounds, so these functions do.
"""

# ruff: noqa: PLR2004  # the numbers are those of the encoding

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.compiled import LONG_BYTES, fast, varint

Table = NDArray[np.int64]
Content = NDArray[np.uint8]


@fast
def four(content: Any, at: Any) -> Any:
    """Return the big-endian number in four bytes."""
    return (
        np.int64(content[at]) << 24
        | np.int64(content[at + 1]) << 16
        | np.int64(content[at + 2]) << 8
        | np.int64(content[at + 3])
    )


@fast
def member(content: Any, at: Any, end: Any) -> Any:
    """Return the number of a member, its value (or the size of its content), its begin and its end.

    The begin is -1 if the member is a number, whose value is no size. The end is -1 if the member is broken.
    """
    tag, at = varint(content, at, end, LONG_BYTES)
    form = tag & 7
    if at < 0:
        return np.int64(0), np.int64(0), np.int64(0), np.int64(-1)
    if form == 0:
        value, after = varint(content, at, end, LONG_BYTES)
        return tag >> 3, value, np.int64(-1), after
    if form == 2:
        size, at = varint(content, at, end, LONG_BYTES)
    elif form == 1:
        size = np.int64(8)
    elif form == 5:
        size = np.int64(4)
    else:
        return np.int64(0), np.int64(0), np.int64(0), np.int64(-1)
    if at < 0 or size < 0 or size > end - at:
        return np.int64(0), np.int64(0), np.int64(0), np.int64(-1)
    return tag >> 3, size, at, at + size
