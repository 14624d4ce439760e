"""Counts of the verdicts on a span's messages."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from topicschema.core.formats.key_value import has_keys_apart
from topicschema.core.schemas import NEWEST, SchemaInfo, SchemaType
from topicschema.payload.columnar.reasons import REASONS
from topicschema.spark import columns, reading
from topicschema.spark.columns import MAX_MILLISECONDS
from topicschema.spark.options import ReadOptions
from topicschema.spark.planning import TaskSpan
from topicschema.spark.proposal import Proposal
from topicschema.spark.verdicts import COLUMNS
from topicschema.spark.versions import TopicVersions, held
from topicschema.validation.errors import SourceError
from topicschema.validation.report.counting import HOUR
from topicschema.validation.run.validators import Validators, WriterVerdicts
from topicschema.validation.sources import Split
from topicschema.validation.sources.files.source import FileMessages
from topicschema.validation.sources.pulsar.admin import Admin

EXAMPLES: Final = 10
"""Maximum number of examples in a row."""
_MOST_KEYS: Final = 10_000
"""Maximum number of rows that are held. More of them are returned in parts."""
_MOST_CODES: Final = 100_000
_OF_FILES: Final[dict[Hashable, Validators]] = {}
_ANYTHING: Final = SchemaInfo(SchemaType.BYTES, b"")
"""Schema of a topic that has none: every message fits."""
_ROWS: Final = columns.arrow(columns.struct(None, COLUMNS), COLUMNS)


class VerdictKey(NamedTuple):
    """Messages that are counted together. `reason` is None if a consumer can read them.

    `schema_version` is None without a version, and `hour` without a publish time, in hours since 1970.
    """

    partition: int | None
    schema_version: int | None
    hour: int | None
    reason: str | None
    path: str | None
    is_tolerated: bool | None


@dataclass(slots=True)
class Count:
    """Number of messages, their bytes without keys, and the positions of some of them."""

    messages: int = 0
    bytes: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, messages: int, size: int) -> None:
        """Count messages of this size together."""
        self.messages += messages
        self.bytes += size


class Counter:
    """Counts of the messages of one topic or file, named `topic`."""

    def __init__(self, topic: str, *, has_partitions: bool, has_ledgers: bool) -> None:
        self._topic = topic
        self._has_partitions = has_partitions
        self._has_ledgers = has_ledgers
        self._counts: dict[VerdictKey, Count] = {}

    def rows(
        self, batches: Iterable[pa.RecordBatch], validate: Callable[[pa.RecordBatch], Iterable[WriterVerdicts]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the batches' messages. A verdict may have several rows."""
        for batch in batches:
            sizes = pa.compute.binary_length(batch.column("payload")).fill_null(0).to_numpy()
            for each in validate(batch):
                self._add(batch, sizes[each.rows], each)
            if len(self._counts) > _MOST_KEYS:
                yield self._taken()
        if self._counts:
            yield self._taken()

    def _add(self, batch: pa.RecordBatch, sizes: Any, verdicts: WriterVerdicts) -> None:
        """Count the verdicts on the messages of one writer, or of all unknown ones."""
        writers = batch.column("writer").to_numpy()[verdicts.rows]
        partitions = batch.column("partition").to_numpy()[verdicts.rows].astype(np.int64)
        times = batch.column("publish_time").to_numpy()[verdicts.rows]
        hours = np.where((times < 0) | (times > MAX_MILLISECONDS), -1, times // HOUR)
        reasons, paths = verdicts.verdicts.reasons.astype(np.int64), verdicts.verdicts.paths.astype(np.int64)
        is_bad = reasons != 0
        places = np.stack([partitions, writers, hours])
        for key, messages, size in sums(places[:, ~is_bad], sizes[~is_bad]):
            self._count((*key, None, None, None)).add(messages, size)
        bad = np.flatnonzero(is_bad)
        faults = np.vstack([places, reasons, paths])[:, bad]
        for key, messages, size in sums(faults, sizes[bad]):
            *place, reason, path = key
            name = REASONS[reason]
            count = self._count((*place, name, verdicts.validator.paths[path], verdicts.validator.reasons[name]))
            count.add(messages, size)
            if len(count.examples) < EXAMPLES:
                equal = np.flatnonzero((faults == np.array(key)[:, None]).all(axis=0))
                rows = verdicts.rows[bad[equal[: EXAMPLES - len(count.examples)]]]
                count.examples.extend(self._position(batch, int(row)) for row in rows)

    def _count(self, key: tuple[Any, ...]) -> Count:
        partition, writer, hour, *fault = key
        known = partition if self._has_partitions else None
        verdict = VerdictKey(known, _unless_negative(writer), _unless_negative(hour), *fault)
        return self._counts.setdefault(verdict, Count())

    def _position(self, batch: pa.RecordBatch, row: int) -> str:
        """Return the position of a message: `ledger:entry`, in files only `entry`, and `:index` in a batch."""
        ledger, entry, index = (batch.column(name)[row].as_py() for name in ("ledger", "entry", "batch_index"))
        parts = [*([ledger] if self._has_ledgers else []), entry, *([] if index < 0 else [index])]
        return ":".join(map(str, parts))

    def _taken(self) -> pa.RecordBatch:
        """Return the rows of all counts, and forget them."""
        counts, self._counts = self._counts, {}
        partitions, versions, hours, *faults = zip(*counts, strict=True)
        arrays: list[Any] = [
            [self._topic] * len(counts),
            partitions,
            versions,
            [None if hour is None else hour * HOUR * 1000 for hour in hours],
            *faults,
            [each.messages for each in counts.values()],
            [each.bytes for each in counts.values()],
            [each.examples for each in counts.values()],
        ]
        typed = [pa.array(list(array), each.type) for array, each in zip(arrays, _ROWS, strict=True)]
        return pa.RecordBatch.from_arrays(typed, schema=_ROWS)


def of_topic(options: ReadOptions, proposal: Proposal, span: TaskSpan) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the span's messages.

    Raises SourceError if messages or schemas cannot be read, and InvalidRequestError if the schema cannot be judged.
    """
    with Admin(options.pulsar) as admin:
        what = span.reader_version if proposal.info is None else proposal.info.content_hash
        validators = held(
            *(admin, options, span, ("verdicts", what)),
            lambda versions: TopicValidators(reader_of(admin, proposal, span, versions), versions),
        )
        counter = Counter(span.topic, has_partitions=span.is_partitioned, has_ledgers=True)
        batches = reading.batches(options, span, has_keys=has_keys_apart(validators.reader))
        yield from counter.rows(batches, lambda batch: validators.validate(admin, batch))


def of_files(
    source: FileMessages, validators: Validators, split: Split, files: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the messages in a split of `files`. Raises SourceError if they cannot be read."""
    batches = source.read(split)
    for first in batches:
        name = files[first.column("ledger")[0].as_py()]
        counter = Counter(name, has_partitions=bool(source.files.columns.partition), has_ledgers=False)
        yield from counter.rows(chain([first], batches), validators.validate)


class TopicValidators:
    """Validators of a topic's messages, by the versions that have arrived."""

    def __init__(self, reader: SchemaInfo, versions: TopicVersions) -> None:
        self._versions = versions
        self._known: dict[int, SchemaInfo | None] = {}
        self.reader = reader
        self._validators = Validators(reader, {}, versions.pulsar_version)

    def validate(self, admin: Admin, batch: pa.RecordBatch) -> Iterator[WriterVerdicts]:
        """Return the verdicts on a batch. The first message of a version makes a request."""
        numbers = np.unique(batch.column("writer").to_numpy()).tolist()
        new = [each for each in numbers if each >= 0 and each not in self._known]
        if new:
            self._known |= {number: self._versions.info(admin, number) for number in new}
            known = {number: info for number, info in self._known.items() if info is not None}
            self._validators = Validators(self.reader, known, self._versions.pulsar_version)
        return self._validators.validate(batch)


def reader_of(admin: Admin, proposal: Proposal, span: TaskSpan, versions: TopicVersions) -> SchemaInfo:
    """Return the proposed schema, or the topic's version that the plan has fixed."""
    if proposal.info is not None:
        return proposal.info
    if span.reader_version is None:
        return _ANYTHING
    info = versions.info(admin, span.reader_version)
    if info is None:
        message = f"schema version {span.reader_version} was deleted after the read was planned"
        raise SourceError(message, span.topic)
    return info


def _unless_negative(number: int) -> int | None:
    return None if number < 0 else number


def sums(columns: Any, sizes: Any) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield each combination of values of the columns, with the number of its rows and the sum of their sizes."""
    if not columns.shape[1]:
        return
    lows = columns.min(axis=1)
    widths = columns.max(axis=1) - lows + 1
    if float(np.prod(widths.astype(float))) > _MOST_CODES:
        keys, codes = np.unique(columns, axis=1, return_inverse=True)
        codes = codes.reshape(-1)
    else:  # each combination is a number: counted without sorting
        codes = np.ravel_multi_index(tuple(columns - lows[:, None]), tuple(widths))
        keys = None
    counts = np.bincount(codes)
    totals = np.bincount(codes, sizes)
    for code in np.flatnonzero(counts).tolist():
        key = np.array(np.unravel_index(code, tuple(widths))) + lows if keys is None else keys[:, code]
        yield tuple(key.tolist()), int(counts[code]), int(totals[code])


def validators_of(reader: SchemaInfo, versions: Mapping[int, SchemaInfo]) -> Validators:
    """Return the validators of messages in files, once for all tasks that this process runs of a query."""
    key = (reader.content_hash, *((number, info.content_hash) for number, info in sorted(versions.items())))
    if key not in _OF_FILES:
        _OF_FILES.clear()
        _OF_FILES[key] = Validators(reader, versions, NEWEST)
    return _OF_FILES[key]
