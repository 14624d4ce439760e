"""MemoryStorage: a store in this process's memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Owner, VersionEntry
from topicschema.core.reasons import Reason
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.storage.protocol import GRACE, KnownClaims, Stored, StoredClaim, check_contents, check_put, entries_of

_PayloadKey = tuple[TopicKey, int, int, str]


@dataclass
class Payload:
    """A stored payload: when it was written last, and whether it was announced."""

    content: SchemaInfo
    written: datetime
    is_announced: bool = False


@dataclass
class Memory:
    """The content of a store, which several clients share. A damaged topic or claim cannot be read."""

    histories: dict[TopicKey, Stored] = field(default_factory=dict)
    payloads: dict[_PayloadKey, Payload] = field(default_factory=dict)
    claims: dict[PulsarNamespaceKey, StoredClaim] = field(default_factory=dict)
    damaged: set[TopicKey | PulsarNamespaceKey] = field(default_factory=set)
    warnings: list[tuple[TopicKey, str, str]] = field(default_factory=list)
    streams: list[tuple["MemoryStorage", asyncio.Queue[TopicKey]]] = field(default_factory=list)
    writes: int = 0
    payload_writes: int = 0

    def lose(self, key: TopicKey) -> None:
        """Delete the topic's history and payloads, as another client does."""
        del self.histories[key]
        self.lose_payloads(key)
        self.notify(key, None)

    def lose_payloads(self, key: TopicKey) -> None:
        """Delete the topic's payloads, as another client does."""
        self.payloads = {each: payload for each, payload in self.payloads.items() if each[0] != key}

    def notify(self, key: TopicKey, writer: "MemoryStorage | None") -> None:
        """Yield the topic in the streams of all clients but the writer."""
        for client, queue in self.streams:
            if client is not writer:
                queue.put_nowait(key)

    def check(self, key: TopicKey | PulsarNamespaceKey) -> None:
        """Raise StalledError(HistoryDamaged) if the topic's history or the claim cannot be read."""
        if key in self.damaged:
            raise StalledError(Reason.HISTORY_DAMAGED, f"{key} cannot be read")

    def revision(self) -> str:
        """Count a write. Return its revision."""
        self.writes += 1
        return str(self.writes)


class MemoryStorage:
    """A SchemaStorage: one client of a memory."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()

    async def get_history(self, key: TopicKey) -> Stored:
        self.memory.check(key)
        return self.memory.histories.get(key) or Stored(History(key))

    async def list_topics(self, key: PulsarNamespaceKey) -> tuple[TopicKey, ...]:
        topics = [topic for topic in self.memory.histories if topic.namespace_key == key]
        return tuple(sorted(topics, key=lambda each: each.topic.local_name))

    async def used_bytes(self, key: PulsarNamespaceKey) -> int:
        there = {topic for topic in self.memory.histories if topic.namespace_key == key}
        payloads = (each.content for (topic, *_), each in self.memory.payloads.items() if topic in there)
        return 1024 * len(there) + sum(1024 + len(each.schema) for each in payloads)

    async def keep(self, history: History, versions: Sequence[tuple[VersionEntry, SchemaInfo]]) -> None:
        check_contents(versions)
        for entry, content in versions:
            there = self.memory.payloads.setdefault(_payload_key(history, entry), Payload(content, _now()))
            there.written = _now()
            self.memory.writes += 1
            self.memory.payload_writes += 1

    async def announce(self, history: History, payload: SchemaInfo, source_hash: str | None = None) -> None:
        del source_hash  # no reader here
        entry = history.entries[-1]
        await self.keep(history, [(entry, payload)])
        self.memory.payloads[_payload_key(history, entry)].is_announced = True

    async def is_announced(self, history: History, payload: SchemaInfo) -> bool:
        key = (history.key, history.incarnation, history.next_version, payload.content_hash)
        return key in self.memory.payloads and self.memory.payloads[key].is_announced

    async def put(
        self, stored: Stored, history: History, payloads: Sequence[SchemaInfo] = (), source_hash: str | None = None
    ) -> Stored:
        del source_hash  # no reader here
        check_put(stored, history, payloads)
        await self.keep(history, tuple(entries_of(history, payloads)))
        self._check_unchanged(stored)
        self.memory.histories[history.key] = Stored(history, self.memory.revision())
        self.memory.notify(history.key, self)
        return self.memory.histories[history.key]

    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        payload = self.memory.payloads.get((key, incarnation, entry.schema_version, entry.content_hash))
        if payload is not None:
            return payload.content
        # Only now: searching the history for each version of a long one takes seconds.
        history = (await self.get_history(key)).history
        if not history.names(entry, incarnation):
            raise ConflictError(f"the history of {key.topic} moved since it was read")
        raise StalledError(Reason.HISTORY_DAMAGED, f"the payload of version {entry.schema_version} is not stored")

    async def delete(self, stored: Stored) -> None:
        self._check_unchanged(stored)
        if stored.history.key in self.memory.histories:
            self.memory.writes += 1
            self.memory.lose(stored.history.key)

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        self.memory.check(key)
        return self.memory.claims.get(key) or StoredClaim(key)

    async def list_claims(self, pulsar_namespace: str) -> KnownClaims:
        claims, damaged = self.memory.claims, self.memory.damaged
        here = sorted((key for key in claims if key.pulsar_namespace == pulsar_namespace), key=str)
        readable = [key for key in here if key not in damaged]
        return KnownClaims(tuple(readable), tuple(claims[key] for key in readable), are_all=not damaged & claims.keys())

    async def put_claim(self, stored: StoredClaim, owner: Owner | None, address: str = "") -> StoredClaim:
        return self._put_claim(stored, replace(stored, owner=owner, address=address))

    async def put_settings(
        self, stored: StoredClaim, original: NamespaceSettings, managed: tuple[Setting, ...]
    ) -> StoredClaim:
        return self._put_claim(stored, replace(stored, original=original, managed=managed))

    def _put_claim(self, stored: StoredClaim, desired: StoredClaim) -> StoredClaim:
        current = self.memory.claims.get(stored.key)
        if (current.revision if current else "") != stored.revision:
            raise ConflictError(f"the claim on {stored.key.pulsar_namespace} moved since it was read")
        self.memory.claims[stored.key] = replace(desired, revision=self.memory.revision())
        return self.memory.claims[stored.key]

    async def collect_garbage(self, now: datetime) -> int:
        unnamed = [key for key, payload in self.memory.payloads.items() if self._is_garbage(key, payload, now)]
        for key in unnamed:
            del self.memory.payloads[key]
        return len(unnamed)

    def _is_garbage(self, key: _PayloadKey, payload: Payload, now: datetime) -> bool:
        topic, incarnation, number, content_hash = key
        if topic in self.memory.damaged or now - payload.written <= GRACE:
            return False
        stored = self.memory.histories.get(topic)
        history = History(topic) if stored is None else stored.history
        named = {(history.incarnation, *each.identity) for each in history.entries}
        return incarnation >= history.incarnation and (incarnation, number, content_hash) not in named

    async def changed(self) -> AsyncIterator[TopicKey]:
        queue: asyncio.Queue[TopicKey] = asyncio.Queue()
        self.memory.streams.append((self, queue))
        try:
            while True:
                yield await queue.get()
        finally:
            self.memory.streams.remove((self, queue))

    async def warn(self, key: TopicKey, reason: str, note: str) -> None:
        self.memory.warnings.append((key, reason, note))

    def name_of(self, key: TopicKey) -> str:
        return f"{key.registry}/{key.topic}"

    async def aclose(self) -> None:
        """See SchemaStorage."""

    def _check_unchanged(self, stored: Stored) -> None:
        current = self.memory.histories.get(stored.history.key)
        if (current.revision if current else "") != stored.revision:
            raise ConflictError(f"the history of {stored.history.key.topic} moved since it was read")


def _payload_key(history: History, entry: VersionEntry) -> _PayloadKey:
    return (history.key, history.incarnation, entry.schema_version, entry.content_hash)


def _now() -> datetime:
    return datetime.now(UTC)
