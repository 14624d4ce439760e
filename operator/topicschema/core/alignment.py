"""Comparison of a topic's history with its broker. The broker assigns the version numbers, the history copies them.

The comparison is pure. `reconcile.topicschema.observe_broker` reads the broker, `plan` decides the next action. The
rules of numbers and tombstones are Pulsar's (SchemaRegistryServiceImpl, BookkeeperSchemaStorage; docs/broker.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from topicschema.core.history import History, NumberedBy, Origin, VersionEntry
from topicschema.core.schemas import SchemaType, fingerprint_of_bytes

_NOTHING = fingerprint_of_bytes(SchemaType.NONE, b"")


@dataclass(frozen=True, slots=True)
class BrokerVersions:
    """The broker's versions of a topic: all numbers it ever assigned, and the served versions.

    The versions are oldest first. The broker serves the versions after the newest tombstone and none before. The
    operator does not read versions below `floor`: the unchanged version at `floor` proves that they have not changed.
    """

    index: tuple[int, ...] = ()
    versions: tuple[VersionEntry, ...] = ()
    floor: int = 0

    @property
    def tombstone(self) -> int | None:
        """The number of the newest tombstone, or None if there is none at or above the floor."""
        served = {each.schema_version for each in self.versions}
        hidden = (number for number in reversed(self.index) if number not in served and number >= self.floor)
        return next(hidden, None)

    @property
    def served(self) -> tuple[VersionEntry, ...]:
        """The versions after the newest tombstone.

        A version that was read just before the tombstone was written is left out.
        """
        tombstone = self.tombstone
        if tombstone is None:
            return self.versions
        return tuple(each for each in self.versions if each.schema_version > tombstone)


@dataclass(frozen=True, slots=True)
class InSync:
    """The history equals the broker's versions."""


@dataclass(frozen=True, slots=True)
class HistoryBehind:
    """The broker has versions that the history lacks. `history` is the corrected history, except for its claim.

    `new_versions` are the versions that it adds. A new incarnation drops the versions that were registered without a
    broker and that the broker lacks. All of its versions are new then.
    """

    history: History
    new_versions: tuple[VersionEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryAhead:
    """The broker lacks the newest versions of the history, which were registered without a broker: oldest first."""

    missing: tuple[VersionEntry, ...]


@dataclass(frozen=True, slots=True)
class HistoryLost:
    """The broker no longer has versions that it numbered. `why` continues "the broker ..."."""

    why: str


Alignment = InSync | HistoryBehind | HistoryAhead | HistoryLost


def agrees(history: History, latest: VersionEntry) -> bool:
    """Return True if the broker's newest version alone proves that nothing has changed.

    The time is compared, too: if a broker lost its versions and got the same text again, its time differs.
    """
    if not history.entries or len(history.confirmed) < len(history.entries):
        return False
    newest = history.entries[-1]
    is_same = newest.identity == latest.identity and newest.registered_at == latest.registered_at
    return is_same and not newest.is_tombstone


def align(history: History, broker: BrokerVersions, now: str) -> Alignment:
    """Return what the history or the broker lacks.

    `now` is the time of a new tombstone, because the broker reports none.
    """
    confirmed, tail = history.confirmed, history.entries[len(history.confirmed) :]
    why = _lost(confirmed, broker)
    if why is not None:
        return HistoryLost(why)
    buried, new = _beyond(confirmed, broker, now)
    if tail and (buried or not _begin_alike(tail, new)):
        return _renumbered(history, (*_timed(confirmed, broker.served), *buried, *new))
    if len(new) < len(tail):
        return HistoryAhead(tail[len(new) :])
    fresh = new[len(tail) :]
    known = _timed((*confirmed, *tail), broker.served)
    entries = (*known, *buried, *fresh)
    if entries == history.entries and not tail:
        return InSync()
    return HistoryBehind(_numbered_by_broker(history, entries), fresh)


def grown(history: History, version: VersionEntry) -> HistoryBehind:
    """Return the history with the version that the broker has just added."""
    return HistoryBehind(_numbered_by_broker(history, (*history.entries, version)), (version,))


def _beyond(
    confirmed: Sequence[VersionEntry], broker: BrokerVersions, now: str
) -> tuple[tuple[VersionEntry, ...], tuple[VersionEntry, ...]]:
    """Return what the broker has after the versions that it numbered: its newest tombstone, and the served versions."""
    start, tombstone = confirmed[-1].schema_version if confirmed else -1, broker.tombstone
    buried = (_tombstone(tombstone, now),) if tombstone is not None and tombstone > start else ()
    return buried, tuple(each for each in broker.served if each.schema_version > start)


def _lost(confirmed: Sequence[VersionEntry], broker: BrokerVersions) -> str | None:
    if not confirmed:
        return None
    if not broker.index:
        return "has no schema of it any more"
    served = {each.schema_version: each for each in broker.served}
    numbers, tombstone = served.keys() | set(broker.index), broker.tombstone
    for entry in confirmed:
        number = entry.schema_version
        if number not in numbers:
            return f"no longer has version {number}"
        there = served.get(number)
        if (there is None and number == tombstone and not entry.is_tombstone) or (
            there is not None and (entry.is_tombstone or there.content_hash != entry.content_hash)
        ):
            return f"has something else as version {number}"
    return _skipped(confirmed, served)


def _skipped(confirmed: Sequence[VersionEntry], served: Mapping[int, VersionEntry]) -> str | None:
    known = {entry.schema_version for entry in confirmed}
    newest = confirmed[-1].schema_version
    skipped = next((number for number in served if number < newest and number not in known), None)
    return None if skipped is None else f"has a version {skipped} that was not there before"


def _begin_alike(some: Sequence[VersionEntry], others: Sequence[VersionEntry]) -> bool:
    """Return True if the shorter sequence is a prefix of the longer one, by number and content."""
    return all(one.identity == other.identity for one, other in zip(some, others, strict=False))


def _timed(entries: Sequence[VersionEntry], served: Sequence[VersionEntry]) -> tuple[VersionEntry, ...]:
    """Return the entries with the broker's times, for the versions that it serves."""
    times = {each.schema_version: each.registered_at for each in served}
    return tuple(
        replace(entry, registered_at=times.get(entry.schema_version, entry.registered_at)) for entry in entries
    )


def _renumbered(history: History, entries: tuple[VersionEntry, ...]) -> HistoryBehind:
    """Return a new incarnation of all versions that a broker numbered, hidden or not.

    They need payloads of their own.
    """
    fresh = replace(history, incarnation=history.incarnation + 1)
    new = tuple(each for each in entries if not each.is_tombstone)
    return HistoryBehind(_numbered_by_broker(fresh, entries), new)


def _numbered_by_broker(history: History, entries: tuple[VersionEntry, ...]) -> History:
    return replace(history, entries=entries, numbered_by=NumberedBy.BROKER, unconfirmed=0)


def _tombstone(number: int, now: str) -> VersionEntry:
    return VersionEntry(number, SchemaType.NONE, _NOTHING, _NOTHING, Origin.BROKER, now, is_tombstone=True)
