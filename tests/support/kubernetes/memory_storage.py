"""MemoryStorage: schema histories in this process's memory."""

from collections.abc import Sequence

from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError
from topicschema.core.history import History, VersionEntry
from topicschema.core.reasons import Reason
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.storage.protocol import (
    Stored,
    check_contents,
    check_put,
    entries_of,
    is_of,
)

_PayloadKey = tuple[TopicKey, int, int, str]


class MemoryStorage:
    """A SchemaStorage in memory."""

    def __init__(self) -> None:
        self._histories: dict[TopicKey, Stored] = {}
        self._payloads: dict[_PayloadKey, SchemaInfo] = {}
        self._announced: set[_PayloadKey] = set()
        self._revisions = 0

    async def get_history(self, key: TopicKey) -> Stored:
        """See SchemaStorage."""
        return self._histories.get(key) or Stored(History(key))

    async def keep(self, history: History, versions: Sequence[tuple[VersionEntry, SchemaInfo]]) -> None:
        """See SchemaStorage."""
        check_contents(versions)
        for entry, payload in versions:
            self._payloads[_payload_key(history.key, history.incarnation, entry)] = payload

    async def announce(self, history: History, payload: SchemaInfo, source_hash: str | None = None) -> None:
        """See SchemaStorage."""
        del source_hash  # no reader here
        entry = history.entries[-1]
        await self.keep(history, [(entry, payload)])
        self._announced.add(_payload_key(history.key, history.incarnation, entry))

    async def is_announced(self, history: History, payload: SchemaInfo) -> bool:
        """See SchemaStorage."""
        return (history.key, history.incarnation, history.next_version, payload.content_hash) in self._announced

    async def put(
        self, stored: Stored, history: History, payloads: Sequence[SchemaInfo] = (), source_hash: str | None = None
    ) -> Stored:
        """See SchemaStorage."""
        del source_hash  # no reader here
        check_put(stored, history, payloads)
        await self.keep(history, tuple(entries_of(history, payloads)))
        self._expect(stored)
        self._revisions += 1
        self._histories[history.key] = Stored(history, str(self._revisions))
        return self._histories[history.key]

    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        """See SchemaStorage."""
        payload = self._payloads.get(_payload_key(key, incarnation, entry))
        if payload is not None:
            return payload
        # Only now: searching the history for each version of a long one takes seconds.
        history = (await self.get_history(key)).history
        if history.incarnation != incarnation or not history.names(entry):
            raise ConflictError(f"the history of {key.topic} moved since it was read")
        raise StalledError(Reason.RECORD_DAMAGED, f"the payload of version {entry.schema_version} is not stored")

    async def delete(self, stored: Stored) -> None:
        """See SchemaStorage."""
        key = stored.history.key
        self._expect(stored)
        self._histories.pop(key, None)
        for payload in [p for p in self._payloads if p[0] == key]:
            del self._payloads[payload]
            self._announced.discard(payload)

    async def history_names(self, key: PulsarNamespaceKey) -> tuple[str, ...]:
        """See SchemaStorage."""
        return tuple(sorted(topic.history_name for topic in self._histories if is_of(topic, key)))

    async def read_history(self, key: PulsarNamespaceKey, name: str) -> Stored | None:
        """See SchemaStorage."""
        named = (s for topic, s in self._histories.items() if topic.history_name == name and is_of(topic, key))
        return next(named, None)

    def _expect(self, stored: Stored) -> None:
        current = self._histories.get(stored.history.key)
        if (current.revision if current else "") != stored.revision:
            raise ConflictError(f"the history of {stored.history.key.topic} moved since it was read")


def _payload_key(key: TopicKey, incarnation: int, entry: VersionEntry) -> _PayloadKey:
    return (key, incarnation, entry.schema_version, entry.content_hash)
