"""What a run counts: exact figures in bounded memory, that can be put together in any order.

A tally of all messages and the merged tallies of any parts of them are the same, byte for byte.
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
"""How many examples a reason has at most; the report shows as many of all."""
UNKNOWN_WRITER: Final = -3
"""The writer, in tables, of messages whose version the question does not have."""
MAX_UNKNOWN_VERSIONS: Final = 100
"""How many of these versions are told apart: those of the smallest numbers."""
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
class Example:
    """An invalid message. The order is that of `rank`, a hash of the seed and of where the message is."""

    rank: int
    place: tuple[int, int, int, int]
    """Partition, ledger, entry, index within the batch."""
    writer: int
    publish_time: int
    reason: str
    path: str
    offset: int
    value: str | None = None


@dataclass(slots=True)
class Times:
    """How many messages there are, and the publish times of the oldest and the newest; -1 where none has one."""

    messages: int = 0
    oldest: int = NO_TIME
    newest: int = NO_TIME

    def merge(self, messages: int, oldest: int, newest: int) -> None:
        """Count more."""
        self.messages += messages
        known = [each for each in (self.oldest, oldest) if each != NO_TIME]
        self.oldest = min(known, default=NO_TIME)
        self.newest = max(self.newest, newest)


class Tally:
    """The figures.

    `findings` are by (reason, path, writer, partition, hour), `traffic` of all messages judged by (writer, partition,
    hour), `losses` by (kind, path, writer). `skipped` are messages that the sample left out, `old` those of them that
    are older than it wants, `gone` those that were removed before they could be read; `withheld` are entries of which
    no reader is sent a message.
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
        self.examples: dict[str, list[Example]] = {}

    @property
    def drawable(self) -> int:
        """How many messages the sample could have taken: all that are young enough."""
        return self.messages + self.skipped - self.old

    def count_writer(self, writer: int, messages: int, oldest: int, newest: int) -> None:
        """Count messages of a version that the question has, or of UNKNOWN_WRITER."""
        self.writers.setdefault(writer, Times()).merge(messages, oldest, newest)

    def count_unknown_version(self, version: int, messages: int) -> None:
        """Count messages of a version that the question does not have, of the smallest such versions."""
        self.unknown_versions[version] = self.unknown_versions.get(version, 0) + messages
        if len(self.unknown_versions) > MAX_UNKNOWN_VERSIONS:
            del self.unknown_versions[max(self.unknown_versions)]

    def rank_bound(self, reason: str) -> int | None:
        """The rank that an example of this reason must be below; None where any is taken."""
        kept = self.examples.get(reason, [])
        return kept[-1].rank if len(kept) == EXAMPLES else None

    def keep(self, examples: Iterable[Example]) -> None:
        """Keep those that rank first of their reason."""
        for each in examples:
            kept = self.examples.setdefault(each.reason, [])
            kept.append(each)
        for reason, kept in self.examples.items():
            self.examples[reason] = sorted(kept)[:EXAMPLES]

    def merge(self, other: "Tally") -> "Tally":
        """This tally, with the other's figures counted, too."""
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
            self.keep(examples)
        return self

    @property
    def packed(self) -> bytes:
        """The figures as bytes, the same for the same figures."""
        return zlib.compress(json.dumps(self._members(), separators=(",", ":"), sort_keys=True).encode(), 1)

    @classmethod
    def unpacked(cls, packed: bytes) -> "Tally":
        """The tally that `packed` says."""
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
        tally.keep(Example(rank, tuple(place), *rest) for rank, place, *rest in members["examples"])
        return tally

    @property
    def tables(self) -> tuple[Rollup, ...]:
        """What is counted by key."""
        return self.findings, self.traffic, self.losses

    def _members(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in _NUMBERS} | {
            "tolerated": sorted(self.tolerated),
            "tables": [(each.level, sorted(each.counts.items())) for each in self.tables],
            "writers": [
                (writer, each.messages, each.oldest, each.newest) for writer, each in sorted(self.writers.items())
            ],
            "unknown_versions": sorted(self.unknown_versions.items()),
            "examples": [_row(each) for _, kept in sorted(self.examples.items()) for each in kept],
        }


def _row(example: Example) -> tuple[Any, ...]:
    return tuple(getattr(example, each.name) for each in fields(example))


_NUMBERS: Final = ("messages", "invalid", "skipped", "old", "gone", "withheld")
