"""SchemaStorage: the interface of every store of histories, payloads and claims, with the rules for all of them.

* An unknown topic is an empty history with revision "", and an unknown claim is free.
* Histories and claims change by compare-and-swap only: ConflictError if one changed since it was read. The loser reads
  and judges again.
* A payload is written before the history that names it, never changed, and counts only once a history names it. So a
  crash between the two loses nothing: a retry reuses its payload.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from topicschema.core.history import History, Owner, VersionEntry
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, TopicKey

GRACE: Final = timedelta(hours=1)
"""The age below which garbage collection retains a payload: a history may be about to name it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A history as it was read. `revision` is opaque, equal only while nothing changes, "" if nothing is stored.

    `payload_bytes` is for the store alone: the bytes of all payloads that were ever stored for the topic.
    """

    history: History
    revision: str = ""
    payload_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A claim as it was read. `owner` is None if it is free, `revision` is as in Stored.

    `original` holds each setting of the Pulsar namespace before its first write, or None until then. `managed` lists
    the written settings. Both survive a change of the owner, because the operator is the writer in any case. `address`
    is the address of the owner's broker, "" without one.
    """

    key: PulsarNamespaceKey
    owner: Owner | None = None
    revision: str = ""
    original: NamespaceSettings | None = None
    managed: tuple[Setting, ...] = ()
    address: str = ""


@dataclass(frozen=True, slots=True)
class KnownClaims:
    """The claims that were ever made on `tenant/namespace`, one per registry.

    `keys` has also those whose other content cannot be read. `are_all` is false if the key of a claim cannot be read,
    which may then be on this Pulsar namespace, too.
    """

    keys: tuple[PulsarNamespaceKey, ...]
    claims: tuple[StoredClaim, ...]
    are_all: bool

    def held_at(self, address: str) -> tuple[StoredClaim, ...]:
        """Return the claims that are held at the broker of that address."""
        return tuple(each for each in self.claims if each.owner is not None and each.address == address)


class SchemaStorage(Protocol):
    """Store of histories, their payloads, and claims.

    Each method but `changed` and `warn` may raise WaitingError if the store is unreachable.
    """

    async def get_history(self, key: TopicKey) -> Stored:
        """Return the topic's current history, never from a cache.

        Raises StalledError(HistoryDamaged) if it cannot be read.
        """

    async def list_topics(self, key: PulsarNamespaceKey) -> tuple[TopicKey, ...]:
        """Return the topics of a Pulsar namespace that have a history, in the order of their names."""

    async def used_bytes(self, key: PulsarNamespaceKey) -> int:
        """Return the bytes that the histories of a Pulsar namespace take with all payloads, deleted versions included.

        While `changed` is consumed, it may be cached: the changes of this object and those that it yields count.
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

        Raises StalledError(HistoryDamaged) if it is gone or differs, ConflictError if it is gone because the history
        changed.
        """

    async def delete(self, stored: Stored) -> None:
        """Remove the history, then its payloads. Raises ConflictError if it changed. A missing one is no error."""

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        """Return the current claim. Raises StalledError(HistoryDamaged) if it cannot be read."""

    async def list_claims(self, pulsar_namespace: str) -> KnownClaims:
        """Return the claims on `tenant/namespace`, of all registries."""

    async def put_claim(self, stored: StoredClaim, owner: Owner | None, address: str = "") -> StoredClaim:
        """Assign the claim to `owner`, or free it. Raises ConflictError if it changed since `stored` was read."""

    async def put_settings(
        self, stored: StoredClaim, original: NamespaceSettings, managed: tuple[Setting, ...]
    ) -> StoredClaim:
        """Store the original values and the managed settings in the claim.

        Raises ConflictError if it changed since it was read.

        Call it before the first write of a setting that is not in `stored.managed`.
        """

    async def collect_garbage(self, now: datetime) -> int:
        """Remove payloads that are older than GRACE at `now` and that no history names. Return their number.

        Those of an earlier incarnation stay, and those of a history that cannot be read.
        """

    def changed(self) -> AsyncIterator[TopicKey]:
        """Yield the topic of each history that another client writes from now on, or that any client deletes.

        Changes through this object are not yielded, but a topic may be yielded without a change. It never ends: if the
        store is unreachable, it waits, and then yields what changed meanwhile.
        """

    async def warn(self, key: TopicKey, reason: str, note: str) -> None:
        """Show a warning beside the topic's history to the administrators of the store. A failure is only logged."""

    def name_of(self, key: TopicKey) -> str:
        """Return the name by which an administrator finds the topic's history in the store, for messages."""

    async def aclose(self) -> None:
        """Close the store's own connections."""


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
