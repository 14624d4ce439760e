"""SchemaStorage: what the product asks of any place that keeps schema histories. The rules stand here, once.

* An unknown topic is an empty history with revision "".
* A history changes by compare-and-swap only: ConflictError when it moved since it was read; the loser reads and judges
  again.
* A payload is written before the history that names it, never changed, and counts only once a history names it. So a
  crash between the two costs nothing: the same call again finds its payload and goes on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from topicschema.core.history import History, VersionEntry
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, TopicKey


@dataclass(frozen=True, slots=True)
class Stored:
    """A history as it was read; `revision` is opaque, equal only while nothing changed, "" when nothing is stored."""

    history: History
    revision: str = ""


class SchemaStorage(Protocol):
    """Keeps histories and their payloads. All methods may raise WaitingError when the place behind is away."""

    async def get_history(self, key: TopicKey) -> Stored:
        """The topic's history as it is now, never from a cache. StalledError(RecordDamaged) when it cannot be read."""

    async def keep(self, history: History, versions: Sequence[tuple[VersionEntry, SchemaInfo]]) -> None:
        """Write contents of entries of `history`, which is put before long: they count once it is there.

        For histories whose contents are too many to be in memory at once.
        """

    async def announce(self, history: History, payload: SchemaInfo, source_hash: str | None = None) -> None:
        """Write the content of the newest entry of `history`, which a broker is about to get, and say that it is.

        If this process ends before the entry is on record, `is_announced` tells another one whose version that is. A
        `put` of the entry does not need the content again.
        """

    async def is_announced(self, history: History, payload: SchemaInfo) -> bool:
        """Return True if the content was announced as the version that follows `history`."""

    async def put(
        self, stored: Stored, history: History, payloads: Sequence[SchemaInfo] = (), source_hash: str | None = None
    ) -> Stored:
        """What is stored when `payloads` and then `history` are written over `stored`.

        They are the contents of the newest entries, oldest first; tombstones have none, and those of entries before
        them are kept already. `source_hash`, of the sources that the newest was compiled from, is kept beside it for
        people to read. ConflictError when the history moved since `stored` was read. ValueError when history, payloads
        and `stored` do not belong together.
        """

    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        """The payload of a version that the history names.

        StalledError(RecordDamaged) when it is gone or differs; ConflictError when it is gone because the history moved
        on. One that was read before may be answered from memory: payloads are immutable.
        """

    async def delete(self, stored: Stored) -> None:
        """Remove the history, then its payloads; ConflictError when it moved. What is not there is not deleted."""

    async def history_names(self, key: PulsarNamespaceKey) -> tuple[str, ...]:
        """The names of the histories of all topics of a Pulsar namespace, in order. One history may have a megabyte."""

    async def read_history(self, key: PulsarNamespaceKey, name: str) -> Stored | None:
        """The history of that name; None when it is gone, damaged, or of another Pulsar namespace."""


def check_put(stored: Stored, history: History, payloads: Sequence[SchemaInfo]) -> None:
    """ValueError when `put` is asked for what could never be right; a bug in the caller."""
    if history.key != stored.history.key:
        raise ValueError("a history cannot replace another topic's")
    written = tuple(entries_of(history, payloads))
    if len(written) != len(payloads):
        raise ValueError("the payloads are not the contents of the history's newest entries")
    check_contents(written)


def check_contents(versions: Iterable[tuple[VersionEntry, SchemaInfo]]) -> None:
    """ValueError where a payload is not its entry's content; a bug in the caller."""
    if any(entry.content_hash != payload.content_hash for entry, payload in versions):
        raise ValueError("the payloads are not the contents of the history's newest entries")


def entries_of(history: History, payloads: Sequence[SchemaInfo]) -> Iterator[tuple[VersionEntry, SchemaInfo]]:
    """Each payload that is put with the history, beside the entry that it is the content of."""
    entries = [entry for entry in history.entries if not entry.is_tombstone]
    return zip(entries[max(0, len(entries) - len(payloads)) :], payloads, strict=False)


def is_of(key: TopicKey, pulsar_namespace: PulsarNamespaceKey) -> bool:
    """Whether the topic lies in that Pulsar namespace of that Pulsar cluster."""
    return pulsar_namespace == PulsarNamespaceKey(key.pulsar_cluster, key.topic.tenant, key.topic.namespace)
