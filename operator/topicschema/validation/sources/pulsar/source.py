"""Source of a topic's messages: a plan of spans, each read by a reader of its own in any process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import pyarrow as pa

from topicschema.core.errors import StalledError
from topicschema.core.topics import Topic
from topicschema.validation.errors import SourceError
from topicschema.validation.request import PulsarSource
from topicschema.validation.sources import Expired, NotDelivered, Plan, Split
from topicschema.validation.sources.pulsar import reader
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.partitions import Partition, partitions
from topicschema.validation.sources.pulsar.ranges import Position, Span, cut
from topicschema.validation.sources.pulsar.reader import ReaderOptions

_PROBES: Final = 8
_SPLITS: Final = 16
_FEWEST: Final = 20_000
_MOST: Final = 500_000
_SPLIT_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class TopicMessages:
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
            all_partitions = partitions(admin, topic, count)
            is_none_there = all(each.stats is None for each in all_partitions)
            # Partitions may all be unused so far. The topic may also be deleted after the first request.
            if is_none_there and (not count or admin.partitions(topic) is None):
                return self._missing()
            return self._planned(admin, all_partitions)

    def _missing(self) -> Plan:
        return Plan(notes=(f"{self.topic} does not exist: it has no messages",), is_missing=True)

    def read(self, split: Split) -> Iterator[pa.RecordBatch | Expired | NotDelivered]:
        """Yield the messages of a split of `plan`, as in Source."""
        span: Span = split.what
        options = ReaderOptions(self.has_keys, self.timeout)
        with Admin(self.pulsar) as admin:
            yield from reader.read(admin, options, span, _partition(self._parsed(), span))

    def _parsed(self) -> Topic:
        try:
            return Topic.parse(self.topic)
        except StalledError as error:
            raise SourceError(error.message) from None

    def _planned(self, admin: Admin, all_partitions: Sequence[Partition]) -> Plan:
        names = tuple(each.name for each in all_partitions)
        known = [(each, each.between(admin, self.since, None)) for each in all_partitions]
        spans = [each.span(admin, entry_ranges) for each, entry_ranges in known if entry_ranges]
        entries = sum(span.entries for span in spans)
        if not entries:
            return Plan(names=names)
        per_entry = _messages_per_entry(admin, spans)
        bytes_per_entry = _bytes_per_entry(all_partitions)
        size = self._split_entries(entries, per_entry, bytes_per_entry)
        pieces = [
            Span(span.topic, span.partition, piece, per_entry, span.created)
            for span in spans
            for piece in cut(span.entry_ranges, size)
        ]
        splits = tuple(Split(piece, piece.messages) for piece in pieces)
        return Plan(splits, {span.topic: str(span.last) for span in spans}, names, bytes=entries * bytes_per_entry)

    def _split_entries(self, entries: int, per_entry: float, bytes_per_entry: float) -> int:
        """Return the number of entries of a split: small enough for all workers, and large enough for a reader."""
        messages = entries * per_entry
        messages_per_split = self.split_messages or min(max(messages / _SPLITS, _FEWEST), _MOST)
        return max(1, round(min(messages_per_split / per_entry, max(1.0, _SPLIT_BYTES / max(1.0, bytes_per_entry)))))


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


def _bytes_per_entry(all_partitions: Sequence[Partition]) -> float:
    all_stats = [each.stats for each in all_partitions if each.stats is not None]
    return sum(each.bytes for each in all_stats) / max(1, sum(each.entries for each in all_stats))


def _partition(topic: Topic, span: Span) -> Topic:
    """Return the partition as a Topic, for the admin API."""
    local = span.topic.rpartition("/")[2]
    return Topic(topic.tenant, topic.namespace, local)
