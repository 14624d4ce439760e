"""A program while it is written: lists that grow, and become the arrays of a Program in the end."""

from typing import Final

import numpy as np

from topicschema.payload.columnar.avro.branches import Branches
from topicschema.payload.columnar.avro.opcodes import DROP, MAX_INSTRUCTIONS
from topicschema.payload.columnar.avro.program import Program

NOWHERE: Final = -1
"""Where a path has none before it."""


class TooLargeError(Exception):
    """The program would be too large for anybody's memory."""


class ProgramBuilder:
    """Instructions, the table, paths and losses."""

    __slots__ = ("_losses", "_own", "_parents", "_rows", "_steps", "at", "table")

    def __init__(self) -> None:
        self.at = 0
        """The next instruction's number."""
        self.table: list[int] = []
        self._rows: list[list[int]] = []
        self._steps: list[str] = []
        self._parents: list[int] = []
        self._losses: list[tuple[int, int]] = []
        self._own = 0

    def add(self, operation: int, path: int, first: int = 0, second: int = 0) -> int:
        """An instruction more; its number."""
        if self.at >= MAX_INSTRUCTIONS:
            raise TooLargeError
        self._rows.append([operation, first, second, path])
        self.at += 1
        return self.at - 1

    def aim(self, instruction: int, first: int) -> None:
        """Sets an instruction's first operand, now that it is known."""
        self._rows[instruction][1] = first

    def reserve(self, size: int) -> int:
        """Room in the table; where it begins."""
        if len(self.table) + size > MAX_INSTRUCTIONS:
            raise TooLargeError
        self.table += [0] * size
        return len(self.table) - size

    def path(self, parent: int, step: str) -> int:
        """A path more; its number."""
        self._steps.append(step)
        self._parents.append(parent)
        return len(self._steps) - 1

    def lose(self, kind: int, path: int) -> None:
        """A loss, and the instruction that counts it."""
        self.add(DROP, path, len(self._losses), kind)
        self._losses.append((kind, path))

    def begin_bodies(self) -> None:
        """What comes from now on is in bodies, and its losses are told by the calls, too."""
        self._own = len(self._losses)

    @property
    def program(self) -> Program:
        """All of it."""
        routes = Branches(
            tuple(self._steps),
            np.array(self._parents, np.int32),
            np.array(self._losses, np.int32).reshape(-1, 2),
            self._own,
        )
        return Program(np.array(self._rows, np.int32).reshape(-1, 4), np.array(self.table, np.int32), routes)
