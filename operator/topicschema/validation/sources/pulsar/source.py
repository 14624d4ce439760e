"""The source: which spans a topic is read in, each of them by a reader of its own, in any process."""

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
"""Pulsar looks for a time by halves, as if publish times only grew. They are of producers' clocks: so many milliseconds
before it are read, too."""
_PROBES: Final = 8
_SPLITS: Final = 16
_FEWEST: Final = 20_000
_MOST: Final = 500_000
_SPLIT_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class PulsarMessages:
    """A topic's retained messages; `topic` is its full name. `since` leaves out what is older (ms since 1970), roughly.

    `split_messages` is about how many messages are read at once; without it that is as the topic is. `patience` is how
    many seconds a broker may say nothing, restarts included, though there is something left to read.
    """

    asked: PulsarSource
    topic: str
    has_keys: bool = False
    since: int | None = None
    split_messages: int | None = None
    patience: float = 90.0

    def plan(self) -> Plan:
        """As Source says. A topic that does not exist, or has no messages, is a plan without splits."""
        topic = self._parsed()
        with Admin(self.asked) as admin:
            count = admin.partitions(topic)
            if count is None:
                return self._missing()
            told = _Told.of(admin, topic, count)
            parts = [self._part(admin, topic, number, told) for number in range(max(1, count))]
            is_none_there = all(part.stats is None for part in parts)
            # Of a topic with partitions none may have been used so far; it may be gone since the first question, too.
            if is_none_there and (not count or admin.partitions(topic) is None):
                return self._missing()
            return self._planned(admin, parts)

    def _missing(self) -> Plan:
        return Plan(notes=(f"{self.topic} does not exist: it has no messages",), is_missing=True)

    def read(self, split: Split) -> Iterator[pa.RecordBatch | Expired | NotDelivered]:
        """As Source says; a split of `plan`."""
        span: Span = split.what
        return reader.read(
            ReaderOptions(self.asked, self.has_keys, self.patience), span, _partition(self._parsed(), span)
        )

    def _parsed(self) -> Topic:
        try:
            return Topic.parse(self.topic)
        except StalledError as error:
            raise SourceError(error.message) from None

    def _part(self, admin: Admin, topic: Topic, number: int, told: "_Told") -> "_Part":
        """The partition as it stands now: its last entry is the end."""
        suffix = f"-partition-{number}" if told.count else ""
        partition = Topic(topic.tenant, topic.namespace, topic.local_name + suffix)
        name = f"{self.topic}{suffix}"
        stats = told.all_stats.get(name) or admin.stats(partition)
        if stats is None or not stats.known:
            return _Part(name, stats=stats)
        known, span = stats.known, None
        if self.since is not None:
            begins = admin.at(partition, max(0, self.since - _SKEW))
            known = known if begins is None else since(known, begins)
        if known:
            created = told.creations.get(name) or admin.created(partition)
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
        """How many entries are read at once: few enough that all workers have some, and enough to be worth a reader."""
        messages = entries * per_entry
        wanted = self.split_messages or min(max(messages / _SPLITS, _FEWEST), _MOST)
        return max(1, round(min(wanted / per_entry, max(1.0, _SPLIT_BYTES / max(1.0, bytes_per_entry)))))


@dataclass(frozen=True, slots=True)
class _Told:
    """What the broker tells of all partitions at once; of one that is not among them it is asked by itself."""

    count: int
    all_stats: Mapping[str, TopicStats] = field(default_factory=dict)
    creations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, admin: Admin, topic: Topic, count: int) -> "_Told":
        """Two answers instead of two for each partition. Where they cannot be had, nothing is lost but time."""
        all_stats: Mapping[str, TopicStats] = {}
        creations: Mapping[str, str] = {}
        if count > 1:
            with suppress(SourceError):
                all_stats = admin.all_stats(topic)
                creations = admin.creations(topic) if len(all_stats) == count else {}
        return cls(count, all_stats, creations)


@dataclass(frozen=True, slots=True)
class _Part:
    """A partition when the plan is made; no span where it has nothing to read."""

    name: str
    span: Span | None = None
    stats: TopicStats | None = None


def _probed(spans: Sequence[Span]) -> list[tuple[str, Position]]:
    """Entries evenly spread over all of them."""
    entries = sum(span.entries for span in spans)
    step = max(1, entries // _PROBES)
    pieces = [(span.topic, piece[0]) for span in spans for piece in cut(span.entry_ranges, step)]
    found = [(topic, Position(begin.ledger, begin.first)) for topic, begin in pieces]
    return found[:: max(1, len(found) // _PROBES)][:_PROBES]


def _messages_per_entry(admin: Admin, spans: Sequence[Span]) -> float:
    """About how many, from a few entries here and there: nobody tells how large batches are.

    The median: one batch that is huge must not have the others be taken for huge, and a sample leave nearly all out.
    """
    found = [size for topic, at in _probed(spans) if (size := reader.batch_size(admin, topic, at))]
    return float(median(found)) if found else 1.0


def _bytes_per_entry(parts: "Sequence[_Part]") -> float:
    all_stats = [part.stats for part in parts if part.stats is not None]
    return sum(each.bytes for each in all_stats) / max(1, sum(each.entries for each in all_stats))


def _partition(topic: Topic, span: Span) -> Topic:
    """The partition by its parts, for the admin API."""
    local = span.topic.rpartition("/")[2]
    return Topic(topic.tenant, topic.namespace, local)
