"""Builder of a program: lists that grow, and become the arrays of a Program."""

from typing import Final

import numpy as np

from topicschema.payload.columnar.avro.branches import Branches
from topicschema.payload.columnar.avro.opcodes import DROP, MAX_INSTRUCTIONS
from topicschema.payload.columnar.avro.program import Program

NOWHERE: Final = -1
"""Parent of a path without one."""


class TooLargeError(Exception):
    """A program that would not fit into memory."""


class ProgramBuilder:
    """Instructions, the table, paths and losses."""

    __slots__ = ("_losses", "_own", "_parents", "_rows", "_steps", "at", "table")

    def __init__(self) -> None:
        self.at = 0
        """Number of the next instruction."""
        self.table: list[int] = []
        self._rows: list[list[int]] = []
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
        return Program(np.array(self._rows, np.int32).reshape(-1, 4), np.array(self.table, np.int32), routes)
