"""Stream of the histories that other clients change: notifications of PostgreSQL, and a list after each failure."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Final

from sqlalchemy import select

from topicschema.core.errors import TopicSchemaError
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.postgresql.database import Database
from topicschema.storage.postgresql.tables import HISTORY

_LOG = logging.getLogger(__name__)
_RETRY_SECONDS: Final = 1.0


async def changes(database: Database, writer: str) -> AsyncGenerator[TopicKey, None]:
    """Yield the topic of each history that another writer than `writer` writes, or that any deletes.

    It begins with all histories: this process may have read one of them shortly before.
    """
    known: dict[TopicKey, int] = {}
    logged = ""
    while True:
        try:
            async with database.notifications() as payloads:
                before, known = known, await _listed(database)
                for key in before | known:
                    if before.get(key) != known.get(key):
                        yield key
                async for payload in payloads:
                    for key in _news(payload, known, writer):
                        yield key
        except TopicSchemaError as error:
            if error.message != logged:
                logged = error.message
                _LOG.warning("changes of histories are not observed: %s", logged)
        await asyncio.sleep(_RETRY_SECONDS)


def _news(payload: str, known: dict[TopicKey, int], writer: str) -> list[TopicKey]:
    """Return the topic of a notification unless the list had it or `writer` wrote it. Update the known revisions."""
    by, registry, tenant, namespace, local_name, revision = json.loads(payload)
    key = TopicKey(registry, Topic(tenant, namespace, local_name))
    if revision is None:
        known.pop(key, None)
        return [key]
    if revision <= known.get(key, 0):
        return []
    known[key] = revision
    return [] if by == writer else [key]


async def _listed(database: Database) -> dict[TopicKey, int]:
    """Return the revision of each history."""
    columns = HISTORY.c
    query = select(columns.registry, columns.pulsar_namespace, columns.local_name, columns.revision)
    async with database.reading() as connection:
        rows = await connection.execute(query)
    listed = dict[TopicKey, int]()
    for registry, pulsar_namespace, local_name, revision in rows:
        tenant, namespace = pulsar_namespace.split("/", 1)
        listed[TopicKey(registry, Topic(tenant, namespace, local_name))] = revision
    return listed
