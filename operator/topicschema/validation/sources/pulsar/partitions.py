"""Partitions of a topic with their current content, from which plans take spans."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from topicschema.core.topics import Topic
from topicschema.validation.errors import SourceError
from topicschema.validation.sources.pulsar import ranges
from topicschema.validation.sources.pulsar.admin import Admin, TopicStats
from topicschema.validation.sources.pulsar.ranges import EntryRange, Span

_SKEW: Final = 600_000
"""Milliseconds before and after a time that are read, too.

Pulsar searches for a time by bisection, as if publish times only increased. But they come from producers' clocks.
"""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition, or a topic without partitions, at the time of the plan.

    `name` is its full name, and `number` is 0 for a topic without partitions. `stats` is None if it does not exist,
    because partitions are created at first use. `created` is None if it was not requested yet, and "" if it is unknown.
    """

    topic: Topic
    name: str
    number: int
    stats: TopicStats | None
    created: str | None = None

    @property
    def known(self) -> tuple[EntryRange, ...]:
        """All entries. The last one is the end of the plan."""
        return () if self.stats is None else self.stats.known

    def between(self, admin: Admin, since: int | None, until: int | None) -> tuple[EntryRange, ...]:
        """Return the entries that may have messages from `since` to before `until`, in milliseconds since 1970.

        The limits are approximate: earlier and later messages are among them.
        """
        known = self.known
        if known and since is not None:
            begins = admin.at(self.topic, max(0, since - _SKEW))
            known = known if begins is None else ranges.since(known, begins)
        if known and until is not None:
            ends = admin.at(self.topic, until + _SKEW)
            known = known if ends is None else ranges.until(known, ends)
        return known

    def span(self, admin: Admin, entry_ranges: tuple[EntryRange, ...]) -> Span:
        """Return the span of these entries."""
        created = admin.created(self.topic) if self.created is None else self.created
        return Span(self.name, self.number, entry_ranges, created=created)


def partitions(admin: Admin, topic: Topic, count: int) -> tuple[Partition, ...]:
    """Return the partitions of a topic with `count` of them. 0 is a topic without partitions."""
    all_stats, creations = _of_all(admin, topic, count)
    result = []
    for number in range(max(1, count)):
        local_name = f"{topic.local_name}-partition-{number}" if count else topic.local_name
        partition = Topic(topic.tenant, topic.namespace, local_name)
        name = f"persistent://{partition}"
        stats = all_stats.get(name) or admin.stats(partition)
        result.append(Partition(partition, name, number, stats, creations.get(name)))
    return tuple(result)


def _of_all(admin: Admin, topic: Topic, count: int) -> tuple[Mapping[str, TopicStats], Mapping[str, str]]:
    """Return the stats and creation times of all partitions, from two requests.

    If the requests fail, they are empty, and each partition needs requests of its own.
    """
    all_stats: Mapping[str, TopicStats] = {}
    creations: Mapping[str, str] = {}
    if count > 1:
        with suppress(SourceError):
            all_stats = admin.all_stats(topic)
            creations = admin.creations(topic) if len(all_stats) == count else {}
    return all_stats, creations
