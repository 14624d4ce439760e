"""Stream of an audit's facts, up to the end that the survey has fixed.

An offset has the last read entry of each partition, and the schema that judged it. If another schema judges a partition
now, the stream reads it again from its first entry.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from typing_extensions import override

from topicschema.core.schemas import PulsarVersion
from topicschema.spark import planning, streaming
from topicschema.spark.audit.facts import FactRowSource
from topicschema.spark.audit.survey import JudgingSchema, Survey, surveyed_partitions
from topicschema.spark.planning import SelectedPartition, TaskSpan
from topicschema.spark.streaming import Offset
from topicschema.validation.errors import SourceError
from topicschema.validation.run import spark_worker
from topicschema.validation.sources.pulsar import ranges
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.ranges import Span

IDENTITY: Final = ""
"""Key of an offset whose value identifies the audit. No partition has this name."""
_PARTITION: Final = re.compile(r"-partition-\d+$")


class FactStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader of the messages that the survey contains and that no earlier audit with this checkpoint has read."""

    def __init__(self, source: FactRowSource, survey_file: str, identity: str) -> None:
        self._source = source
        self._options = source.options
        self._survey_file = survey_file
        self._identity = identity

    @override
    def initialOffset(self) -> Offset:
        """Return the offset before the first entry of all topics."""
        return {IDENTITY: self._identity}

    @override
    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a micro-batch."""
        return streaming.read_limit(self._options)

    @override
    def prepareForTriggerAvailableNow(self) -> None:
        """Do nothing: the survey has fixed the end."""

    @override
    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return the offset up to which the next micro-batch reads. Topics without new entries have their old one."""
        unread = {
            name: streaming.after(partition, _read_to(start.get(name), candidate))
            for name, (partition, candidate) in self._partitions.items()
        }
        selected = {name: partition for name, (partition, _) in self._partitions.items()}
        ends = dict(streaming.ends(selected, unread, limit))
        # A partition without entries has them judged by the new schema, too: all of a topic have the same one.
        empty = {name: start[name].partition(" ")[0] for name in start.keys() & unread.keys() if not unread[name]}
        return start | {name: f"{end} {self._partitions[name][1]}" for name, end in (empty | ends).items()}

    @override
    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the tasks of a micro-batch. After a restart, they are those of the checkpoint's last one.

        Its messages are then judged by the schema of its offset, although another one may be current now.
        """
        changed = {name: text for name, text in end.items() if text != start.get(name)}
        if not changed:
            return []
        with Admin(self._options.pulsar) as admin:
            spans = [self._span(admin, name, start.get(name), text) for name, text in changed.items()]
        return planning.packed([each for each in spans if each is not None], self._options.max_bytes_per_partition)

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the facts of a task."""
        yield from self._source.rows(partition.value)
        spark_worker.settle()

    def _span(self, admin: Admin, name: str, start: str | None, end: str) -> TaskSpan | None:
        """Return the entries of a partition after `start`, to `end`, if they exist.

        A span without entries stands for a partition that the survey does not contain, after a restart.
        """
        last, _, candidate = end.partition(" ")
        if name not in self._partitions:
            return TaskSpan(_PARTITION.sub("", name), False, Span(name, 0, ()), 0.0, candidate=candidate)  # noqa: FBT003  # unknown
        partition, _ = self._partitions[name]
        begin = _read_to(start, candidate)
        entry_ranges = ranges.until(streaming.after(partition, begin), streaming.position_of(last).following)
        since = self._survey.since
        try:
            span = streaming.unread_span(admin, partition, entry_ranges, since if begin is None else None)
        except SourceError:
            admin.release()
            span = planning.span_of(admin, partition, entry_ranges)  # which reports the error when it is read
        if span is None:
            return None
        schema = JudgingSchema.parse(candidate)
        rules = PulsarVersion(schema.pulsar_version)
        return replace(span, since=since, reader_version=schema.schema_version, candidate=candidate, rules=rules)

    @cached_property
    def _survey(self) -> Survey:
        return Survey.read(Path(self._survey_file))

    @cached_property
    def _partitions(self) -> Mapping[str, tuple[SelectedPartition, str]]:
        return {each.partition.name: (each, candidate) for each, candidate in surveyed_partitions(self._survey)}


def _read_to(offset: str | None, candidate: str) -> str | None:
    """Return the position up to which a partition was read with the schema. Return None if it was not."""
    if offset is None:
        return None
    position, _, judged = offset.partition(" ")
    return position if judged == candidate else None
