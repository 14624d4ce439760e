"""Facts of an audit: what its stream writes, once for each message, and what all tables are derived from.

A fact counts the readable messages of a ledger, schema version and hour together. Each message with a fault is a fact
of its own, with its position. A fact with an `error` means that the topic could not be read to its end, and one with
`lost_entries` that the broker removed entries before they could be read.

The data source `topicschema-facts` is internal: only audits use it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)
from typing_extensions import override

from topicschema.core.errors import TopicSchemaError
from topicschema.core.formats.key_value import has_keys_apart
from topicschema.core.schemas import SchemaInfo
from topicschema.spark import columns, reading
from topicschema.spark.audit.survey import JudgingSchema
from topicschema.spark.files import FileOptions, FileReader
from topicschema.spark.options import ReadOptions
from topicschema.spark.planning import TaskSpan
from topicschema.spark.proposal import Proposal
from topicschema.spark.versions import TopicVersions, held
from topicschema.validation.errors import SourceError
from topicschema.validation.sources import Expired, Split
from topicschema.validation.sources.pulsar.admin import Admin

if TYPE_CHECKING:
    from topicschema.validation.run.validators import Validators, WriterVerdicts

# ruff: noqa: PLC0415  # numba takes seconds to import, and Spark plans without it

FORMAT: Final = "topicschema-facts"
SURVEY_FILE: Final = "surveyFile"
IDENTITY: Final = "identity"
OF_FILES: Final = "files"
"""Candidate of the facts of files."""
COLUMNS: Final[dict[str, DataType]] = {
    "topic": StringType(),
    "candidate": StringType(),
    "partition": IntegerType(),
    "ledger": LongType(),
    "entry": LongType(),
    "batch_index": IntegerType(),
    "writer": LongType(),
    "hour": TimestampType(),
    "reason": StringType(),
    "path": StringType(),
    "tolerated": BooleanType(),
    "messages": LongType(),
    "bytes": LongType(),
    "first": TimestampType(),
    "last": TimestampType(),
    "lost_entries": LongType(),
    "error": StringType(),
}
"""All columns of facts. `entry` and `batch_index` are null for messages that are counted together."""
ROWS: Final = columns.arrow(columns.struct(None, COLUMNS), COLUMNS)
_MOST_KEYS: Final = 10_000
_GROUP: Final = ("partition", "ledger", "writer", "hour")
_GONE: Final = "the broker did not show the topic any more when an interrupted audit was continued"


class FactCounter:
    """Facts of the messages of one topic or file, named `topic`, which the schema `candidate` has judged."""

    def __init__(self, topic: str, candidate: str, *, has_partitions: bool, has_ledgers: bool) -> None:
        self._constant = {"topic": topic, "candidate": candidate}
        self._unknown = {
            name for name, is_known in (("partition", has_partitions), ("ledger", has_ledgers)) if not is_known
        }
        self._counts: dict[tuple[int, ...], tuple[int, int, int, int]] = {}

    def rows(self, batches: Iterable[tuple[pa.RecordBatch, Iterable["WriterVerdicts"]]]) -> Iterator[pa.RecordBatch]:
        """Yield the facts of the batches with the verdicts on their messages."""
        for batch, verdicts in batches:
            messages = reading.measured(batch)
            readable, bad, faults = reading.by_verdict(messages, verdicts, [*_GROUP, "bytes", "time"])
            if faults:
                yield self._faults(bad, faults)
            self._count(readable)
            if len(self._counts) > _MOST_KEYS:
                yield self._counted()
        if self._counts:
            yield self._counted()

    def event(self, *, lost_entries: int | None = None, error: str | None = None) -> pa.RecordBatch:
        """Return the fact that entries were removed before they were read, or that the topic cannot be read."""
        return self._batch({"messages": [0], "bytes": [0], "lost_entries": [lost_entries], "error": [error]}, 1)

    def _count(self, messages: pa.Table) -> None:
        """Count readable messages."""
        groups = messages.group_by(list(_GROUP), use_threads=False)
        counted = groups.aggregate([([], "count_all"), ("bytes", "sum"), ("time", "min"), ("time", "max")])
        sums = [counted.column(name).to_pylist() for name in ("count_all", "bytes_sum", "time_min", "time_max")]
        keys = [counted.column(name).to_pylist() for name in _GROUP]
        for key, count, size, first, last in zip(zip(*keys, strict=True), *sums, strict=True):
            counts = self._counts.get(key, (0, 0, first, last))
            self._counts[key] = (counts[0] + count, counts[1] + size, min(counts[2], first), max(counts[3], last))

    def _counted(self) -> pa.RecordBatch:
        """Return the facts of all counts, and forget them."""
        counts, self._counts = self._counts, {}
        keys = dict(zip(_GROUP, zip(*counts, strict=True), strict=True))
        messages, sizes, first, last = zip(*counts.values(), strict=True)
        values = {**keys, "messages": messages, "bytes": sizes, "first": first, "last": last}
        return self._batch(values, len(counts))

    def _faults(self, messages: pa.Table, faults: Iterable[tuple["WriterVerdicts", Any]]) -> pa.RecordBatch:
        """Return a fact for each message with a fault. The messages are those of the places in the verdicts."""
        from topicschema.payload.columnar.reasons import REASONS

        reasons, paths, tolerated = [], [], []
        for each, bad in faults:
            known = each.validator.paths
            paths += [known[path] for path in each.verdicts.paths[bad].tolist()]
            names = [REASONS[reason] for reason in each.verdicts.reasons[bad].tolist()]
            reasons += names
            tolerated += [each.validator.reasons[name] for name in names]
        values: dict[str, Any] = {name: messages.column(name) for name in (*_GROUP, "entry", "batch_index", "bytes")}
        values |= {"first": messages.column("time"), "last": messages.column("time"), "messages": [1] * len(messages)}
        return self._batch({**values, "reason": reasons, "path": paths, "tolerated": tolerated}, len(messages))

    def _batch(self, values: dict[str, Any], size: int) -> pa.RecordBatch:
        arrays = []
        for field in ROWS:
            if field.name in self._constant:
                arrays.append(pa.repeat(pa.scalar(self._constant[field.name], field.type), size))
            elif field.name in self._unknown or field.name not in values:
                arrays.append(pa.nulls(size, field.type))
            else:
                arrays.append(_array(field, values[field.name]))
        return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def _array(field: pa.Field, values: Any) -> pa.Array:
    """Return the values of a column as an array of its type."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(list(values))
    if field.name in {"hour", "first", "last", "batch_index"}:  # -1 is none
        array = pa.compute.if_else(pa.compute.less(array, 0), pa.scalar(None, array.type), array)
    if field.name in {"hour", "first", "last"}:
        array = pa.compute.multiply(array, 1000 * (reading.HOUR if field.name == "hour" else 1))
        return array.cast(pa.timestamp("us")).cast(field.type) if field.type.tz is None else array.cast(field.type)
    return array.cast(field.type)


def of_topics(options: ReadOptions, spans: Iterable[TaskSpan]) -> Iterator[pa.RecordBatch]:
    """Yield the facts of the messages of spans.

    If those of a span cannot be read, its last fact has the error. Raises SourceError if the broker does not answer at
    all.
    """
    waiting = deque(spans)
    while waiting:
        with Admin(options.pulsar) as admin:  # a new one after an error: no other topic is to blame for it
            error = None
            while waiting and error is None:
                span = waiting.popleft()
                counter = FactCounter(span.topic, span.candidate, has_partitions=span.is_partitioned, has_ledgers=True)
                try:
                    yield from _of_span(admin, options, span, counter)
                except TopicSchemaError as caught:
                    error = caught
        if error is not None:
            with Admin(options.pulsar) as admin:
                admin.release()  # if the broker is not there at all, the audit fails, and no topic is to blame
            yield counter.event(error=error.message.encode(errors="replace").decode())


def _of_span(admin: Admin, options: ReadOptions, span: TaskSpan, counter: FactCounter) -> Iterator[pa.RecordBatch]:
    from topicschema.spark.counting import TopicValidators

    if not span.positions.entry_ranges:
        yield counter.event(error=_GONE)
        return
    validators = held(
        *(admin, options, span, ("facts", span.candidate)),
        lambda versions: TopicValidators(_judging(admin, span, versions), versions),
    )
    lost = 0

    def judged() -> Iterator[tuple[pa.RecordBatch, Iterable["WriterVerdicts"]]]:
        nonlocal lost
        for batch in reading.messages(admin, span, has_keys=has_keys_apart(validators.reader)):
            if isinstance(batch, Expired):
                lost += batch.messages
            else:
                yield batch, validators.validate(admin, batch)

    yield from counter.rows(judged())
    if lost:
        yield counter.event(lost_entries=lost)


def _judging(admin: Admin, span: TaskSpan, versions: TopicVersions) -> SchemaInfo:
    """Return the schema that judges the span. Raises SourceError if the broker replaced or deleted it."""
    from topicschema.spark.counting import reader_of

    candidate = JudgingSchema.parse(span.candidate)
    info = reader_of(admin, Proposal(), span, versions)
    if candidate.schema_version is not None and info.content_hash != candidate.content_hash:
        message = f"schema version {candidate.schema_version} was replaced after the audit began"
        raise SourceError(message, span.topic)
    return info


@dataclass(frozen=True, slots=True)
class FactRowSource:
    """Facts of messages, as rows of Spark."""

    options: ReadOptions

    def planned(self, admin: Admin, spans: Sequence[TaskSpan]) -> Sequence[TaskSpan]:
        """Return the spans."""
        del admin
        return spans

    def rows(self, spans: Iterable[TaskSpan]) -> Iterator[pa.RecordBatch]:
        """Yield the facts of the spans' messages, as `of_topics`."""
        return of_topics(self.options, spans)


class FileFactReader(FileReader):
    """Reader of the facts of messages in files."""

    @override
    def _rows(self, validators: "Validators", split: Split, files: Sequence[str]) -> Iterator[pa.RecordBatch]:
        source = self.source()
        batches = source.read(split)
        for first in batches:
            name = files[first.column("ledger")[0].as_py()]
            has_partitions = bool(source.files.columns.partition)
            counter = FactCounter(name, OF_FILES, has_partitions=has_partitions, has_ledgers=False)
            yield from counter.rows((batch, validators.validate(batch)) for batch in chain([first], batches))


class PulsarFacts(DataSource):
    """Facts of an audit: a stream of topics, or a batch of files."""

    @classmethod
    @override
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    @override
    def schema(self) -> StructType:
        """Return all columns."""
        return columns.struct(None, COLUMNS)

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of files."""
        return FileFactReader(FileOptions.of(dict(self.options)), columns.arrow(schema, COLUMNS))

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of topics."""
        from topicschema.spark.audit.stream import FactStreamReader

        options = {name.lower(): value for name, value in self.options.items()}
        survey_file, identity = options.pop(SURVEY_FILE.lower()), options.pop(IDENTITY)
        return FactStreamReader(FactRowSource(ReadOptions.of(options)), survey_file, identity)
