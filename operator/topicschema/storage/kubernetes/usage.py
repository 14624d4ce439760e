"""The bytes that the histories of each Pulsar namespace take: listed once, and then counted with each write."""

import asyncio
from collections import defaultdict

from topicschema.api import store
from topicschema.api.kinds import SCHEMA_HISTORY
from topicschema.cluster.client import ApiClient, Selection
from topicschema.core.topics import PulsarNamespaceKey, TopicKey


class Usage:
    """Bytes of the histories of one namespace of the operator, in memory for each Pulsar namespace once it is needed.

    A SchemaHistory object has the bytes of its payloads (`payloadBytes`), so these are never read.
    """

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._bytes: dict[PulsarNamespaceKey, dict[str, int]] = {}
        self._listing: defaultdict[PulsarNamespaceKey, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._complete: set[PulsarNamespaceKey] = set()

    async def of(self, key: PulsarNamespaceKey, *, is_cached: bool) -> int:
        """Return the bytes of the histories of a Pulsar namespace. List them unless they are known and may be."""
        async with self._listing[key]:
            if not is_cached or key not in self._complete:
                try:
                    await self._list(key)
                except BaseException:
                    self.forget(key)
                    raise
            return sum(self._bytes[key].values())

    async def _list(self, key: PulsarNamespaceKey) -> None:
        self._bytes[key] = {}
        self._complete.add(key)  # a change meanwhile removes it
        selection = Selection(labels=f"{store.PULSAR_NAMESPACE_LABEL}={store.claim_name(key)}")
        async for page in self._client.pages(SCHEMA_HISTORY, self._namespace, selection):
            for wire in page:
                # What was written meanwhile is newer than the list.
                self._bytes[key].setdefault(wire["metadata"]["name"], store.used_bytes(wire))

    def record(self, key: TopicKey, number: int) -> None:
        """Record the bytes that this process wrote for a topic, 0 after a deletion."""
        known = self._bytes.get(key.namespace_key)
        if known is not None:
            known[store.history_name(key)] = number

    def forget(self, key: PulsarNamespaceKey) -> None:
        """Handle a change by another client: the next call lists the histories again."""
        self._complete.discard(key)
