"""Tally of a run: exact figures in bounded memory that can be merged in any order.

A tally of all messages equals the merged tallies of any parts of them, byte for byte.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from topicschema.payload.columnar.verdicts import ELSEWHERE
from topicschema.validation.report.bounded_counter import ANY, DAY, MONTH, Rollup, dropped, hours_of
from topicschema.validation.run.batches import NO_TIME

EXAMPLES: Final = 10
"""Maximum number of examples of a reason, and of examples in the report."""
UNKNOWN_WRITER: Final = -3
"""Writer in tables for messages whose schema version is not in the request."""
MAX_UNKNOWN_VERSIONS: Final = 100
"""Maximum number of these versions that are listed, the lowest first."""
_FINDING_STEPS: Final = (
    hours_of(4, DAY),
    dropped(3, ANY),
    hours_of(4, MONTH),
    dropped(1, ELSEWHERE),
    dropped(4, ANY),
    dropped(2, ANY),
)
_TRAFFIC_STEPS: Final = (hours_of(2, DAY), dropped(1, ANY), hours_of(2, MONTH), dropped(2, ANY))
_LOSS_STEPS: Final = (dropped(1, ELSEWHERE), dropped(2, ANY))


@dataclass(frozen=True, slots=True, order=True)
class MessageExample:
    """An invalid message, ordered by `rank`, a hash of the seed and the message's location."""

    rank: int
    place: tuple[int, int, int, int]
    """Partition, ledger, entry, index within the batch."""
    writer: int
    publish_time: int
    reason: str
    path: str
    offset: int
    value: str | None = None
    format: str | None = None
    """The other format that the bytes begin like."""


@dataclass(slots=True)
class Times:
    """Number of messages, and the publish times of the oldest and the newest. -1 is no publish time."""

    messages: int = 0
    oldest: int = NO_TIME
    newest: int = NO_TIME

    def merge(self, messages: int, oldest: int, newest: int) -> None:
        """Add the figures of more messages."""
        self.messages += messages
        known = [each for each in (self.oldest, oldest) if each != NO_TIME]
        self.oldest = min(known, default=NO_TIME)
        self.newest = max(self.newest, newest)


class Tally:
    """Figures of a run.

    `findings` are counted by (reason, path, writer, partition, hour), `traffic` of all validated messages by (writer,
    partition, hour), `losses` by (kind, path, writer). `skipped` counts messages outside the sample, and `old` those of
    them that are too old for it. `gone` counts messages that were removed before they could be read. `withheld` counts
    entries of which the broker sends a reader no message.
    """

    __slots__ = (
        "examples",
        "findings",
        "gone",
        "invalid",
        "losses",
        "messages",
        "old",
        "skipped",
        "tolerated",
        "traffic",
        "unknown_versions",
        "withheld",
        "writers",
    )

    def __init__(self) -> None:
        self.messages = self.invalid = self.skipped = self.old = self.gone = self.withheld = 0
        self.findings = Rollup(_FINDING_STEPS)
        self.traffic = Rollup(_TRAFFIC_STEPS)
        self.losses = Rollup(_LOSS_STEPS)
        self.writers: dict[int, Times] = {}
        self.unknown_versions: dict[int, int] = {}
        self.tolerated: set[str] = set()
        self.examples: dict[str, list[MessageExample]] = {}

    @property
    def drawable(self) -> int:
        """Number of messages that are young enough for the sample."""
        return self.messages + self.skipped - self.old

    def count_writer(self, writer: int, messages: int, oldest: int, newest: int) -> None:
        """Count messages of a version of the request, or of UNKNOWN_WRITER."""
        self.writers.setdefault(writer, Times()).merge(messages, oldest, newest)

    def count_unknown_version(self, version: int, messages: int) -> None:
        """Count messages of a version that is not in the request. Only the lowest versions are retained."""
        self.unknown_versions[version] = self.unknown_versions.get(version, 0) + messages
        if len(self.unknown_versions) > MAX_UNKNOWN_VERSIONS:
            del self.unknown_versions[max(self.unknown_versions)]

    def rank_bound(self, reason: str) -> int | None:
        """Return the rank that an example of this reason must be below. Return None if any is accepted."""
        ranked = self.examples.get(reason, [])
        return ranked[-1].rank if len(ranked) == EXAMPLES else None

    def add_examples(self, examples: Iterable[MessageExample]) -> None:
        """Add the examples, and retain those with the lowest ranks of each reason."""
        for each in examples:
            self.examples.setdefault(each.reason, []).append(each)
        for reason, ranked in self.examples.items():
            self.examples[reason] = sorted(ranked)[:EXAMPLES]

    def merge(self, other: "Tally") -> "Tally":
        """Add the figures of the other tally, and return this one."""
        self.messages += other.messages
        self.invalid += other.invalid
        self.skipped += other.skipped
        self.old += other.old
        self.gone += other.gone
        self.withheld += other.withheld
        self.tolerated |= other.tolerated
        for mine, theirs in zip(self.tables, other.tables, strict=True):
            mine.merge(theirs.counts.items(), theirs.level)
        for writer, times in other.writers.items():
            self.count_writer(writer, times.messages, times.oldest, times.newest)
        for version, messages in other.unknown_versions.items():
            self.count_unknown_version(version, messages)
        for examples in other.examples.values():
            self.add_examples(examples)
        return self

    @property
    def packed(self) -> bytes:
        """The figures as bytes, the same for the same figures."""
        return zlib.compress(json.dumps(self._members(), separators=(",", ":"), sort_keys=True).encode(), 1)

    @classmethod
    def unpacked(cls, packed: bytes) -> "Tally":
        """Return the tally from its packed form."""
        members = json.loads(zlib.decompress(packed))
        tally = cls()
        for name in _NUMBERS:
            setattr(tally, name, members[name])
        tally.tolerated = set(members["tolerated"])
        for table, (level, rows) in zip(tally.tables, members["tables"], strict=True):
            table.merge(((tuple(key), count) for key, count in rows), level)
        for writer, messages, oldest, newest in members["writers"]:
            tally.count_writer(writer, messages, oldest, newest)
        tally.unknown_versions = dict(members["unknown_versions"])
        tally.add_examples(MessageExample(rank, tuple(place), *rest) for rank, place, *rest in members["examples"])
        return tally

    @property
    def tables(self) -> tuple[Rollup, ...]:
        """Tables that are counted by key."""
        return self.findings, self.traffic, self.losses

    def _members(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in _NUMBERS} | {
            "tolerated": sorted(self.tolerated),
            "tables": [(each.level, sorted(each.counts.items())) for each in self.tables],
            "writers": [
                (writer, each.messages, each.oldest, each.newest) for writer, each in sorted(self.writers.items())
            ],
            "unknown_versions": sorted(self.unknown_versions.items()),
            "examples": [_row(each) for _, ranked in sorted(self.examples.items()) for each in ranked],
        }


def _row(example: MessageExample) -> tuple[Any, ...]:
    return tuple(getattr(example, each.name) for each in fields(example))


_NUMBERS: Final = ("messages", "invalid", "skipped", "old", "gone", "withheld")
