"""Source of a topic's messages: a plan of spans, each read by a reader of its own in any process."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Final

import pyarrow as pa

from topicschema.core.errors import StalledError
from topicschema.core.topics import Topic
from topicschema.validation.errors import SourceError
from topicschema.validation.request import PulsarSource
from topicschema.validation.sources import Expired, NotDelivered, Plan, Split
from topicschema.validation.sources.pulsar import reader
from topicschema.validation.sources.pulsar.admin import Admin, TopicStats
from topicschema.validation.sources.pulsar.ranges import Position, Span, cut, since
from topicschema.validation.sources.pulsar.reader import ReaderOptions

_SKEW: Final = 600_000
"""Milliseconds before the start time that are read, too.

Pulsar searches for a time by bisection, as if publish times only increased. But they come from producers' clocks.
"""
_PROBES: Final = 8
_SPLITS: Final = 16
_FEWEST: Final = 20_000
_MOST: Final = 500_000
_SPLIT_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class PulsarMessages:
    """Retained messages of a topic. `topic` is its full name.

    Messages published before `since` (ms since 1970) are omitted approximately. `split_messages` is about the number of
    messages read at once. If it is None, the topic's size decides. `timeout` is the maximum time in seconds without
    data from the broker, restarts included, while messages remain to be read.
    """

    pulsar: PulsarSource
    topic: str
    has_keys: bool = False
    since: int | None = None
    split_messages: int | None = None
    timeout: float = 90.0

    def plan(self) -> Plan:
        """Return the plan, as in Source. A topic that does not exist or is empty has a plan without splits."""
        topic = self._parsed()
        with Admin(self.pulsar) as admin:
            count = admin.partitions(topic)
            if count is None:
                return self._missing()
            partitions = _Partitions.of(admin, topic, count)
            parts = [self._part(admin, topic, number, partitions) for number in range(max(1, count))]
            is_none_there = all(part.stats is None for part in parts)
            # Partitions may all be unused so far. The topic may also be deleted after the first request.
            if is_none_there and (not count or admin.partitions(topic) is None):
                return self._missing()
            return self._planned(admin, parts)

    def _missing(self) -> Plan:
        return Plan(notes=(f"{self.topic} does not exist: it has no messages",), is_missing=True)

    def read(self, split: Split) -> Iterator[pa.RecordBatch | Expired | NotDelivered]:
        """Return the messages of a split of `plan`, as in Source."""
        span: Span = split.what
        return reader.read(
            ReaderOptions(self.pulsar, self.has_keys, self.timeout), span, _partition(self._parsed(), span)
        )

    def _parsed(self) -> Topic:
        try:
            return Topic.parse(self.topic)
        except StalledError as error:
            raise SourceError(error.message) from None

    def _part(self, admin: Admin, topic: Topic, number: int, partitions: "_Partitions") -> "_Part":
        """Return the partition in its current state. Its last entry is the end of the plan."""
        suffix = f"-partition-{number}" if partitions.count else ""
        partition = Topic(topic.tenant, topic.namespace, topic.local_name + suffix)
        name = f"{self.topic}{suffix}"
        stats = partitions.all_stats.get(name) or admin.stats(partition)
        if stats is None or not stats.known:
            return _Part(name, stats=stats)
        known, span = stats.known, None
        if self.since is not None:
            begins = admin.at(partition, max(0, self.since - _SKEW))
            known = known if begins is None else since(known, begins)
        if known:
            created = partitions.creations.get(name) or admin.created(partition)
            span = Span(name, number, known, created=created)
        return _Part(name, span, stats)

    def _planned(self, admin: Admin, parts: "Sequence[_Part]") -> Plan:
        names = tuple(part.name for part in parts)
        spans = [part.span for part in parts if part.span is not None]
        entries = sum(span.entries for span in spans)
        if not entries:
            return Plan(names=names)
        per_entry = _messages_per_entry(admin, spans)
        size = self._split_entries(entries, per_entry, _bytes_per_entry(parts))
        pieces = [
            Span(span.topic, span.partition, piece, per_entry, span.created)
            for span in spans
            for piece in cut(span.entry_ranges, size)
        ]
        splits = tuple(Split(piece, piece.messages) for piece in pieces)
        return Plan(splits, {span.topic: str(span.last) for span in spans}, names)

    def _split_entries(self, entries: int, per_entry: float, bytes_per_entry: float) -> int:
        """Return the number of entries of a split: small enough for all workers, and large enough for a reader."""
        messages = entries * per_entry
        messages_per_split = self.split_messages or min(max(messages / _SPLITS, _FEWEST), _MOST)
        return max(1, round(min(messages_per_split / per_entry, max(1.0, _SPLIT_BYTES / max(1.0, bytes_per_entry)))))


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Data of all partitions from two requests. Missing partitions need a request each."""

    count: int
    all_stats: Mapping[str, TopicStats] = field(default_factory=dict)
    creations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, admin: Admin, topic: Topic, count: int) -> "_Partitions":
        """Return the data. If the requests fail, it is empty, and each partition needs requests of its own."""
        all_stats: Mapping[str, TopicStats] = {}
        creations: Mapping[str, str] = {}
        if count > 1:
            with suppress(SourceError):
                all_stats = admin.all_stats(topic)
                creations = admin.creations(topic) if len(all_stats) == count else {}
        return cls(count, all_stats, creations)


@dataclass(frozen=True, slots=True)
class _Part:
    """Partition at the time of the plan. `span` is None if it has nothing to read."""

    name: str
    span: Span | None = None
    stats: TopicStats | None = None


def _probed(spans: Sequence[Span]) -> list[tuple[str, Position]]:
    """Return positions that are evenly distributed over all spans."""
    entries = sum(span.entries for span in spans)
    step = max(1, entries // _PROBES)
    pieces = [(span.topic, piece[0]) for span in spans for piece in cut(span.entry_ranges, step)]
    positions = [(topic, Position(begin.ledger, begin.first)) for topic, begin in pieces]
    return positions[:: max(1, len(positions) // _PROBES)][:_PROBES]


def _messages_per_entry(admin: Admin, spans: Sequence[Span]) -> float:
    """Return the approximate number of messages per entry, from a few entries. The broker reports no batch sizes.

    It is the median, because one huge batch must not distort the estimate, or a sample would omit nearly all messages.
    """
    sizes = [size for topic, at in _probed(spans) if (size := reader.batch_size(admin, topic, at))]
    return float(median(sizes)) if sizes else 1.0


def _bytes_per_entry(parts: "Sequence[_Part]") -> float:
    all_stats = [part.stats for part in parts if part.stats is not None]
    return sum(each.bytes for each in all_stats) / max(1, sum(each.entries for each in all_stats))


def _partition(topic: Topic, span: Span) -> Topic:
    """Return the partition as a Topic, for the admin API."""
    local = span.topic.rpartition("/")[2]
    return Topic(topic.tenant, topic.namespace, local)
