"""Plan of a read: the partitions of the selected topics, and spans of them that Spark's tasks read."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import InputPartition

from topicschema.core.schemas import PulsarVersion
from topicschema.core.topics import PulsarNamespaceKey, Topic
from topicschema.spark.options import TopicSelection
from topicschema.validation.errors import SourceError
from topicschema.validation.sources.pulsar import partitions
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.partitions import Partition
from topicschema.validation.sources.pulsar.ranges import EntryRange, Span, cut

if TYPE_CHECKING:
    from topicschema.spark.reading import RowSource

_FEWEST_BYTES: Final = 4 << 20
"""Minimum bytes of a task, if there are several. Smaller ones cost more to start than to read."""
_SPAN_BYTES: Final = 1 << 20
"""Bytes that a task reads in the time that it takes to begin with a span: a connection, and the schema versions."""


@dataclass(frozen=True, slots=True)
class SelectedPartition:
    """A partition of a selected topic, or a topic without partitions."""

    topic: Topic
    is_partitioned: bool
    partition: Partition

    @property
    def bytes_per_entry(self) -> float:
        """Average stored bytes of an entry."""
        stats = self.partition.stats
        return 0.0 if stats is None else stats.bytes / max(1, stats.entries)


@dataclass(frozen=True, slots=True)
class TaskSpan:
    """Entries of a partition that one reader reads, without messages before `since` or from `until` on.

    Both are milliseconds since 1970. `bytes` is about the stored size. `reader_version` is the topic's current schema
    version if the messages are read with it. In an audit, `candidate` is the identity of that schema, and `rules` the
    Pulsar version whose rules apply.
    """

    topic: str
    is_partitioned: bool
    positions: Span
    bytes: float
    since: int | None = None
    until: int | None = None
    reader_version: int | None = None
    candidate: str = ""
    rules: PulsarVersion | None = None

    @property
    def parsed_topic(self) -> Topic:
        """The topic by its parts."""
        return parsed(self.topic)

    @property
    def parsed_partition(self) -> Topic:
        """The partition as a topic, for the admin API."""
        return parsed(self.positions.topic)


def selected(admin: Admin, selection: TopicSelection, *, must_exist: bool) -> Iterator[SelectedPartition]:
    """Yield the partitions of the selected topics, by name.

    With `must_exist`, it raises SourceError for a named topic that does not exist.
    """
    for topic, count in _topics(admin, selection, must_exist=must_exist):
        for each in partitions.partitions(admin, topic, count):
            yield SelectedPartition(topic, count > 0, each)


def _topics(admin: Admin, selection: TopicSelection, *, must_exist: bool) -> Iterator[tuple[Topic, int]]:
    """Yield the topics with their numbers of partitions."""
    for topic, is_partitioned in listed(admin, selection):
        count = 0 if is_partitioned is False else admin.partitions(topic)
        if count is not None:
            yield topic, count
        elif must_exist and topic in selection.topics:
            raise SourceError("the topic does not exist", f"persistent://{topic}")


def listed(admin: Admin, selection: TopicSelection) -> Iterator[tuple[Topic, bool | None]]:
    """Yield the selected topics, and whether each is partitioned. None is unknown: the selection names the topic.

    Raises SourceError if the broker does not list the topics of a namespace.
    """
    for topic in selection.topics:
        yield topic, None
    for namespace in selection.namespaces:
        yield from _of_namespace(admin, namespace, re.compile(selection.pattern))


def _of_namespace(
    admin: Admin, namespace: PulsarNamespaceKey, pattern: re.Pattern[str]
) -> Iterator[tuple[Topic, bool]]:
    for local_name, is_partitioned in sorted(admin.topics(namespace).items()):
        if pattern.fullmatch(local_name):
            yield Topic(namespace.tenant, namespace.namespace, local_name), is_partitioned


def tasks(source: "RowSource", now: int) -> list[InputPartition]:
    """Return the tasks for all messages that the selected topics have at `now`, in milliseconds since 1970.

    Raises SourceError if the broker does not answer, or a named topic does not exist.
    """
    options = source.options
    since, until = (None if each is None else each.at(now) for each in (options.since, options.until))
    with Admin(options.pulsar) as admin:
        spans = [
            span
            for each in selected(admin, options.selection, must_exist=True)
            if (span := span_of(admin, each, each.partition.between(admin, since, until), (since, until)))
        ]
        return packed(source.planned(admin, spans), options.max_bytes_per_partition)


def span_of(
    admin: Admin,
    selected: SelectedPartition,
    entry_ranges: tuple[EntryRange, ...],
    times: tuple[int | None, int | None] = (None, None),
) -> TaskSpan | None:
    """Return the span of these entries. Return None if there are none."""
    if not entry_ranges:
        return None
    positions = selected.partition.span(admin, entry_ranges)
    size = positions.entries * selected.bytes_per_entry
    return TaskSpan(f"persistent://{selected.topic}", selected.is_partitioned, positions, size, *times)


def packed(spans: Sequence[TaskSpan], most: int) -> list[InputPartition]:
    """Return tasks of at most about `most` bytes. Large spans are cut, and small ones share tasks.

    There are as few as keep the cores of this machine busy, because each takes time to start. The value of a task is a
    tuple of spans, which it reads one after the other.
    """
    total = sum(each.bytes + _SPAN_BYTES for each in spans)
    size = max(1.0, min(most, max(total / (os.cpu_count() or 1), _FEWEST_BYTES)))
    small = [smaller for each in spans for smaller in _cut(each, size)]
    numbers = _task_numbers(small, size)
    grouped = groupby(zip(numbers, small, strict=True), key=lambda each: each[0])
    return [InputPartition(tuple(span for _, span in group)) for _, group in grouped]


def _cut(span: TaskSpan, size: float) -> Iterator[TaskSpan]:
    if span.bytes <= size:
        yield span
        return
    per_entry = span.bytes / span.positions.entries
    entries = max(1, ceil(size / per_entry))
    for entry_ranges in cut(span.positions.entry_ranges, entries):
        positions = replace(span.positions, entry_ranges=entry_ranges)
        yield replace(span, positions=positions, bytes=positions.entries * per_entry)


def _task_numbers(spans: Iterable[TaskSpan], size: float) -> Iterator[int]:
    """Yield the number of the task for each span, in order."""
    number, full = 0, 0.0
    for each in spans:
        if full and full + each.bytes > size:
            number, full = number + 1, 0.0
        full += each.bytes + _SPAN_BYTES
        yield number


def parsed(name: str) -> Topic:
    """Return the topic of a full name, also that of a partition."""
    tenant, namespace, local_name = name.removeprefix("persistent://").split("/", 2)
    return Topic(tenant, namespace, local_name)
