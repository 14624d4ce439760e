"""The data source of audits, whose reader is killed once in the middle of a task, as a worker may be killed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from typing_extensions import override

from support.validation.killed_workers import killed_once
from topicschema.spark.audit.facts import FactRowSource, PulsarFacts
from topicschema.spark.audit.stream import FactStreamReader


class KillingFacts(PulsarFacts):
    """The data source. The process that is killed first creates a file `killed` in the folder of temporary folders.

    Spark creates the reader again in each process, so the path is not an argument.
    """

    @override
    def streamReader(self, schema: Any) -> FactStreamReader:
        reader: Any = super().streamReader(schema)
        trace = Path(reader._survey_file).parents[1] / "killed"
        return FactStreamReader(KillingRows(reader._source.options, trace), reader._survey_file, reader._identity)


@dataclass(frozen=True, slots=True)
class KillingRows(FactRowSource):
    """Facts of `KillingFacts`."""

    trace: Path

    @override
    def rows(self, spans: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        return killed_once(FactRowSource(self.options).rows(spans), self.trace)
