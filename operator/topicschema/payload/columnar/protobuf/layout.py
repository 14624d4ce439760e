"""Layout of the loop's numbers: the columns of its tables, and the state of the reading."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.compiled import LoopResult
from topicschema.payload.protobuf_native.wire import MAX_DEPTH

FIRST, COUNT, REQUIRED, IS_ODD, RANGES_FIRST, RANGES_COUNT, RANGES_LOSS = range(7)
"""Columns of a message. FIRST and COUNT are the rows of its fields, REQUIRED the bits of the required ones.

IS_ODD is 1 if these bits cannot decide. RANGES_FIRST and RANGES_COUNT are the writer's ranges of extensions, each with
its start and its end in `numbers`. RANGES_LOSS is their loss.
"""

NUMBER, WIRE, KIND, TAKES_PACKED, MESSAGE, ENUM_FIRST, ENUM_COUNT, BIT, LOSS = range(9)
"""Columns of a field. MESSAGE is the row of its message, BIT that of a required field, LOSS that of an unknown one."""
FIELD_COLUMNS: Final = 9

PLAIN, ENUM, FIXED, CHECKED_TEXT, TEXT, BYTES, HOLDER, DROPPED, PASSED_BY = range(9)
"""Kinds of fields. DROPPED are those that only the writer has, PASSED_BY groups of unknown content."""

DIRECT: Final = 64
"""Fields with lower numbers are in a table, all others are searched."""

AT, END, DEPTH, NODE, GROUP, PRESENT, LEFT, REASON, OFFSET, FIELD, IS_BARE, LACKS, LOST, MESSAGE_NUMBER = range(14)
"""State of the reading.

AT is the position, END, DEPTH, NODE and GROUP describe the current message. PRESENT has the bits of its required fields
so far. LEFT is the number of values that may follow. REASON, OFFSET and FIELD describe the fault, IS_BARE is 1 if it
concerns all items. LACKS is 1 if a required field may be missing. LOST is the number of losses, MESSAGE_NUMBER the
message's number from 1.
"""
STATE_SIZE: Final = 14

BEFORE_END, BEFORE_NODE, BEFORE_GROUP, BEFORE_PRESENT, BY_FIELD = range(5)
"""Columns of an enclosing message: the state in which it continues, and the field that holds the inner one."""
FRAMES: Final = MAX_DEPTH + 1

STAMP, LIST, LOSSES_COUNT = range(3)
"""Columns of losses: the last message with each, those of the current message, the number of messages with each."""


class Tables(NamedTuple):
    """Constant tables: messages, fields by number, numbers of enums and ranges, and fields with direct access."""

    messages: NDArray[np.int64]
    fields: NDArray[np.int64]
    numbers: NDArray[np.int64]
    direct: NDArray[np.int32]


class ProtobufMachine(NamedTuple):
    """Data of the loop. numba compiles for these types."""

    values: NDArray[np.uint8]
    messages: NDArray[np.int64]
    fields: NDArray[np.int64]
    numbers: NDArray[np.int64]
    direct: NDArray[np.int32]
    state: NDArray[np.int64]
    stack: NDArray[np.int64]
    groups: NDArray[np.int64]
    tally: NDArray[np.int64]


def empty_result(messages: int) -> LoopResult:
    """Return a result without faults for the messages."""
    return LoopResult(np.zeros(messages, np.int16), np.zeros(messages, np.int64), np.full(messages, -1, np.int64))


def machine(values: NDArray[np.uint8], tables: Tables, losses: int) -> ProtobufMachine:
    """Return a machine for one column. Its values are read-only."""
    return ProtobufMachine(
        values,
        *tables,
        np.zeros(STATE_SIZE, np.int64),
        np.zeros((FRAMES, 5), np.int64),
        np.zeros(FRAMES, np.int64),
        np.zeros((losses + 1, 3), np.int64),
    )
