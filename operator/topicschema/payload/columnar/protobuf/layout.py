"""Where what stands in the numbers that the loop works on: columns of tables, and the state of the reading."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.protobuf_native.wire import MAX_DEPTH

FIRST, COUNT, REQUIRED, IS_ODD, RANGES_FIRST, RANGES_COUNT, RANGES_LOSS = range(7)
"""Of a message: its fields' first row and their number; the bits of those required; whether who requires is odd; the
writer's ranges of extensions, of which each has its start and its end in `numbers`, and the loss that they are.
"""

NUMBER, WIRE, KIND, TAKES_PACKED, MESSAGE, ENUM_FIRST, ENUM_COUNT, BIT, LOSS = range(9)
"""Of a field; MESSAGE is the row of what it holds, BIT that of a required one, LOSS that of one the reader has not."""
FIELD_COLUMNS: Final = 9

PLAIN, ENUM, FIXED, CHECKED_TEXT, TEXT, BYTES, HOLDER, DROPPED, PASSED_BY = range(9)
"""The kinds of fields; DROPPED are those that only the writer has, PASSED_BY groups with nobody knows what in them."""

DIRECT: Final = 64
"""Fields with lower numbers are found in a table, all others are searched."""

AT, END, DEPTH, NODE, GROUP, SEEN, LEFT, REASON, OFFSET, FIELD, IS_BARE, LACKS, LOST, MESSAGE_NUMBER = range(14)
"""The state: where the reading is, where the message that it is in ends, how deep, which, its group's number, what was
seen of what it requires, how many values may come; what is wrong, at which byte, in which field, whether its items are
meant as a whole; whether something may be lacking, how many losses the message has, its number from 1.
"""
STATE_SIZE: Final = 14

BEFORE_END, BEFORE_NODE, BEFORE_GROUP, BEFORE_SEEN, BY_FIELD = range(5)
"""Of a message around the one that is being read: what it is to go on with, and the field that holds the other."""
FRAMES: Final = MAX_DEPTH + 1

STAMP, LIST, LOSSES_COUNT = range(3)
"""Of losses: the last message that has each, those of the message at hand, how many messages have each."""

REASONS: Final = (
    "",
    "TRUNCATED",
    "VARINT_TOO_LONG",
    "INVALID_FIELD_NUMBER",
    "INVALID_WIRE_TYPE",
    "NEGATIVE_LENGTH",
    "UNMATCHED_GROUP",
    "TOO_DEEP",
    "TOO_MANY_VALUES",
    "INVALID_UTF8",
    "UNKNOWN_FIELD",
    "WRONG_WIRE_TYPE",
    "UNKNOWN_SYMBOL",
    "MISSING_FIELD",
)
(
    FITS,
    TRUNCATED,
    VARINT_TOO_LONG,
    INVALID_FIELD_NUMBER,
    INVALID_WIRE_TYPE,
    NEGATIVE_LENGTH,
    UNMATCHED_GROUP,
    TOO_DEEP,
    TOO_MANY_VALUES,
    INVALID_UTF8,
    UNKNOWN_FIELD,
    WRONG_WIRE_TYPE,
    UNKNOWN_SYMBOL,
    MISSING_FIELD,
) = range(len(REASONS))


class Tables(NamedTuple):
    """What does not change: messages, fields by their numbers, numbers of enums and ranges, fields found at once."""

    messages: NDArray[np.int64]
    fields: NDArray[np.int64]
    numbers: NDArray[np.int64]
    direct: NDArray[np.int32]


class Machine(NamedTuple):
    """All that the loop works on; numba compiles for these types."""

    values: NDArray[np.uint8]
    messages: NDArray[np.int64]
    fields: NDArray[np.int64]
    numbers: NDArray[np.int64]
    direct: NDArray[np.int32]
    state: NDArray[np.int64]
    stack: NDArray[np.int64]
    groups: NDArray[np.int64]
    tally: NDArray[np.int64]


class Result(NamedTuple):
    """What is said of each message; a place is a number for the way to a field, the same for the same way."""

    reasons: NDArray[np.int16]
    offsets: NDArray[np.int64]
    places: NDArray[np.int64]


def told(messages: int) -> Result:
    """That nothing is wrong with any of so many messages."""
    return Result(np.zeros(messages, np.int16), np.zeros(messages, np.int64), np.zeros(messages, np.int64))


def machine(values: NDArray[np.uint8], tables: Tables, losses: int) -> Machine:
    """A machine for one column; its values are unwritable."""
    return Machine(
        values,
        *tables,
        np.zeros(STATE_SIZE, np.int64),
        np.zeros((FRAMES, 5), np.int64),
        np.zeros(FRAMES, np.int64),
        np.zeros((losses + 1, 3), np.int64),
    )
