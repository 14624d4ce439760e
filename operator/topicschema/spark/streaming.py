"""Stream of `pulsar-messages`. An offset is the last read entry of each partition: `{"persistent://...": "12:34"}`.

With the option `since`, it also has that time as it was when the query began: `{"since": "1764331200000"}`.
"""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from typing_extensions import override

from topicschema.spark import planning
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.options import ReadOptions
from topicschema.spark.planning import SelectedPartition, TaskSpan
from topicschema.validation.errors import SourceError
from topicschema.validation.run import spark_worker
from topicschema.validation.sources.pulsar import ranges
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.ranges import EntryRange, Position

if TYPE_CHECKING:
    from topicschema.spark.reading import RowSource

Offset = dict[str, str]
_SINCE: Final = "since"
_POLL_SECONDS: Final = 1.0
"""Minimum time between two requests for the end of all topics. Spark would request it 100 times a second."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader of the messages that topics receive, from the oldest or from `since` on.

    Topics and partitions that are created later are read from their first message. With a checkpoint, a query continues
    after the last entry that it has read.
    """

    def __init__(self, source: "RowSource") -> None:
        if source.options.until is not None:
            raise InvalidOptionError("option until: a stream has no end. Use spark.read, or leave until out")
        self._source = source
        self._options = source.options
        self._partitions: Mapping[str, SelectedPartition] = {}
        self._requested_at = float("-inf")
        self._is_fixed = False

    @override
    def initialOffset(self) -> Offset:
        """Return the offset before the first entry of all topics."""
        return {}

    @override
    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a micro-batch."""
        return read_limit(self._options)

    @override
    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the end of the query at the current end of all topics."""
        self._request()
        self._is_fixed = True

    @override
    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return the offset up to which the next micro-batch reads.

        A partition that was deleted keeps its offset. With failOnDataLoss, it raises SourceError.
        """
        if not self._is_fixed and time.monotonic() - self._requested_at >= _POLL_SECONDS:
            self._request()
        missing = sorted(start.keys() - self._partitions.keys() - {_SINCE})
        if missing and self._options.fails_on_data_loss:
            raise SourceError(
                "the topic was deleted since the last micro-batch. Set option failOnDataLoss to false to continue",
                missing[0],
            )
        since = self._since(start)
        unread = {name: self._unread(each, start.get(name), since) for name, each in self._partitions.items()}
        read_to = {
            name: str(end) for name, end in ends(self._partitions, unread, limit) if end > position_of(start.get(name))
        }
        begin = {_SINCE: str(since)} if read_to and since is not None else {}
        return start | read_to | begin

    @override
    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the tasks of a micro-batch. After a restart, they are those of the checkpoint's last one."""
        changed = {name: end[name] for name in end if end[name] != start.get(name) and name != _SINCE}
        if not changed:
            return []
        if changed.keys() - self._partitions.keys() and not self._is_fixed:
            self._request()
        since = self._since(end)
        with Admin(self._options.pulsar) as admin:
            spans = [
                self._span(admin, name, start.get(name), position_of(last), since) for name, last in changed.items()
            ]
            known = self._source.planned(admin, [each for each in spans if each is not None])
        return planning.packed(known, self._options.max_bytes_per_partition)

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        yield from self._source.rows(partition.value)
        spark_worker.settle()

    def _since(self, offset: Offset) -> int | None:
        """Return the time of the option `since` when the query began, in milliseconds since 1970, or None."""
        if self._options.since is None:
            return None
        return int(offset[_SINCE]) if _SINCE in offset else self._options.since.at(time.time_ns() // 1_000_000)

    def _unread(self, partition: SelectedPartition, start: str | None, since: int | None) -> tuple[EntryRange, ...]:
        """Return the entries of a partition after `start`. Without one, a query begins near `since`."""
        entry_ranges = after(partition, start)
        if start is not None or since is None or not entry_ranges:
            return entry_ranges
        with Admin(self._options.pulsar) as admin:
            young = partition.partition.between(admin, since, None)
        last = entry_ranges[-1]  # if all are too old, the offset still moves behind them
        first = Position(young[0].ledger, young[0].first) if young else Position(last.ledger, last.last)
        return ranges.since(entry_ranges, first)

    def _span(self, admin: Admin, name: str, start: str | None, end: Position, since: int | None) -> TaskSpan | None:
        """Return the entries of a partition after `start`, to `end`, without messages before `since`."""
        partition = self._partitions.get(name)
        if partition is None:
            if self._options.fails_on_data_loss:
                raise SourceError("the topic was deleted before its messages were read", name)
            return None
        entry_ranges = ranges.until(after(partition, start), end.following)
        if start is not None:
            return planning.span_of(admin, partition, entry_ranges, (since, None))
        return unread_span(admin, partition, entry_ranges, since)

    def _request(self) -> None:
        """Request the current content of all topics."""
        with Admin(self._options.pulsar) as admin:
            all_selected = planning.selected(admin, self._options.selection, must_exist=False)
            self._partitions = {each.partition.name: each for each in all_selected}
        self._requested_at = time.monotonic()


def read_limit(options: ReadOptions) -> ReadLimit:
    """Return the limit of a micro-batch."""
    limit = options.max_bytes_per_trigger
    return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)


def unread_span(
    admin: Admin, partition: SelectedPartition, entry_ranges: tuple[EntryRange, ...], since: int | None
) -> TaskSpan | None:
    """Return the span of these entries without messages before `since`, in milliseconds since 1970.

    Return None if there are none.
    """
    if since is None or not entry_ranges:
        return planning.span_of(admin, partition, entry_ranges)
    young = partition.partition.between(admin, since, None)
    last = Position(entry_ranges[-1].ledger, entry_ranges[-1].last)
    first = Position(young[0].ledger, young[0].first) if young else last.following
    return planning.span_of(admin, partition, ranges.since(entry_ranges, first), (since, None))


def ends(
    partitions: Mapping[str, SelectedPartition], unread: Mapping[str, tuple[EntryRange, ...]], limit: ReadLimit
) -> Iterator[tuple[str, Position]]:
    """Yield the last entry to read of each partition with unread entries.

    If they have more bytes than the limit, each partition has the same share of its entries read, and at least one.
    """
    share = 1.0
    if isinstance(limit, ReadMaxBytes):
        size = sum(_entries(unread[name]) * each.bytes_per_entry for name, each in partitions.items())
        share = min(1.0, limit.max_bytes / max(1.0, size))
    for name, entry_ranges in unread.items():
        if entry_ranges:
            first, *_ = ranges.cut(entry_ranges, max(1, round(_entries(entry_ranges) * share)))
            yield name, Position(first[-1].ledger, first[-1].last)


def after(selected: SelectedPartition, offset: Any) -> tuple[EntryRange, ...]:
    """Return the entries of a partition after an offset."""
    return ranges.since(selected.partition.known, position_of(offset).following)


def _entries(entry_ranges: tuple[EntryRange, ...]) -> int:
    return sum(each.entries for each in entry_ranges)


def position_of(offset: str | None) -> Position:
    """Return the position of an offset, before all entries without one."""
    return Position(-1, -1) if offset is None else Position.parse(offset)
