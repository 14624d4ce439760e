"""What a worker does: a split in, its tally out. The same in this process, in another one and in Spark's executors."""

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
from topicschema.validation.sources import Gone, Source, Split, Withheld


@dataclass(frozen=True, slots=True)
class Work:
    """All that the workers of a run are sent. `asked` is the question, packed; `writers` are the source's own schemas.

    `run` names this run and no other.
    """

    run: str
    asked: bytes
    source: Source
    sampling: Sampling
    writers: Mapping[int, SchemaInfo] = field(default_factory=dict)

    def tally(self, split: Split) -> Tally:
        """The split's figures; SourceError where it cannot be read, InvalidQuestionError if nothing can be judged."""
        tally, bench = Tally(), _Bench.of(self)
        for batch in self.source.read(split):
            if isinstance(batch, Gone):
                tally.gone += batch.messages
            elif isinstance(batch, Withheld):
                tally.withheld += batch.entries
            else:
                self._count(tally, bench, batch)
        tally.tolerated = bench.judging.tolerated & {reason for reason, *_ in tally.findings.counts}
        return tally

    def _count(self, tally: Tally, bench: "_Bench", batch: pa.RecordBatch) -> None:
        published = batch.column("publish_time").to_numpy()
        young = self.sampling.young(published)
        tally.old += 0 if young is None else len(batch) - int(young.sum())
        chosen = self.sampling.chosen(identity_of(batch), published)
        if chosen is not None:
            tally.skipped += len(batch) - int(chosen.sum())
            batch = batch.filter(pa.array(chosen))
        if not len(batch):
            return
        judged = bench.judging.judge(batch)
        counting.count(tally, batch, judged, bench.judging.words)
        bench.drawing.keep(tally, batch, judged, bench.judging.words)


@dataclass(frozen=True, slots=True)
class _Bench:
    """What a process makes once for a run, however many splits it judges."""

    judging: Judging
    drawing: Drawing

    @classmethod
    def of(cls, work: Work) -> "_Bench":
        if work.run not in _BENCHES:
            _BENCHES.clear()
            asked = request.read(work.asked)
            versions = dict(asked.versions) | dict(work.writers)
            render = rendering.of(asked.candidate, versions, asked.line) if asked.include_values else None
            judging = Judging(asked.candidate, versions, asked.line, validator_for)
            _BENCHES[work.run] = cls(judging, Drawing(work.sampling.seed, render))
        return _BENCHES[work.run]


_BENCHES: Final[dict[str, _Bench]] = {}
