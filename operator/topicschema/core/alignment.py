"""Where a topic's record and its broker differ, and what follows: the broker counts, the record copies.

Pure comparison of values. `reconcile.topicschema.broker_fetch` reads the broker, `plan` decides the next action. The
rules of numbers and tombstones are Pulsar's (SchemaRegistryServiceImpl, BookkeeperSchemaStorage; docs/broker.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from topicschema.core.history import Counter, History, Origin, VersionEntry
from topicschema.core.schemas import SchemaType, fingerprint_of_bytes

_NOTHING = fingerprint_of_bytes(SchemaType.NONE, b"")


@dataclass(frozen=True, slots=True)
class BrokerVersions:
    """What a broker shows of a topic: all numbers it ever gave, and the versions that it still serves, oldest first.

    It serves what came after the newest tombstone, and nothing of what came before. Versions below `floor` were not
    asked for: the one at `floor` is the proof that they are what they were.
    """

    index: tuple[int, ...] = ()
    versions: tuple[VersionEntry, ...] = ()
    floor: int = 0

    @property
    def tombstone(self) -> int | None:
        """The number of the newest tombstone, None where there is none at or above the floor."""
        served = {each.schema_version for each in self.versions}
        hidden = (number for number in reversed(self.index) if number not in served and number >= self.floor)
        return next(hidden, None)

    @property
    def served(self) -> tuple[VersionEntry, ...]:
        """The versions after the newest tombstone; one that was read just before it came does not count."""
        tombstone = self.tombstone
        if tombstone is None:
            return self.versions
        return tuple(each for each in self.versions if each.schema_version > tombstone)


@dataclass(frozen=True, slots=True)
class InSync:
    """The record tells what the broker has."""


@dataclass(frozen=True, slots=True)
class HistoryBehind:
    """The broker has what the record lacks: `history` is the record as it should be, but for its claim.

    `arrived` are the versions among it that are new on record. `is_recount` tells a new incarnation: nothing is part of
    it that was registered without a broker and is not there, and all of its versions have arrived.
    """

    history: History
    arrived: tuple[VersionEntry, ...] = ()
    is_recount: bool = False


@dataclass(frozen=True, slots=True)
class HistoryAhead:
    """The broker lacks the newest versions on record, which were registered while there was no broker: oldest first."""

    missing: tuple[VersionEntry, ...]


@dataclass(frozen=True, slots=True)
class HistoryLost:
    """The broker no longer has what it once counted; `why` continues "the broker ..."."""

    why: str


Alignment = InSync | HistoryBehind | HistoryAhead | HistoryLost


def agrees(history: History, latest: VersionEntry) -> bool:
    """Whether the broker's newest version alone tells that nothing has changed.

    The time is part of it: a broker that lost its versions and got the same text anew has another.
    """
    if not history.entries or len(history.counted) < len(history.entries):
        return False
    newest = history.entries[-1]
    is_same = newest.sign == latest.sign and newest.registered_at == latest.registered_at
    return is_same and not newest.is_tombstone


def align(history: History, broker: BrokerVersions, now: str) -> Alignment:
    """What the record lacks, or the broker; `now` is the time of a tombstone found, for the broker tells none."""
    counted, tail = history.counted, history.entries[len(history.counted) :]
    why = _lost(counted, broker)
    if why is not None:
        return HistoryLost(why)
    buried, arrived = _beyond(counted, broker, now)
    if tail and (buried or not _begin_alike(tail, arrived)):
        return _recounted(history, (*_timed(counted, broker.served), *buried, *arrived))
    if len(arrived) < len(tail):
        return HistoryAhead(tail[len(arrived) :])
    fresh = arrived[len(tail) :]
    kept = _timed((*counted, *tail), broker.served)
    entries = (*kept, *buried, *fresh)
    if entries == history.entries and not tail:
        return InSync()
    return HistoryBehind(_counted(history, entries), fresh)


def grown(history: History, version: VersionEntry) -> HistoryBehind:
    """The record with the version that the broker has just added to it."""
    return HistoryBehind(_counted(history, (*history.entries, version)), (version,))


def _beyond(
    counted: Sequence[VersionEntry], broker: BrokerVersions, now: str
) -> tuple[tuple[VersionEntry, ...], tuple[VersionEntry, ...]]:
    """What the broker has after the versions that it counted for the record: its newest tombstone, what it serves."""
    start, tombstone = counted[-1].schema_version if counted else -1, broker.tombstone
    buried = (_tombstone(tombstone, now),) if tombstone is not None and tombstone > start else ()
    return buried, tuple(each for each in broker.served if each.schema_version > start)


def _lost(counted: Sequence[VersionEntry], broker: BrokerVersions) -> str | None:
    if not counted:
        return None
    if not broker.index:
        return "has no schema of it any more"
    served = {each.schema_version: each for each in broker.served}
    numbers, tombstone = served.keys() | set(broker.index), broker.tombstone
    for entry in counted:
        number = entry.schema_version
        if number not in numbers:
            return f"no longer has version {number}"
        there = served.get(number)
        if (there is None and number == tombstone and not entry.is_tombstone) or (
            there is not None and (entry.is_tombstone or there.content_hash != entry.content_hash)
        ):
            return f"has something else as version {number}"
    return _skipped(counted, served)


def _skipped(counted: Sequence[VersionEntry], served: Mapping[int, VersionEntry]) -> str | None:
    known = {entry.schema_version for entry in counted}
    newest = counted[-1].schema_version
    skipped = next((number for number in served if number < newest and number not in known), None)
    return None if skipped is None else f"has a version {skipped} that was not there before"


def _begin_alike(some: Sequence[VersionEntry], others: Sequence[VersionEntry]) -> bool:
    """Whether the shorter of the two is how the longer begins, by number and content."""
    return all(one.sign == other.sign for one, other in zip(some, others, strict=False))


def _timed(entries: Sequence[VersionEntry], served: Sequence[VersionEntry]) -> tuple[VersionEntry, ...]:
    """The entries with the broker's times, where it serves them."""
    times = {each.schema_version: each.registered_at for each in served}
    return tuple(
        replace(entry, registered_at=times.get(entry.schema_version, entry.registered_at)) for entry in entries
    )


def _recounted(history: History, entries: tuple[VersionEntry, ...]) -> HistoryBehind:
    """A new incarnation of all that a broker counted, hidden or not: its versions need payloads of their own."""
    fresh = replace(history, incarnation=history.incarnation + 1)
    arrived = tuple(each for each in entries if not each.is_tombstone)
    return HistoryBehind(_counted(fresh, entries), arrived, is_recount=True)


def _counted(history: History, entries: tuple[VersionEntry, ...]) -> History:
    return replace(history, entries=entries, counted_by=Counter.BROKER, uncounted=0)


def _tombstone(number: int, now: str) -> VersionEntry:
    return VersionEntry(number, SchemaType.NONE, _NOTHING, _NOTHING, Origin.BROKER, now, is_tombstone=True)
