"""Counts of the verdicts on a span's messages."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.core.formats.key_value import has_keys_apart
from topicschema.core.schemas import NEWEST, SchemaInfo, SchemaType
from topicschema.payload.columnar.reasons import REASONS
from topicschema.spark import columns, reading
from topicschema.spark.incompatibilities import NO_STRATEGY, ProposedStrategy, VersionComparisons
from topicschema.spark.options import ReadOptions
from topicschema.spark.planning import TaskSpan
from topicschema.spark.proposal import Proposal
from topicschema.spark.verdicts import COLUMNS, STRATEGY_COLUMNS
from topicschema.spark.versions import TopicVersions, held
from topicschema.validation.errors import SourceError
from topicschema.validation.run.validators import Validators, WriterVerdicts
from topicschema.validation.sources import Split
from topicschema.validation.sources.files.source import FileMessages
from topicschema.validation.sources.pulsar.admin import Admin

EXAMPLES: Final = 10
"""Maximum number of examples in a row."""
_MOST_KEYS: Final = 10_000
"""Maximum number of rows that are held. More of them are returned in parts."""
_PLACE: Final = ("partition", "writer", "hour")
_POSITION: Final = ("ledger", "entry", "batch_index")
_OF_FILES: Final[dict[Hashable, Validators]] = {}
_ANYTHING: Final = SchemaInfo(SchemaType.BYTES, b"")
"""Schema of a topic that has none: every message fits."""
_ALL: Final = {**COLUMNS, **STRATEGY_COLUMNS}
_ROWS: Final = columns.arrow(columns.struct(None, _ALL), _ALL)


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


class Counter:
    """Counts of the messages of one topic or file, named `topic`. `comparisons` are those of their versions."""

    def __init__(self, topic: str, comparisons: VersionComparisons, *, has_partitions: bool, has_ledgers: bool) -> None:
        self._topic = topic
        self._comparisons = comparisons
        self._has_partitions = has_partitions
        self._has_ledgers = has_ledgers
        self._counts: dict[VerdictKey, Count] = {}

    def rows(
        self, batches: Iterable[pa.RecordBatch], validate: Callable[[pa.RecordBatch], Iterable[WriterVerdicts]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the batches' messages. A verdict may have several rows."""
        for batch in batches:
            messages = reading.measured(batch)
            readable, bad, faults = reading.by_verdict(messages, validate(batch), [*_PLACE, "bytes"])
            if faults:
                self._add_faults(bad, faults)
            for group in _groups(readable, _PLACE):
                self._count(group, (None, None, None))
            if len(self._counts) > _MOST_KEYS:
                yield self._taken()
        if self._counts:
            yield self._taken()

    def _add_faults(self, messages: pa.Table, faults: Sequence[tuple[WriterVerdicts, NDArray[np.int64]]]) -> None:
        """Count bad messages. They are those of the places in the verdicts of a writer, or of all unknown ones."""
        columns = {
            "validator": np.repeat(np.arange(len(faults)), [len(bad) for _, bad in faults]),
            "reason": np.concatenate([each.verdicts.reasons[bad] for each, bad in faults]),
            "path": np.concatenate([each.verdicts.paths[bad] for each, bad in faults]),
            "place": np.arange(len(messages)),
        }
        positions = [messages.column(name).to_pylist() for name in _POSITION]
        for name, values in columns.items():
            messages = messages.append_column(name, pa.array(values))
        validators = [(each.validator.paths, each.validator.reasons) for each, _ in faults]
        for group in _groups(messages, (*_PLACE, "validator", "reason", "path"), ("place", "list")):
            paths, tolerated = validators[group["validator"]]
            reason = REASONS[group["reason"]]
            count = self._count(group, (reason, paths[group["path"]], tolerated[reason]))
            places = group["place_list"][: EXAMPLES - len(count.examples)]
            count.examples.extend(self._position(*(each[place] for each in positions)) for place in places)

    def _count(self, group: Mapping[str, Any], fault: tuple[str, str, bool] | tuple[None, None, None]) -> Count:
        """Count the messages of a group, which have a fault (reason, path, whether it is tolerated) or none."""
        partition, writer, hour = (None if group[name] < 0 else group[name] for name in _PLACE)
        key = VerdictKey(partition if self._has_partitions else None, writer, hour, *fault)
        count = self._counts.setdefault(key, Count())
        count.messages += group["count_all"]
        count.bytes += group["bytes_sum"]
        return count

    def _position(self, ledger: int, entry: int, index: int) -> str:
        """Return the position of a message: `ledger:entry`, in files only `entry`, and `:index` in a batch."""
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
            [None if hour is None else hour * reading.HOUR * 1000 for hour in hours],
            *faults,
            [each.messages for each in counts.values()],
            [each.bytes for each in counts.values()],
            [each.examples for each in counts.values()],
            [self._comparisons.of(each) for each in versions],
        ]
        typed = [pa.array(list(array), each.type) for array, each in zip(arrays, _ROWS, strict=True)]
        return pa.RecordBatch.from_arrays(typed, schema=_ROWS)


def of_topic(admin: Admin, options: ReadOptions, proposal: Proposal, span: TaskSpan) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the span's messages.

    Raises SourceError if messages or schemas cannot be read, and InvalidRequestError if the schema cannot be judged.
    """
    what = span.reader_version if proposal.info is None else proposal.info.content_hash
    validators = held(
        *(admin, options, span, ("verdicts", what, proposal.strategy)),
        lambda versions: TopicValidators(
            reader_of(admin, proposal, span, versions), versions, proposal.strategy, span.reader_version
        ),
    )
    counter = Counter(span.topic, validators.comparisons, has_partitions=span.is_partitioned, has_ledgers=True)
    batches = reading.batches(admin, options, span, has_keys=has_keys_apart(validators.reader))
    yield from counter.rows(batches, lambda batch: validators.validate(admin, batch))


def of_files(
    source: FileMessages, validators: Validators, split: Split, files: Sequence[str], comparisons: VersionComparisons
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the messages in a split of `files`. Raises SourceError if they cannot be read."""
    batches = source.read(split)
    for first in batches:
        name = files[first.column("ledger")[0].as_py()]
        has_partitions = bool(source.files.columns.partition)
        counter = Counter(name, comparisons, has_partitions=has_partitions, has_ledgers=False)
        yield from counter.rows(chain([first], batches), validators.validate)


class TopicValidators:
    """Validators of a topic's messages, by the versions that have arrived.

    `comparisons` are those of the reader, which has the number `current`, with these versions.
    """

    def __init__(
        self,
        reader: SchemaInfo,
        versions: TopicVersions,
        strategy: ProposedStrategy = NO_STRATEGY,
        current: int | None = None,
    ) -> None:
        self._versions = versions
        self._known: dict[int, SchemaInfo | None] = {}
        self.reader = reader
        self._validators = Validators(reader, {}, versions.pulsar_version)
        self.comparisons = VersionComparisons(strategy, (current, reader), self._known, versions.pulsar_version)

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


def _groups(messages: pa.Table, names: Sequence[str], *more: tuple[str, str]) -> Iterator[Mapping[str, Any]]:
    """Yield the groups of messages that are equal in these columns, with their number and the sum of their bytes.

    `more` are further columns, each with a function of Arrow.
    """
    grouped = messages.group_by(list(names), use_threads=False)
    yield from grouped.aggregate([([], "count_all"), ("bytes", "sum"), *more]).to_pylist()


def validators_of(reader: SchemaInfo, versions: Mapping[int, SchemaInfo]) -> Validators:
    """Return the validators of messages in files, once for all tasks that this process runs of a query."""
    key = (reader.content_hash, *((number, info.content_hash) for number, info in sorted(versions.items())))
    if key not in _OF_FILES:
        _OF_FILES.clear()
        _OF_FILES[key] = Validators(reader, versions, NEWEST)
    return _OF_FILES[key]
