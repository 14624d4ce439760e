"""RecordStorage: SchemaHistory and SchemaVersion objects in the operator's own namespace.

See `api.record` for the form of the objects and `garbage_collection` for payloads that no history names.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from topicschema.api import record
from topicschema.api.kinds import SCHEMA_HISTORY, SCHEMA_VERSION
from topicschema.cluster.client import ApiClient, Object, Selection
from topicschema.cluster.errors import ConflictError, NotFoundError
from topicschema.cluster.microtime import micro_time
from topicschema.core.errors import StalledError
from topicschema.core.history import History, VersionEntry
from topicschema.core.lru_cache import LruCache
from topicschema.core.reasons import Reason
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.storage import objects
from topicschema.storage.payloads import weight
from topicschema.storage.protocol import (
    Stored,
    check_contents,
    check_put,
    entries_of,
    is_of,
)

_LOG = logging.getLogger(__name__)
_LARGE_BYTES = 64 * 1024
_CACHE_BYTES = 64 << 20
_WRITES_AT_ONCE = 16

REUSED_ANNOTATION = "topicschema.io/reused-at"
"""Annotation on a payload that a writer reused. Until then no history may have needed it."""
ANNOUNCED_ANNOTATION = "topicschema.io/announced"
"""Annotation on a payload that was written before its upload to a broker: its content hash."""


class RecordStorage:
    """A SchemaStorage on the API server, which outlives resources, namespaces and this process.

    `client` is open, and its owner closes it. `cache_bytes` bounds the payloads in memory.
    """

    def __init__(self, client: ApiClient, namespace: str, cache_bytes: int = _CACHE_BYTES) -> None:
        self._client = client
        self._namespace = namespace
        self._payloads: LruCache[str, SchemaInfo] = LruCache(cache_bytes)

    async def get_history(self, key: TopicKey) -> Stored:
        """See SchemaStorage."""
        try:
            wire = await self._client.get(SCHEMA_HISTORY, self._namespace, key.history_name)
        except NotFoundError:
            return Stored(History(key))
        history = record.history_from_wire(wire)
        if history.key != key:
            raise StalledError(Reason.RECORD_DAMAGED, f"the history {key.history_name} belongs to another topic")
        return Stored(history, objects.revision(wire))

    async def keep(self, history: History, versions: Sequence[tuple[VersionEntry, SchemaInfo]]) -> None:
        """See SchemaStorage."""
        check_contents(versions)
        await self._put_payloads(history, versions)

    async def announce(self, history: History, payload: SchemaInfo, source_hash: str | None = None) -> None:
        """See SchemaStorage."""
        newest = [(history.entries[-1], payload)]
        check_contents(newest)
        await self._put_payloads(history, newest, source_hash, {ANNOUNCED_ANNOTATION: payload.content_hash})

    async def is_announced(self, history: History, payload: SchemaInfo) -> bool:
        """See SchemaStorage."""
        name = record.version_name(history.key, history.incarnation, history.next_version, payload.content_hash)
        try:
            wire = await self._client.get(SCHEMA_VERSION, self._namespace, name)
        except NotFoundError:
            return False
        annotations = wire["metadata"].get("annotations") or {}
        return bool(annotations.get(ANNOUNCED_ANNOTATION) == payload.content_hash)

    async def put(
        self, stored: Stored, history: History, payloads: Sequence[SchemaInfo] = (), source_hash: str | None = None
    ) -> Stored:
        """See SchemaStorage."""
        check_put(stored, history, payloads)
        await self._put_payloads(history, tuple(entries_of(history, payloads)), source_hash)
        wire = record.history_to_wire(history, namespace=self._namespace, resource_version=stored.revision or None)
        return Stored(history, await objects.swap(self._client, SCHEMA_HISTORY, wire, stored.revision))

    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        """See SchemaStorage."""
        payload = self._payloads.get(entry.content_hash)
        if payload is not None:
            return payload
        name = record.version_name(key, incarnation, entry.schema_version, entry.content_hash)
        try:
            wire = await self._client.get(SCHEMA_VERSION, self._namespace, name)
        except NotFoundError as error:
            await self._expect_named(key, incarnation, entry)
            message = f"the payload {name} of version {entry.schema_version} is not stored"
            raise StalledError(Reason.RECORD_DAMAGED, message) from error
        payload = record.version_from_wire(wire)
        if payload.content_hash != entry.content_hash or payload.type is not entry.type:
            raise StalledError(Reason.RECORD_DAMAGED, f"the payload {name} is not the one that its history names")
        self._payloads.put(payload.content_hash, payload, weight(payload))
        return payload

    async def delete(self, stored: Stored) -> None:
        """See SchemaStorage.

        The payloads are listed before the history is deleted, and deleted only if they did not change since. So a
        payload that a new history of the same topic reuses stays. Garbage collection removes the rest after a crash.
        """
        history = stored.history.key.history_name
        if not stored.revision:
            await self._expect_unknown(stored.history.key)
            return
        selection = Selection(labels=f"{record.HISTORY_LABEL}={history}", metadata_only=True)
        payloads = [
            item async for page in self._client.pages(SCHEMA_VERSION, self._namespace, selection) for item in page
        ]
        try:
            await self._client.delete(SCHEMA_HISTORY, self._namespace, history, resource_version=stored.revision)
        except NotFoundError as error:
            raise ConflictError(f"the history {history} is gone since it was read") from error
        at_once = asyncio.Semaphore(_WRITES_AT_ONCE)
        await asyncio.gather(*(self._delete_payload(item["metadata"], at_once) for item in payloads))

    async def history_names(self, key: PulsarNamespaceKey) -> tuple[str, ...]:
        """See SchemaStorage."""
        selection = Selection(labels=f"{record.PULSAR_NAMESPACE_LABEL}={key.claim_name}", metadata_only=True)
        pages = self._client.pages(SCHEMA_HISTORY, self._namespace, selection)
        return tuple(sorted([item["metadata"]["name"] async for page in pages for item in page]))

    async def read_history(self, key: PulsarNamespaceKey, name: str) -> Stored | None:
        """See SchemaStorage. A damaged history is logged."""
        try:
            wire = await self._client.get(SCHEMA_HISTORY, self._namespace, name)
            history = record.history_from_wire(wire)
        except NotFoundError:
            return None
        except StalledError as error:
            _LOG.warning("a history is left out: %s", error.message)
            return None
        return Stored(history, objects.revision(wire)) if is_of(history.key, key) else None

    async def _put_payloads(
        self,
        history: History,
        versions: Sequence[tuple[VersionEntry, SchemaInfo]],
        source_hash: str | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Write the payloads, or reuse the same ones of an earlier attempt."""
        at_once = asyncio.Semaphore(_WRITES_AT_ONCE)

        async def write(entry: VersionEntry, payload: SchemaInfo) -> None:
            async with at_once:
                sources = source_hash if entry is versions[-1][0] else None
                until = replace(history, entries=(entry,))
                to_wire = partial(record.version_to_wire, until, payload, sources, namespace=self._namespace)
                # Compressing a large payload takes milliseconds, in which other tasks can run.
                wire = to_wire() if weight(payload) < _LARGE_BYTES else await asyncio.to_thread(to_wire)
                await self._put_payload(wire, payload, annotations or {})

        await asyncio.gather(*(write(entry, payload) for entry, payload in versions))

    async def _put_payload(self, wire: Object, payload: SchemaInfo, annotations: Mapping[str, str]) -> None:
        wire["metadata"]["annotations"] = dict(annotations)
        try:
            await self._client.create(SCHEMA_VERSION, self._namespace, wire)
        except ConflictError:
            await self._reuse(wire["metadata"]["name"], payload, annotations)
        self._payloads.put(payload.content_hash, payload, weight(payload))

    async def _reuse(self, name: str, payload: SchemaInfo, annotations: Mapping[str, str]) -> None:
        """Reuse the existing payload. The patch changes its revision, so that garbage collection does not remove it."""
        moved = {"metadata": {"annotations": {**annotations, REUSED_ANNOTATION: micro_time()}}}
        try:
            existing = await self._client.patch(SCHEMA_VERSION, self._namespace, name, moved)
        except NotFoundError as error:
            raise ConflictError(f"the payload {name} was removed while it was being written") from error
        if record.version_from_wire(existing).content_hash != payload.content_hash:
            raise StalledError(Reason.RECORD_DAMAGED, f"the payload {name} exists with other contents")

    async def _delete_payload(self, metadata: Mapping[str, Any], at_once: asyncio.Semaphore) -> None:
        async with at_once:
            await objects.delete_as_listed(self._client, SCHEMA_VERSION, metadata)

    async def _expect_unknown(self, key: TopicKey) -> None:
        if (await self.get_history(key)).revision:
            raise ConflictError(f"the history {key.history_name} was created in the meantime")

    async def _expect_named(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> None:
        history = (await self.get_history(key)).history
        if history.incarnation != incarnation or not history.names(entry):
            raise ConflictError(f"the history {key.history_name} moved since it was read")
