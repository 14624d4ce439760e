"""Data of the loop, in as few arrays as possible, and its state during one message.

numba compiles for these types. A NamedTuple of arrays costs nothing at run time, but each array costs compile time. A
column needs no memory for each message.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.avro.opcodes import MAX_DEPTH
from topicschema.payload.columnar.avro.program import LOST, Program

PLACES: Final = 1_000
"""Maximum number of distinguished paths of calls, and of losses."""
_SLOTS: Final = 8_192
"""Slots of the hash table of known places; more than twice the maximum of entries."""
CONTEXTS, PATHS, LOSSES = range(3)
"""Kinds of known places: contexts of calls, and the paths and losses in them."""
KEY, NUMBER = range(2)
"""Columns of the known places. The last rows count those of each kind."""

LOOPS, CALLS, DEPTH, EMPTIES, STEPS, BEFORE = range(6)
REASON, TOUCHED, MESSAGE, OWN_PATHS, OWN_LOSSES, SIZE = range(6, 12)
"""State of a message, then of the program.

LOOPS and CALLS count those that are open, DEPTH is their depth. EMPTIES and STEPS are the values and steps without
bytes that may follow. BEFORE is the start of the last union. REASON is the fault, if known. TOUCHED is the number of
losses, MESSAGE the message's number from 1. OWN_PATHS and OWN_LOSSES count the program's that need no call.
"""

FRAMES: Final = MAX_DEPTH + 2
"""Rows of the stack: first those of loops, then as many of calls."""
LEFT, BEGIN, CLOSE, HEAD = range(4)
"""Columns of a loop: the items left, its block's start and stated end (-1: not stated), its instruction."""
BACK, SITE, CONTEXT, BASE = range(4)
"""Columns of a call: the return instruction, the called body's path, the context (0: unknown), the depth before."""
KINDS: Final = len(LOST)
STAMP, LIST, COUNT = range(3)
"""Columns of losses: the last message with each, the losses of this message, the number of messages with each."""


class AvroMachine(NamedTuple):
    """State of the loop. `known` belongs to a validator and outlasts a column."""

    code: NDArray[np.int32]
    table: NDArray[np.int32]
    state: NDArray[np.int64]
    stack: NDArray[np.int64]
    tally: NDArray[np.int64]
    known: NDArray[np.int64]


class Inputs(NamedTuple):
    """Column of payloads. `nulls` is one False if no message is null. A null fits any program."""

    values: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    nulls: NDArray[np.bool_]


def nothing_known(program: Program) -> NDArray[np.int64]:
    """Return the empty table of a new validator. It is tiny if the program calls nothing."""
    has_calls = (program.routes.parents < 0).sum() > 1
    known = np.zeros((_SLOTS + 3 if has_calls else 4, 2), np.int64)
    known[:-3, KEY] = -1
    return known


def machine(program: Program, known: NDArray[np.int64]) -> AvroMachine:
    """Return a machine for one column."""
    state = np.zeros(SIZE, np.int64)
    state[OWN_PATHS], state[OWN_LOSSES] = len(program.routes.steps), program.routes.own
    tally = np.zeros((program.routes.own + KINDS + PLACES, 3), np.int64)
    stack = np.empty((2 * FRAMES, 4), np.int64)
    return AvroMachine(program.code, program.table, state, stack, tally, known)
