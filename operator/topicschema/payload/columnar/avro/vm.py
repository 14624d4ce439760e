"""What the loop works on, as few arrays, and what it keeps while it validators one message.

numba compiles for these types: a NamedTuple of arrays costs nothing when the loop runs, but each array does when it is
compiled. A column needs no memory for each message.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.avro.branches import LOST
from topicschema.payload.columnar.avro.opcodes import MAX_DEPTH
from topicschema.payload.columnar.avro.program import Program

PLACES: Final = 1_000
"""How many paths that calls lead to are told apart, and how many losses."""
_SLOTS: Final = 8_192
"""Of the table that finds what is known; more than twice of what it may hold."""
CONTEXTS, PATHS, LOSSES = range(3)
"""What is found: where calls lead to, paths and losses there."""
KEY, NUMBER = range(2)
"""The columns of what is known; its last rows count how many there are of each."""

LOOPS, CALLS, DEPTH, EMPTIES, STEPS, BEFORE = range(6)
REASON, TOUCHED, MESSAGE, OWN_PATHS, OWN_LOSSES, SIZE = range(6, 12)
"""The state of a message: how many loops and calls it is in, how deep that is, what may still come without bytes, and
steps without any; where the last union began, what is wrong if that is known, how many losses it has, its number from
1; then of the program, how many paths and losses need no call.
"""

FRAMES: Final = MAX_DEPTH + 2
"""The stack's first rows are those of loops, as many after them those of calls."""
LEFT, BEGIN, CLOSE, HEAD = range(4)
"""Of a loop: how many items are left, where its block begins and should end (-1: not told), its instruction."""
BACK, SITE, CONTEXT, BASE = range(4)
"""Of a call: where it goes back to, the path of what is called, the context (0: not asked for), the depth before."""
KINDS: Final = len(LOST)
STAMP, LIST, COUNT = range(3)
"""Of losses: the last message that has each, those that this message has, how many messages have each."""


class Machine(NamedTuple):
    """All of it; `known` is a validator's own and outlasts a column."""

    code: NDArray[np.int32]
    table: NDArray[np.int32]
    state: NDArray[np.int64]
    stack: NDArray[np.int64]
    tally: NDArray[np.int64]
    known: NDArray[np.int64]


class Inputs(NamedTuple):
    """A column; `nulls` is one False where no message is null. What is null fits, whatever the program."""

    values: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    nulls: NDArray[np.bool_]


class Result(NamedTuple):
    """What is said of each message, as in Verdicts."""

    reasons: NDArray[np.int16]
    paths: NDArray[np.int32]
    offsets: NDArray[np.int64]


def nothing_known(program: Program) -> NDArray[np.int64]:
    """For a validator that begins; of next to no size where the program calls nothing."""
    has_calls = (program.routes.parents < 0).sum() > 1
    known = np.zeros((_SLOTS + 3 if has_calls else 4, 2), np.int64)
    known[:-3, KEY] = -1
    return known


def machine(program: Program, known: NDArray[np.int64]) -> Machine:
    """A machine for one column."""
    state = np.zeros(SIZE, np.int64)
    state[OWN_PATHS], state[OWN_LOSSES] = len(program.routes.steps), program.routes.own
    tally = np.zeros((program.routes.own + KINDS + PLACES, 3), np.int64)
    stack = np.empty((2 * FRAMES, 4), np.int64)
    return Machine(program.code, program.table, state, stack, tally, known)
