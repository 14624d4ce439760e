"""Verdicts of a program on columns, as those of a judge: numbers, and what they mean."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.judges.column import Column
from topicschema.payload.judges.verdicts import ELSEWHERE, Loss, Verdicts
from topicschema.payload.programs import loop, loops, operations, places, reasons, troubles, values
from topicschema.payload.programs import machine as m
from topicschema.payload.programs.keeping import kept, mark
from topicschema.payload.programs.program import Program
from topicschema.payload.programs.routes import LOST, written

_RUN: Final = kept(loop.marked(mark((loop, loops, m, operations, places, reasons, troubles, values))))


@dataclass(frozen=True, slots=True, eq=False)
class ProgramJudge:
    """The Judge that runs one program; paths in records that come again are told apart as messages have them.

    For one thread: what it found is written while it judges.
    """

    program: Program
    _known: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", m.nothing_known(self.program))

    @property
    def reasons(self) -> Sequence[str]:
        """All that programs can say."""
        return reasons.REASONS

    @property
    def tolerated(self) -> frozenset[str]:
        """What Java always reads on over."""
        return reasons.TOLERATED

    @property
    def paths(self) -> Sequence[str]:
        """The program's own, `ELSEWHERE`, and those that were found."""
        routes = self.program.routes
        own = [written(routes.steps_to(path)) for path in range(len(routes.steps))]
        return [*own, ELSEWHERE, *(self._written(*place) for place in self._places(m.PATHS))]

    @property
    def losses(self) -> Sequence[Loss]:
        """The program's own, one of each kind `ELSEWHERE`, and those that were found."""
        routes = self.program.routes
        own = [self._loss(0, number) for number in range(routes.own)]
        found = [self._loss(*place) for place in self._places(m.LOSSES)]
        return [*own, *(Loss(kind, ELSEWHERE) for kind in LOST), *found]

    def judge(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """The verdicts; ValueError where the offsets are not those of the values."""
        del keys
        return run(self.program, payloads, self._known)

    def _loss(self, context: int, number: int) -> Loss:
        kind, path = (int(each) for each in self.program.routes.losses[number])
        return Loss(LOST[kind], self._written(context, path))

    def _places(self, kind: int) -> list[tuple[int, int]]:
        """Context and item of each, by their numbers."""
        found = [(int(key), int(number)) for key, number in self._known[:-3] if key >= 0 and key >> 60 == kind]
        return [(key >> 32 & 0xFFFFFFF, key & 0xFFFFFFFF) for key, _ in sorted(found, key=lambda each: each[1])]

    def _written(self, context: int, path: int) -> str:
        contexts = self._places(m.CONTEXTS) if context else []
        steps = self.program.routes.steps_to(path)
        while context:
            context, site = contexts[context - 1]
            steps = self.program.routes.steps_to(site) + steps
        return written(steps)


def run(program: Program, column: Column, known: NDArray[np.int64] | None = None) -> Verdicts:
    """The verdicts on a column; `known` is what is known of places in bodies, and grows.

    ValueError where the offsets are not those of the values.
    """
    given = _given(column)
    count = len(column)
    told = m.Told(np.zeros(count, np.int16), np.zeros(count, np.int32), np.empty(count, np.int64))
    running = m.machine(program, m.nothing_known(program) if known is None else known)
    _RUN(running, given, told)
    losses = program.routes.own + m.KINDS + int(running.known[m.LOSSES - 3, m.NUMBER])
    return Verdicts(told.reasons, told.paths, told.offsets, running.tally[:losses, m.COUNT].copy())


def _given(column: Column) -> m.Given:
    checked = Column.from_arrays(column.values, column.offsets, column.nulls)
    nulls = np.zeros(1, np.bool_) if checked.nulls is None else checked.nulls
    return m.Given(_unwritable(checked.values), checked.offsets, np.ascontiguousarray(nulls, np.bool_))


def _unwritable(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same, not to be written: Arrow's buffers are so, and the loop is compiled for one sort."""
    seen = values.view()
    seen.flags.writeable = False
    return seen
