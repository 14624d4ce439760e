"""KubernetesStorage: the store in objects of the operator's own namespace, one module for each of its larger parts.

See `api.store` for the form of the objects.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from topicschema.api import store
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY, SCHEMA_VERSION, Object
from topicschema.cluster.client import ApiClient, Selection
from topicschema.cluster.errors import ConflictError, NotFoundError
from topicschema.cluster.events import EventRecorder, object_reference
from topicschema.cluster.microtime import micro_time
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.history import MAX_VERSIONS, History, Owner, VersionEntry
from topicschema.core.lru_cache import LruCache
from topicschema.core.reasons import Reason
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.storage.kubernetes import objects
from topicschema.storage.kubernetes.changes import Changes, topic_of
from topicschema.storage.kubernetes.garbage_collection import GarbageCollector
from topicschema.storage.kubernetes.usage import Usage
from topicschema.storage.payloads import weight
from topicschema.storage.protocol import KnownClaims, Stored, StoredClaim, check_contents, check_put, entries_of

_LOG = logging.getLogger(__name__)
_LARGE_BYTES = 64 * 1024
_CACHE_BYTES = 64 << 20
_WRITES_AT_ONCE = 16

ANNOUNCED_ANNOTATION = "topicschema.io/announced"
"""Annotation on a payload that was written before its upload to a broker: its content hash."""


class KubernetesStorage:
    """A SchemaStorage on the API server, which outlives resources, namespaces and this process.

    `client` is open, and its owner closes it. `identity` is this process's name in Events. `cache_bytes` bounds the
    payloads in memory.
    """

    def __init__(
        self, client: ApiClient, namespace: str, *, identity: str = "topicschema", cache_bytes: int = _CACHE_BYTES
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._events = EventRecorder(client, identity)
        self._payloads: LruCache[str, SchemaInfo] = LruCache(cache_bytes)
        self._collector = GarbageCollector(client, namespace)
        self._changes = Changes(client, namespace)
        self._usage = Usage(client, namespace)
        self._sizes: LruCache[str, int] = LruCache(2 * MAX_VERSIONS)

    async def get_history(self, key: TopicKey) -> Stored:
        """See SchemaStorage."""
        try:
            wire = await self._client.get(SCHEMA_HISTORY, self._namespace, self.name_of(key))
        except NotFoundError:
            return Stored(History(key))
        history = store.history_from_wire(wire)
        if history.key != key:
            raise StalledError(Reason.HISTORY_DAMAGED, f"the history {self.name_of(key)} belongs to another topic")
        return Stored(history, objects.revision(wire), store.payload_bytes(wire))

    async def list_topics(self, key: PulsarNamespaceKey) -> tuple[TopicKey, ...]:
        """See SchemaStorage. Histories that cannot be read are left out, unless their metadata has the topic."""
        selection = Selection(labels=f"{store.PULSAR_NAMESPACE_LABEL}={store.claim_name(key)}", metadata_only=True)
        pages = self._client.pages(SCHEMA_HISTORY, self._namespace, selection)
        listed = [await topic_of(self._client, item["metadata"]) async for page in pages for item in page]
        topics = (each for each in listed if each is not None and each.namespace_key == key)
        return tuple(sorted(topics, key=lambda each: each.topic.local_name))

    async def used_bytes(self, key: PulsarNamespaceKey) -> int:
        """See SchemaStorage."""
        return await self._usage.of(key, is_cached=self._changes.are_streamed)

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
        name = store.version_name(history.key, history.incarnation, history.next_version, payload.content_hash)
        try:
            wire = await self._client.get(SCHEMA_VERSION, self._namespace, name)
        except NotFoundError:
            return False
        self._sizes.put(name, store.version_bytes(wire), 1)
        annotations = wire["metadata"].get("annotations") or {}
        return bool(annotations.get(ANNOUNCED_ANNOTATION) == payload.content_hash)

    async def put(
        self, stored: Stored, history: History, payloads: Sequence[SchemaInfo] = (), source_hash: str | None = None
    ) -> Stored:
        """See SchemaStorage."""
        check_put(stored, history, payloads)
        await self._put_payloads(history, tuple(entries_of(history, payloads)), source_hash)
        payload_bytes = stored.payload_bytes + await self._added_bytes(stored.history, history)
        wire = store.history_to_wire(
            history,
            namespace=self._namespace,
            resource_version=stored.revision or None,
            payload_bytes=payload_bytes,
        )
        with self._changes.writing(self.name_of(history.key)):
            revision = await objects.swap(self._client, SCHEMA_HISTORY, wire, stored.revision)
            self._changes.record(revision)
        self._usage.record(history.key, store.used_bytes(wire))
        return Stored(history, revision, payload_bytes)

    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        """See SchemaStorage."""
        payload = self._payloads.get(entry.content_hash)
        if payload is not None:
            return payload
        name = store.version_name(key, incarnation, entry.schema_version, entry.content_hash)
        try:
            wire = await self._client.get(SCHEMA_VERSION, self._namespace, name)
        except NotFoundError as error:
            await self._expect_named(key, incarnation, entry)
            message = f"the payload {name} of version {entry.schema_version} is not stored"
            raise StalledError(Reason.HISTORY_DAMAGED, message) from error
        payload = store.version_from_wire(wire)
        if payload.content_hash != entry.content_hash or payload.type is not entry.type:
            raise StalledError(Reason.HISTORY_DAMAGED, f"the payload {name} is not the one that its history names")
        self._payloads.put(payload.content_hash, payload, weight(payload))
        return payload

    async def delete(self, stored: Stored) -> None:
        """See SchemaStorage.

        The payloads are listed before the history is deleted, and deleted only if they did not change since. So a
        payload that a new history of the same topic reuses stays. Garbage collection removes the rest after a crash.
        """
        history = self.name_of(stored.history.key)
        if not stored.revision:
            await self._expect_unknown(stored.history.key)
            return
        selection = Selection(labels=f"{store.HISTORY_LABEL}={history}", metadata_only=True)
        payloads = [
            item async for page in self._client.pages(SCHEMA_VERSION, self._namespace, selection) for item in page
        ]
        try:
            await self._client.delete(SCHEMA_HISTORY, self._namespace, history, resource_version=stored.revision)
        except NotFoundError as error:
            raise ConflictError(f"the history {history} is gone since it was read") from error
        self._usage.record(stored.history.key, 0)
        at_once = asyncio.Semaphore(_WRITES_AT_ONCE)
        await asyncio.gather(*(self._delete_payload(item["metadata"], at_once) for item in payloads))

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        """See SchemaStorage."""
        try:
            wire = await self._client.get(PULSAR_NAMESPACE_CLAIM, self._namespace, store.claim_name(key))
        except NotFoundError:
            return StoredClaim(key)
        return _claim(key, wire)

    async def list_claims(self, pulsar_namespace: str) -> KnownClaims:
        """See SchemaStorage."""
        listed = [(_key_of(wire), wire) for wire in await self._client.list(PULSAR_NAMESPACE_CLAIM, self._namespace)]
        here = {key: wire for key, wire in listed if key is not None and key.pulsar_namespace == pulsar_namespace}
        claims = []
        for key, wire in here.items():
            with suppress(StalledError):
                claims.append(_claim(key, wire))
        keys = sorted(here, key=lambda key: key.registry)
        return KnownClaims(tuple(keys), tuple(claims), are_all=all(key is not None for key, _ in listed))

    async def put_claim(self, stored: StoredClaim, owner: Owner | None, address: str = "") -> StoredClaim:
        """See SchemaStorage."""
        return await self._put_claim(stored, replace(stored, owner=owner, address=address))

    async def put_settings(
        self, stored: StoredClaim, original: NamespaceSettings, managed: tuple[Setting, ...]
    ) -> StoredClaim:
        """See SchemaStorage."""
        return await self._put_claim(stored, replace(stored, original=original, managed=managed))

    async def _put_claim(self, stored: StoredClaim, desired: StoredClaim) -> StoredClaim:
        wire = store.claim_to_wire(
            desired.key,
            store.ClaimContent(desired.owner, desired.original, desired.managed, desired.address),
            namespace=self._namespace,
            resource_version=stored.revision or None,
        )
        revision = await objects.swap(self._client, PULSAR_NAMESPACE_CLAIM, wire, stored.revision)
        return replace(desired, revision=revision)

    async def collect_garbage(self, now: datetime) -> int:
        """See SchemaStorage."""
        return await self._collector.collect(now)

    async def changed(self) -> AsyncIterator[TopicKey]:
        """See SchemaStorage."""
        async for key in self._changes.stream():
            self._usage.forget(key.namespace_key)
            yield key

    async def warn(self, key: TopicKey, reason: str, note: str) -> None:
        """See SchemaStorage. It is an Event about the SchemaHistory."""
        try:
            wire = await self._client.get(SCHEMA_HISTORY, self._namespace, self.name_of(key))
        except TopicSchemaError as error:
            _LOG.warning("no Event about a history: %s", error.message)
            return
        await self._events.record(object_reference(SCHEMA_HISTORY, wire), "Warning", reason, note, "Delete")

    def name_of(self, key: TopicKey) -> str:
        """See SchemaStorage."""
        return store.history_name(key)

    async def aclose(self) -> None:
        """Do nothing: the client is not this object's."""

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
                to_wire = partial(store.version_to_wire, until, payload, sources, namespace=self._namespace)
                # Compressing a large payload takes milliseconds, in which other tasks can run.
                wire = to_wire() if weight(payload) < _LARGE_BYTES else await asyncio.to_thread(to_wire)
                await self._put_payload(wire, payload, annotations or {})

        await asyncio.gather(*(write(entry, payload) for entry, payload in versions))

    async def _added_bytes(self, before: History, history: History) -> int:
        """Return the bytes of the payloads of the entries that `before` lacks, which are stored already."""
        had = {each.identity for each in before.entries} if before.incarnation == history.incarnation else set()
        names = [
            store.version_name(history.key, history.incarnation, *each.identity)
            for each in history.entries
            if not each.is_tombstone and each.identity not in had
        ]
        return sum([await self._version_bytes(name) for name in names])

    async def _version_bytes(self, name: str) -> int:
        """Return the bytes of a payload. It is read only if this process has not written or read it lately."""
        known = self._sizes.get(name)
        if known is not None:
            return known
        try:
            return store.version_bytes(await self._client.get(SCHEMA_VERSION, self._namespace, name))
        except NotFoundError:
            return 0

    async def _put_payload(self, wire: Object, payload: SchemaInfo, annotations: Mapping[str, str]) -> None:
        wire["metadata"]["annotations"] = dict(annotations)
        self._sizes.put(wire["metadata"]["name"], store.version_bytes(wire), 1)
        try:
            await self._client.create(SCHEMA_VERSION, self._namespace, wire)
        except ConflictError:
            await self._reuse(wire["metadata"]["name"], payload, annotations)
        self._payloads.put(payload.content_hash, payload, weight(payload))

    async def _reuse(self, name: str, payload: SchemaInfo, annotations: Mapping[str, str]) -> None:
        """Reuse the existing payload. The patch changes its revision, so that garbage collection does not remove it."""
        moved = {"metadata": {"annotations": {**annotations, objects.REUSED_ANNOTATION: micro_time()}}}
        try:
            existing = await self._client.patch(SCHEMA_VERSION, self._namespace, name, moved)
        except NotFoundError as error:
            raise ConflictError(f"the payload {name} was removed while it was being written") from error
        if store.version_from_wire(existing).content_hash != payload.content_hash:
            raise StalledError(Reason.HISTORY_DAMAGED, f"the payload {name} exists with other contents")

    async def _delete_payload(self, metadata: Mapping[str, Any], at_once: asyncio.Semaphore) -> None:
        async with at_once:
            await objects.delete_as_listed(self._client, SCHEMA_VERSION, metadata)

    async def _expect_unknown(self, key: TopicKey) -> None:
        if (await self.get_history(key)).revision:
            raise ConflictError(f"the history {self.name_of(key)} was created in the meantime")

    async def _expect_named(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> None:
        history = (await self.get_history(key)).history
        if not history.names(entry, incarnation):
            raise ConflictError(f"the history {self.name_of(key)} moved since it was read")


def _claim(key: PulsarNamespaceKey, wire: Object) -> StoredClaim:
    claim = store.claim_from_wire(wire)
    return StoredClaim(key, claim.owner, objects.revision(wire), claim.original, claim.managed, claim.address)


def _key_of(wire: Object) -> PulsarNamespaceKey | None:
    """Return the key of a claim, or None if its name does not match its content."""
    spec = wire.get("spec") or {}
    try:
        key = PulsarNamespaceKey.parse(str(spec.get("registry")), str(spec.get("pulsarNamespace")))
    except StalledError:
        return None
    return key if store.claim_name(key) == wire["metadata"]["name"] else None
