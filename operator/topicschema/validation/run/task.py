"""Task of a worker: it reads a split and returns its tally, in this process, in another one or in an executor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from topicschema.core.schemas import SchemaInfo
from topicschema.payload.columnar import validator_for
from topicschema.validation import request
from topicschema.validation.report import counting, rendering
from topicschema.validation.report.examples import Drawing, identity_of
from topicschema.validation.report.tally import Tally
from topicschema.validation.run.judging import Judging
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.sources import Expired, NotDelivered, Source, Split


@dataclass(frozen=True, slots=True)
class Task:
    """Data that the workers of a run receive. `run` is unique to this run.

    `asked` is the packed request. `writers` are the source's own schemas.
    """

    run: str
    asked: bytes
    source: Source
    sampling: Sampling
    writers: Mapping[int, SchemaInfo] = field(default_factory=dict)

    def tally(self, split: Split) -> Tally:
        """Return the tally of the split.

        Raises SourceError if the split cannot be read, and InvalidQuestionError if its messages cannot be validated.
        """
        tally, state = Tally(), _WorkerState.of(self)
        for batch in self.source.read(split):
            if isinstance(batch, Expired):
                tally.gone += batch.messages
            elif isinstance(batch, NotDelivered):
                tally.withheld += batch.entries
            else:
                self._count(tally, state, batch)
        tally.tolerated = state.judging.tolerated & {reason for reason, *_ in tally.findings.counts}
        return tally

    def _count(self, tally: Tally, state: "_WorkerState", batch: pa.RecordBatch) -> None:
        published = batch.column("publish_time").to_numpy()
        young = self.sampling.young(published)
        tally.old += 0 if young is None else len(batch) - int(young.sum())
        chosen = self.sampling.chosen(identity_of(batch), published)
        if chosen is not None:
            tally.skipped += len(batch) - int(chosen.sum())
            batch = batch.filter(pa.array(chosen))
        if not len(batch):
            return
        judged = state.judging.judge(batch)
        counting.count(tally, batch, judged, state.judging.words)
        state.drawing.keep(tally, batch, judged, state.judging.words)


@dataclass(frozen=True, slots=True)
class _WorkerState:
    """Objects that a process creates once for a run, for any number of splits."""

    judging: Judging
    drawing: Drawing

    @classmethod
    def of(cls, task: Task) -> "_WorkerState":
        if task.run not in _STATES:
            _STATES.clear()
            asked = request.read(task.asked)
            versions = dict(asked.versions) | dict(task.writers)
            render = rendering.of(asked.candidate, versions, asked.line) if asked.include_values else None
            judging = Judging(asked.candidate, versions, asked.line, validator_for)
            _STATES[task.run] = cls(judging, Drawing(task.sampling.seed, render))
        return _STATES[task.run]


_STATES: Final[dict[str, _WorkerState]] = {}
