"""PostgresStorage: the store in tables of a PostgreSQL database."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Table, and_, delete, func, not_, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from topicschema.api import store
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY, SCHEMA_VERSION, Object
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Owner, VersionEntry
from topicschema.core.lru_cache import LruCache
from topicschema.core.reasons import Reason
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.storage.payloads import weight
from topicschema.storage.plugins import StorageFactory, StorageUrl
from topicschema.storage.postgresql import tables
from topicschema.storage.postgresql.changes import changes
from topicschema.storage.postgresql.database import Database, parameters_of
from topicschema.storage.postgresql.tables import CLAIM, HISTORY, VERSION
from topicschema.storage.protocol import GRACE, KnownClaims, Stored, StoredClaim, check_contents, check_put, entries_of

_LOG = logging.getLogger(__name__)
_CACHE_BYTES: Final = 64 << 20
_LARGE_BYTES: Final = 64 * 1024


def factory(url: StorageUrl) -> StorageFactory:
    """Return the maker of the store in that database. Raises UnusableStorageError if the URL is not valid."""
    parameters_of(url)
    return partial(_open, url)


def _open(
    url: StorageUrl, client: ApiClient, namespace: str, *, identity: str = "", cache_bytes: int = _CACHE_BYTES
) -> "PostgresStorage":
    del namespace, identity  # the database has no other store
    return PostgresStorage(Database(url), client.fence, cache_bytes=cache_bytes)


class PostgresStorage:
    """A SchemaStorage in a PostgreSQL database, which outlives the Kubernetes cluster.

    `fence` is called before each write and raises if this process may not write. `cache_bytes` bounds the payloads in
    memory. `aclose` closes `database`.
    """

    def __init__(self, database: Database, fence: Callable[[], None], *, cache_bytes: int = _CACHE_BYTES) -> None:
        self._database = database
        self._fence = fence
        self._writer = secrets.token_hex(8)
        self._payloads: LruCache[str, SchemaInfo] = LruCache(cache_bytes)

    async def get_history(self, key: TopicKey) -> Stored:
        """See SchemaStorage."""
        row = await self._one(select(HISTORY).where(HISTORY.c.name == self.name_of(key)))
        if row is None:
            return Stored(History(key))
        wire = tables.object_of(SCHEMA_HISTORY, row)
        history = store.history_from_wire(wire)
        if history.key != key:
            raise StalledError(Reason.HISTORY_DAMAGED, f"the history {self.name_of(key)} belongs to another topic")
        return Stored(history, str(row["revision"]), store.payload_bytes(wire))

    async def list_topics(self, key: PulsarNamespaceKey) -> tuple[TopicKey, ...]:
        """See SchemaStorage."""
        async with self._database.reading() as connection:
            names = await connection.scalars(select(HISTORY.c.local_name).where(_in_namespace(key)))
        return tuple(TopicKey(key.registry, Topic(key.tenant, key.namespace, name)) for name in sorted(names))

    async def used_bytes(self, key: PulsarNamespaceKey) -> int:
        """See SchemaStorage."""
        async with self._database.reading() as connection:
            return int(await connection.scalar(select(func.sum(HISTORY.c.bytes)).where(_in_namespace(key))) or 0)

    async def keep(self, history: History, versions: Sequence[tuple[VersionEntry, SchemaInfo]]) -> None:
        """See SchemaStorage."""
        check_contents(versions)
        await self._put_payloads(history, versions)

    async def announce(self, history: History, payload: SchemaInfo, source_hash: str | None = None) -> None:
        """See SchemaStorage."""
        newest = [(history.entries[-1], payload)]
        check_contents(newest)
        await self._put_payloads(history, newest, source_hash, is_announced=True)

    async def is_announced(self, history: History, payload: SchemaInfo) -> bool:
        """See SchemaStorage."""
        name = store.version_name(history.key, history.incarnation, history.next_version, payload.content_hash)
        row = await self._one(select(VERSION).where(VERSION.c.name == name, VERSION.c.is_announced))
        return row is not None and row["spec"]["contentHash"] == payload.content_hash

    async def put(
        self, stored: Stored, history: History, payloads: Sequence[SchemaInfo] = (), source_hash: str | None = None
    ) -> Stored:
        """See SchemaStorage."""
        check_put(stored, history, payloads)
        versions = tuple(entries_of(history, payloads))
        await self._put_payloads(history, versions, source_hash)
        async with self._writing() as connection:
            added = _added(stored.history, history)
            named = await connection.execute(tables.name_versions(added))
            sizes = {row.name: row.bytes for row in named}
            if not sizes.keys() >= added & {_name(history, entry) for entry, _ in versions}:
                raise ConflictError("a payload was removed while its history was being written")
            payload_bytes = stored.payload_bytes + sum(sizes.values())
            wire = store.history_to_wire(history, namespace="", resource_version=None, payload_bytes=payload_bytes)
            revision = await _swap(connection, HISTORY, wire, stored.revision)
            await connection.execute(tables.notification(history.key, self._writer, revision))
        return Stored(history, str(revision), payload_bytes)

    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        """See SchemaStorage."""
        payload = self._payloads.get(entry.content_hash)
        if payload is not None:
            return payload
        name = store.version_name(key, incarnation, *entry.identity)
        row = await self._one(select(VERSION).where(VERSION.c.name == name))
        if row is None:
            if not (await self.get_history(key)).history.names(entry, incarnation):
                raise ConflictError(f"the history {self.name_of(key)} moved since it was read")
            message = f"the payload {name} of version {entry.schema_version} is not stored"
            raise StalledError(Reason.HISTORY_DAMAGED, message)
        payload = store.version_from_wire(tables.object_of(SCHEMA_VERSION, row))
        if payload.content_hash != entry.content_hash or payload.type is not entry.type:
            raise StalledError(Reason.HISTORY_DAMAGED, f"the payload {name} is not the one that its history names")
        self._payloads.put(payload.content_hash, payload, weight(payload))
        return payload

    async def delete(self, stored: Stored) -> None:
        """See SchemaStorage."""
        key, name = stored.history.key, self.name_of(stored.history.key)
        if not stored.revision:
            if (await self.get_history(key)).revision:
                raise ConflictError(f"the history {name} was created since it was read")
            return
        async with self._writing() as connection:
            here = and_(HISTORY.c.name == name, HISTORY.c.revision == int(stored.revision))
            if not (await connection.execute(delete(HISTORY).where(here))).rowcount:
                raise ConflictError(f"the history {name} changed since it was read")
            await connection.execute(delete(VERSION).where(VERSION.c.history == name))
            await connection.execute(tables.notification(key, self._writer, None))

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        """See SchemaStorage."""
        row = await self._one(select(CLAIM).where(CLAIM.c.name == store.claim_name(key)))
        return StoredClaim(key) if row is None else _claim(key, row)

    async def list_claims(self, pulsar_namespace: str) -> KnownClaims:
        """See SchemaStorage. The columns have each key, so that all are known."""
        async with self._database.reading() as connection:
            query = select(CLAIM).where(CLAIM.c.pulsar_namespace == pulsar_namespace)
            rows = (await connection.execute(query)).mappings().all()
        listed = [(PulsarNamespaceKey.parse(row["registry"], pulsar_namespace), row) for row in rows]
        listed.sort(key=lambda each: each[0].registry)
        claims = []
        for key, row in listed:
            with suppress(StalledError):
                claims.append(_claim(key, row))
        return KnownClaims(tuple(key for key, _ in listed), tuple(claims), are_all=True)

    async def put_claim(self, stored: StoredClaim, owner: Owner | None, address: str = "") -> StoredClaim:
        """See SchemaStorage."""
        return await self._put_claim(stored, replace(stored, owner=owner, address=address))

    async def put_settings(
        self, stored: StoredClaim, original: NamespaceSettings, managed: tuple[Setting, ...]
    ) -> StoredClaim:
        """See SchemaStorage."""
        return await self._put_claim(stored, replace(stored, original=original, managed=managed))

    async def _put_claim(self, stored: StoredClaim, desired: StoredClaim) -> StoredClaim:
        content = store.ClaimContent(desired.owner, desired.original, desired.managed, desired.address)
        wire = store.claim_to_wire(desired.key, content, namespace="", resource_version=None)
        async with self._writing() as connection:
            return replace(desired, revision=str(await _swap(connection, CLAIM, wire, stored.revision)))

    async def collect_garbage(self, now: datetime) -> int:
        """See SchemaStorage. A payload that a history ever named stays until the history is deleted."""
        incarnation = select(HISTORY.c.incarnation).where(HISTORY.c.name == VERSION.c.history).scalar_subquery()
        unnamed = and_(
            not_(VERSION.c.is_named),
            VERSION.c.written < now - GRACE,
            VERSION.c.incarnation >= func.coalesce(incarnation, 0),
        )
        async with self._writing() as connection:
            return (await connection.execute(delete(VERSION).where(unnamed))).rowcount

    def changed(self) -> AsyncIterator[TopicKey]:
        """See SchemaStorage."""
        return changes(self._database, self._writer)

    async def warn(self, key: TopicKey, reason: str, note: str) -> None:
        """See SchemaStorage. It is a line of the log: the database has no Events."""
        _LOG.warning("%s: %s: %s", self.name_of(key), reason, note)

    def name_of(self, key: TopicKey) -> str:
        """See SchemaStorage. It is the primary key, and the same as in Kubernetes."""
        return store.history_name(key)

    async def aclose(self) -> None:
        """See SchemaStorage."""
        await self._database.aclose()

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        self._fence()
        async with self._database.writing() as connection:
            yield connection

    async def _one(self, query: Select[Any]) -> Any:
        """Return the row as a mapping, or None."""
        async with self._database.reading() as connection:
            return (await connection.execute(query)).mappings().one_or_none()

    async def _put_payloads(
        self,
        history: History,
        versions: Sequence[tuple[VersionEntry, SchemaInfo]],
        source_hash: str | None = None,
        *,
        is_announced: bool = False,
    ) -> None:
        """Write the payloads in one transaction, or reuse the same ones of an earlier attempt."""
        if not versions:
            return
        async with self._writing() as connection:
            for entry, payload in versions:
                sources = source_hash if entry is versions[-1][0] else None
                until = replace(history, entries=(entry,))
                to_wire = partial(store.version_to_wire, until, payload, sources, namespace="")
                # Compressing a large payload takes milliseconds, in which other tasks can run.
                wire = to_wire() if weight(payload) < _LARGE_BYTES else await asyncio.to_thread(to_wire)
                await _put_payload(connection, wire, payload, is_announced=is_announced)
        for _, payload in versions:
            self._payloads.put(payload.content_hash, payload, weight(payload))


async def _put_payload(connection: AsyncConnection, wire: Object, payload: SchemaInfo, *, is_announced: bool) -> None:
    """Write the payload, or reuse the existing one: its new time prevents its collection."""
    row = {**tables.row_of(wire), "is_announced": is_announced}
    statement = insert(VERSION).values(row)
    reuse = statement.on_conflict_do_update(
        index_elements=[VERSION.c.name],
        set_={
            "written": statement.excluded.written,
            "is_announced": or_(VERSION.c.is_announced, statement.excluded.is_announced),
        },
    )
    existing = (await connection.execute(reuse.returning(VERSION))).mappings().one()
    if existing["spec"] == wire["spec"]:
        return
    if store.version_from_wire(tables.object_of(SCHEMA_VERSION, existing)).content_hash != payload.content_hash:
        raise StalledError(Reason.HISTORY_DAMAGED, f"the payload {row['name']} exists with other contents")


async def _swap(connection: AsyncConnection, table: Table, wire: Object, expected: str) -> int:
    """Insert or replace the row. Return its new revision. Raises ConflictError if it changed or is gone."""
    revision = await connection.scalar(tables.swap(table, wire, expected))
    if revision is None:
        raise ConflictError(f"{wire['metadata']['name']} changed since it was read")
    return int(revision)


def _added(before: History, history: History) -> set[str]:
    """Return the names of the payloads of the entries that `before` lacks."""
    had = {each.identity for each in before.entries} if before.incarnation == history.incarnation else set()
    return {_name(history, each) for each in history.entries if not each.is_tombstone and each.identity not in had}


def _name(history: History, entry: VersionEntry) -> str:
    return store.version_name(history.key, history.incarnation, *entry.identity)


def _in_namespace(key: PulsarNamespaceKey) -> ColumnElement[bool]:
    return and_(HISTORY.c.registry == key.registry, HISTORY.c.pulsar_namespace == key.pulsar_namespace)


def _claim(key: PulsarNamespaceKey, row: Any) -> StoredClaim:
    claim = store.claim_from_wire(tables.object_of(PULSAR_NAMESPACE_CLAIM, row))
    return StoredClaim(key, claim.owner, str(row["revision"]), claim.original, claim.managed, claim.address)
