"""Programs: only numbers, so that they are small, can be sent to a worker, and run without a schema.

Paths and losses are stored compactly as numbers and rendered on demand. A path is a step from another one. The paths of
a body that is called from many places begin at the body. `places` prepends the calls that led there, if a message needs
them.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.avro.opcodes import DROP, MAX_INSTRUCTIONS

ROOT: Final = "$"
NOWHERE: Final = -1
"""Parent of a path without one."""
_MAX_STEPS: Final = 40
_MAX_LENGTH: Final = 400
LOST: Final = ("FIELD_DROPPED", "PRECISION_LOST", "SYMBOL_REPLACED", "ARRAY_OF_DOUBLES_AS_FLOATS")
"""Kinds of losses."""


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Table of paths: `steps[i]` leads from path `parents[i]` to path i. Path -1 is the root, or the start of a body.

    Losses are pairs of kind, a number of LOST, and path. The first `own` of them are outside of bodies.
    """

    steps: tuple[str, ...]
    parents: NDArray[np.int32]
    losses: NDArray[np.int32]
    own: int

    def steps_to(self, path: int) -> list[str]:
        """Return the steps from the root, or from the start of the body."""
        steps = []
        while path != NOWHERE:
            steps.append(self.steps[path])
            path = int(self.parents[path])
        return steps[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Program for the messages of one writer and one reader.

    `code` has a row for each instruction, see `opcodes`. `table` has the branches of unions, as instructions, and the
    symbols of enums. `routes` has the paths and losses of the instructions. `stores` has what each instruction writes,
    see `outputs`; it is empty if the program writes no columns.
    """

    code: NDArray[np.int32]
    table: NDArray[np.int32]
    routes: Branches
    stores: NDArray[np.int32]


def written(steps: list[str]) -> str:
    """Return the path for people. A long one has `…` in its middle."""
    named = [step for step in steps if step]
    if len(named) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        return f"{ROOT}{''.join(named[:half])}…{''.join(named[-half:])}"[:_MAX_LENGTH]
    return (ROOT + "".join(named))[:_MAX_LENGTH]


class TooLargeError(Exception):
    """A program that would not fit into memory."""


class ProgramBuilder:
    """Instructions, the table, paths and losses."""

    __slots__ = ("_losses", "_own", "_parents", "_rows", "_steps", "_stores", "_writes", "at", "table")

    def __init__(self, *, writes: bool = False) -> None:
        self._writes = writes
        self.at = 0
        """Number of the next instruction."""
        self.table: list[int] = []
        self._rows: list[list[int]] = []
        self._stores: dict[int, list[int]] = {}
        self._steps: list[str] = []
        self._parents: list[int] = []
        self._losses: list[tuple[int, int]] = []
        self._own = 0

    def add(self, operation: int, path: int, first: int = 0, second: int = 0) -> int:
        """Add an instruction. Return its number."""
        if self.at >= MAX_INSTRUCTIONS:
            raise TooLargeError
        self._rows.append([operation, first, second, path])
        self.at += 1
        return self.at - 1

    def aim(self, instruction: int, first: int) -> None:
        """Set an instruction's first operand, once it is known."""
        self._rows[instruction][1] = first

    def store(self, instruction: int, form: int, column: int, table: int = 0) -> None:
        """Set what an instruction writes."""
        self._stores[instruction] = [form, column, table]

    def reserve(self, size: int) -> int:
        """Reserve space in the table. Return its start."""
        if len(self.table) + size > MAX_INSTRUCTIONS:
            raise TooLargeError
        self.table += [0] * size
        return len(self.table) - size

    def path(self, parent: int, step: str) -> int:
        """Add a path. Return its number."""
        self._steps.append(step)
        self._parents.append(parent)
        return len(self._steps) - 1

    def lose(self, kind: int, path: int) -> None:
        """Add a loss, and the instruction that counts it."""
        self.add(DROP, path, len(self._losses), kind)
        self._losses.append((kind, path))

    def begin_bodies(self) -> None:
        """Begin the bodies. The losses of all later instructions also depend on the calls."""
        self._own = len(self._losses)

    @property
    def program(self) -> Program:
        """Return the program."""
        routes = Branches(
            tuple(self._steps),
            np.array(self._parents, np.int32),
            np.array(self._losses, np.int32).reshape(-1, 2),
            self._own,
        )
        stores = np.zeros((self.at if self._writes else 0, 3), np.int32)
        for instruction, store in self._stores.items():
            stores[instruction] = store
        return Program(np.array(self._rows, np.int32).reshape(-1, 4), np.array(self.table, np.int32), routes, stores)
