"""The time of a version in the store: PostgreSQL, which has 10,000 other topics of 20 versions, beside Kubernetes."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from sqlalchemy import text as sql

from benchmarks.rows import Goal, Row, beside
from benchmarks.schemas import schema
from testbed import install
from testbed.controlplane import ControlPlane, owned
from testbed.postgresql import PostgreSQL
from testbed.product import NAMESPACE
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.plugins import StorageUrl
from topicschema.storage.postgresql.database import Database
from topicschema.storage.postgresql.storage import PostgresStorage
from topicschema.storage.protocol import SchemaStorage
from topicschema.testing.storage_contract import append, newest, text

_TOPICS, _VERSIONS, _SIZE, _ROUNDS = 10_000, 20, 2_000, 100
_KEY = TopicKey("bench", Topic("shop", "orders", "created"))
_AS_FAST = Goal(1.2, at_most=True)
_HISTORIES = """
INSERT INTO topicschema_history
SELECT name || n, registry, pulsar_namespace, local_name || n, incarnation, bytes, nextval('topicschema_revision'), spec
FROM topicschema_history, generate_series(1, :topics) n
"""
_PAYLOADS = """
INSERT INTO topicschema_version
SELECT name || n, history || n, incarnation, bytes, written, is_announced, is_named, spec
FROM topicschema_version, generate_series(1, :topics) n
"""

Times = dict[str, list[float]]
T = TypeVar("T")


def measure() -> Iterator[Row]:
    """Yield the milliseconds for a new version, a history and a payload."""
    with owned() as plane:
        install.install_crds(plane.cluster)
        plane.cluster.kubectl("create", "namespace", NAMESPACE)
        database, kubernetes = asyncio.run(_measure(plane))
    for name, times in database.items():
        anchor = ("Kubernetes", statistics.median(kubernetes[name]) * 1000)
        figure = statistics.median(times) * 1000
        yield beside(f"{name} in PostgreSQL, {_TOPICS} topics of {_VERSIONS} versions", figure, "ms", anchor, _AS_FAST)


async def _measure(plane: ControlPlane) -> tuple[Times, Times]:
    pool = Database(StorageUrl(PostgreSQL.start(plane.instance).url()))
    async with ApiClient(ApiConnection.load(str(plane.cluster.kubeconfig))) as client:
        database, kubernetes = PostgresStorage(pool, lambda: None), KubernetesStorage(client, NAMESPACE)
        results: tuple[Times, Times] = ({}, {})
        for store in (database, kubernetes):
            for number in range(_VERSIONS):
                await append(store, _KEY, text(schema(_SIZE, number)))
        async with pool.writing() as connection:
            for statement in (_HISTORIES, _PAYLOADS):
                await connection.execute(sql(statement), {"topics": _TOPICS})
        for number in range(_ROUNDS):
            await _edit(database, PostgresStorage(pool, lambda: None), number, results[0])
            await _edit(kubernetes, KubernetesStorage(client, NAMESPACE), number, results[1])
        await database.aclose()
    return results


async def _edit(store: SchemaStorage, other: SchemaStorage, number: int, times: Times) -> None:
    """Store a version. Read it as another process does, with nothing in memory."""
    content = text(schema(_SIZE, _VERSIONS + number))
    stored = await _timed("a new version", times, lambda: append(store, _KEY, content))
    await _timed("a history", times, lambda: other.get_history(_KEY))
    await _timed("a payload", times, lambda: newest(other, stored))


async def _timed(name: str, times: Times, do: Callable[[], Awaitable[T]]) -> T:
    start = time.perf_counter()
    done = await do()
    times.setdefault(name, []).append(time.perf_counter() - start)
    return done
