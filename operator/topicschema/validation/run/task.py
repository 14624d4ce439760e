"""Task of a worker: it reads a split and returns its tally, in this process, in another one or in an executor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from topicschema.core.schemas import SchemaInfo
from topicschema.validation.report import counting, rendering
from topicschema.validation.report.examples import ExampleSelection, identity_of
from topicschema.validation.report.tally import Tally
from topicschema.validation.request import read
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.run.validators import Validators
from topicschema.validation.sources import Expired, NotDelivered, Source, Split


@dataclass(frozen=True, slots=True)
class Task:
    """Data that the workers of a run receive. `run` is unique to this run.

    `packed_request` is the request as a Job mounts it. `writers` are the source's own schemas.
    """

    run: str
    packed_request: bytes
    source: Source
    sampling: Sampling
    writers: Mapping[int, SchemaInfo] = field(default_factory=dict)

    def tally(self, split: Split) -> Tally:
        """Return the tally of the split.

        Raises SourceError if the split cannot be read, and InvalidRequestError if its messages cannot be validated.
        """
        tally, (validators, examples) = Tally(), self._state()
        for batch in self.source.read(split):
            match batch:
                case Expired(messages):
                    tally.gone += messages
                case NotDelivered(entries):
                    tally.withheld += entries
                case _:
                    sample = self._sample(tally, batch)
                    verdicts = list(validators.validate(sample))
                    counting.count(tally, sample, verdicts)
                    for each in verdicts:
                        examples.add(tally, sample, each)
        return tally

    def _sample(self, tally: Tally, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the messages of the batch that are selected, and count the others."""
        published = batch.column("publish_time").to_numpy()
        young = self.sampling.young(published)
        tally.old += 0 if young is None else len(batch) - int(young.sum())
        chosen = self.sampling.chosen(identity_of(batch), published)
        if chosen is None:
            return batch
        tally.skipped += len(batch) - int(chosen.sum())
        return batch.filter(pa.array(chosen))

    def _state(self) -> tuple[Validators, ExampleSelection]:
        """Return what a process creates once for a run, for any number of splits."""
        if self.run not in _STATES:
            _STATES.clear()
            request = read(self.packed_request)
            versions = {**request.versions, **self.writers}
            schemas = request.candidate, versions, request.pulsar_version
            render = rendering.of(*schemas) if request.include_values else None
            examples = ExampleSelection(self.sampling.seed, render, rendering.formats_of(*schemas))
            _STATES[self.run] = Validators(*schemas), examples
        return _STATES[self.run]


_STATES: Final[dict[str, tuple[Validators, ExampleSelection]]] = {}
