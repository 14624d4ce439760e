"""Memory of a program's columns: one piece, so that a loop is compiled for one kind of array, and its state.

A column has a byte for each row (`VALID`), and its values or the ends of its contents. A row of a message's own column
is the message, other rows are items of arrays and entries of maps, which are counted as they are read.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING, VALUE, DEFAULT = range(3)
"""Values of a row's byte."""

KIND, LEVEL, SLOT, LIMIT, VALID, DATA, BYTES, COST, DEFAULT_COST, HIGH, LOW = range(11)
"""Columns of the table of columns.

LEVEL is the slot that counts its rows, -1 for one row a message. SLOT counts what it holds, bytes of contents or items,
and LIMIT is the maximum. VALID is the first row's byte, DATA the first value in its own size, BYTES the first content.
COST has the bytes of an item, DEFAULT_COST those of a default, -1 if the column cannot hold that. HIGH and LOW are the
first decimal beyond its digits.
"""
COLUMN_SIZE: Final = 11

ROW, BUDGET, BASE, FULL_SLOT, NEEDED, DEFAULT_BYTES, LINE = range(7)
"""State of the writing.

ROW is the current message. BUDGET has the bytes that it may still take beyond its own columns, BASE is the first column
of the current body. FULL_SLOT is the slot whose limit is reached, NEEDED its new one. DEFAULT_BYTES are those of all
defaults, LINE is the row of the current values.
"""
STATE_SIZE: Final = 7

FULL: Final = -1
"""Reason of a message for which a column has no memory left."""
COUNT, SAVED = range(2)
"""Columns of the slots: their counts, and those before the current message."""
MAX_MEMORY: Final = 1 << 30
"""Maximum bytes of the columns of a batch; of one message, twice as many."""
MAX_BUDGET: Final = 16 * 1024 * 1024
BUDGET_A_BYTE: Final = 64
"""Bytes that a message may take in columns of items and of defaults: in any payload, and more for each of its bytes."""


class AvroOutput(NamedTuple):
    """Columns of a program, and the payloads (`source`). numba compiles for these types.

    The arrays from `bytes_` on are one memory.
    """

    source: NDArray[np.uint8]
    stores: NDArray[np.int32]
    columns: NDArray[np.int64]
    slots: NDArray[np.int64]
    state: NDArray[np.int64]
    lines: NDArray[np.int64]
    bytes_: NDArray[np.uint8]
    ints: NDArray[np.int32]
    longs: NDArray[np.int64]
    floats: NDArray[np.float32]
    doubles: NDArray[np.float64]
