"""Validator that runs a program on columns, with the texts for its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar import reasons
from topicschema.payload.columnar.avro import diagnose, error_paths, opcodes, values, vm_loop, vm_variants
from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.program import LOST, Branches, Program, written
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.compiled import LoopResult, cached, mark
from topicschema.payload.columnar.reasons import Reasons
from topicschema.payload.columnar.verdicts import ELSEWHERE, Loss, Verdicts

_RUN: Final = cached(vm_loop.marked(mark((vm_loop, vm_variants, m, opcodes, error_paths, reasons, diagnose, values))))
_TOLERATED: Final = ("TRAILING_BYTES", "INVALID_UTF8", "INVALID_BOOLEAN", "BLOCK_SIZE", "SKIPPED_SYMBOL")
REASONS: Final[Reasons] = {
    reason: reason in _TOLERATED for reason in reasons.REASONS[reasons.TRUNCATED : reasons.SCHEMA_TOO_COMPLEX + 1]
}
"""Reasons of programs. SKIPPED_SYMBOL is an unknown index of an enum, in a field that the reader drops.

OUT_OF_RANGE is not tolerated: Java tolerates it for values, but not for lengths.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ProgramValidator:
    """Validator that runs one program. Paths in called records are distinguished as messages need them.

    Use it in one thread only: a validation changes its lists.
    """

    program: Program
    known: NDArray[np.int64] = field(init=False, repr=False)
    """The places in called records that messages needed so far."""
    _paths: list[str] = field(default_factory=list, init=False, repr=False)
    _losses: list[Loss] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", m.nothing_known(self.program))

    @property
    def reasons(self) -> Reasons:
        """All reasons of programs."""
        return REASONS

    @property
    def paths(self) -> Sequence[str]:
        """The program's own paths, `ELSEWHERE`, and those of called records."""
        routes = self.program.routes
        if not self._paths:
            self._paths.extend([*_own_paths(routes), ELSEWHERE])
        missing = self._places(m.PATHS)[len(self._paths) - len(routes.steps) - 1 :]
        contexts = self._contexts() if missing else []
        self._paths.extend([written(contexts[context] + routes.steps_to(path)) for context, path in missing])
        return self._paths

    @property
    def losses(self) -> Sequence[Loss]:
        """The program's own losses, one of each kind `ELSEWHERE`, and those of called records."""
        if not self._losses:
            self._losses.extend([self._loss([], number) for number in range(self.program.routes.own)])
            self._losses.extend([Loss(kind, ELSEWHERE) for kind in LOST])
        missing = self._places(m.LOSSES)[len(self._losses) - self.program.routes.own - len(LOST) :]
        contexts = self._contexts() if missing else []
        self._losses.extend([self._loss(contexts[context], number) for context, number in missing])
        return self._losses

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts. Raises ValueError if the offsets do not match the values."""
        del keys
        return run(self.program, payloads, self.known)

    def _loss(self, before: list[str], number: int) -> Loss:
        kind, path = (int(each) for each in self.program.routes.losses[number])
        return Loss(LOST[kind], written(before + self.program.routes.steps_to(path)))

    def _places(self, kind: int) -> list[tuple[int, int]]:
        """Return context and item of each, by their numbers."""
        keys, numbers = self.known[:-3].T
        mine = (keys >= 0) & (keys >> 60 == kind)
        ordered = keys[mine][np.argsort(numbers[mine])]
        return [(key >> 32 & 0xFFFFFFF, key & 0xFFFFFFFF) for key in ordered.tolist()]

    def _contexts(self) -> list[list[str]]:
        """Return the steps to each context. The first is that of no call."""
        contexts: list[list[str]] = [[]]
        for context, site in self._places(m.CONTEXTS):
            contexts.append(contexts[context] + self.program.routes.steps_to(site))
        return contexts


@lru_cache(maxsize=16)
def _own_paths(routes: Branches) -> Sequence[str]:
    return [written(routes.steps_to(path)) for path in range(len(routes.steps))]


def run(program: Program, column: Column, known: NDArray[np.int64] | None = None) -> Verdicts:
    """Return the verdicts on a column. `known` holds the known places in bodies, and grows.

    Raises ValueError if the offsets do not match the values.
    """
    inputs = _inputs(column)
    count = len(column)
    result = LoopResult(np.zeros(count, np.int16), np.zeros(count, np.int32), np.empty(count, np.int64))
    running = m.machine(program, m.nothing_known(program) if known is None else known)
    _RUN(running, inputs, result)
    losses = program.routes.own + m.KINDS + int(running.known[m.LOSSES - 3, m.NUMBER])
    return Verdicts(result.reasons, result.paths, result.offsets, running.tally[:losses, m.COUNT].copy())


def _inputs(column: Column) -> m.Inputs:
    checked = column.checked
    nulls = np.zeros(1, np.bool_) if checked.nulls is None else checked.nulls
    return m.Inputs(checked.values, checked.starts, checked.ends, np.ascontiguousarray(nulls, np.bool_))
