"""SchemaStorage: the interface of every store of schema histories, with the rules for all of them.

* An unknown topic is an empty history with revision "".
* A history changes by compare-and-swap only: ConflictError if it changed since it was read. The loser reads and judges
  again.
* A payload is written before the history that names it, never changed, and counts only once a history names it. So a
  crash between the two loses nothing: a retry reuses its payload.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from topicschema.core.history import History, VersionEntry
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, TopicKey


@dataclass(frozen=True, slots=True)
class Stored:
    """A history as it was read. `revision` is opaque, equal only while nothing changes, "" if nothing is stored."""

    history: History
    revision: str = ""


class SchemaStorage(Protocol):
    """Store of histories and their payloads. All methods may raise WaitingError if the store is unreachable."""

    async def get_history(self, key: TopicKey) -> Stored:
        """Return the topic's current history, never from a cache.

        Raises StalledError(RecordDamaged) if it cannot be read.
        """

    async def keep(self, history: History, versions: Sequence[tuple[VersionEntry, SchemaInfo]]) -> None:
        """Write contents of entries of `history`, before `put` stores it. They count once it is stored.

        Use it for histories whose contents do not fit in memory together.
        """

    async def announce(self, history: History, payload: SchemaInfo, source_hash: str | None = None) -> None:
        """Write the content of the newest entry of `history` before its upload to a broker, and mark it as announced.

        If this process ends before the entry is stored, its successor learns from `is_announced` whose version
        that is. A later `put` of the entry does not need the content again.
        """

    async def is_announced(self, history: History, payload: SchemaInfo) -> bool:
        """Return True if the content was announced as the version that follows `history`."""

    async def put(
        self, stored: Stored, history: History, payloads: Sequence[SchemaInfo] = (), source_hash: str | None = None
    ) -> Stored:
        """Write `payloads` and then `history` over `stored`, and return the new state.

        `payloads` are the contents of the newest entries, oldest first. Tombstones have none, and those of earlier
        entries are already stored. `source_hash` is the hash of the sources that the newest was compiled from, for
        people to read.

        Raises ConflictError if the history changed since `stored` was read. Raises ValueError if history, payloads and
        `stored` do not belong together.
        """

    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        """Return the payload of a version that the history names. It may be cached, because payloads are immutable.

        Raises StalledError(RecordDamaged) if it is gone or differs, ConflictError if it is gone because the history
        changed.
        """

    async def delete(self, stored: Stored) -> None:
        """Remove the history, then its payloads. Raises ConflictError if it changed. A missing one is no error."""

    async def history_names(self, key: PulsarNamespaceKey) -> tuple[str, ...]:
        """Return the names of the histories of a Pulsar namespace, in order. A history may have a megabyte."""

    async def read_history(self, key: PulsarNamespaceKey, name: str) -> Stored | None:
        """Return the history of that name, or None if it is gone, damaged, or of another Pulsar namespace."""


def check_put(stored: Stored, history: History, payloads: Sequence[SchemaInfo]) -> None:
    """Raise ValueError if the arguments of `put` can never be right: a bug in the caller."""
    if history.key != stored.history.key:
        raise ValueError("a history cannot replace another topic's")
    written = tuple(entries_of(history, payloads))
    if len(written) != len(payloads):
        raise ValueError("the payloads are not the contents of the history's newest entries")
    check_contents(written)


def check_contents(versions: Iterable[tuple[VersionEntry, SchemaInfo]]) -> None:
    """Raise ValueError if a payload is not its entry's content: a bug in the caller."""
    if any(entry.content_hash != payload.content_hash for entry, payload in versions):
        raise ValueError("the payloads are not the contents of the history's newest entries")


def entries_of(history: History, payloads: Sequence[SchemaInfo]) -> Iterator[tuple[VersionEntry, SchemaInfo]]:
    """Yield each payload that is put with the history, with its entry."""
    entries = [entry for entry in history.entries if not entry.is_tombstone]
    return zip(entries[max(0, len(entries) - len(payloads)) :], payloads, strict=False)


def is_of(key: TopicKey, pulsar_namespace: PulsarNamespaceKey) -> bool:
    """Return True if the topic belongs to that Pulsar namespace of that Pulsar cluster."""
    return pulsar_namespace == PulsarNamespaceKey(key.pulsar_cluster, key.topic.tenant, key.topic.namespace)
