"""PostgreSQL beside Kubernetes: the operations of `topicschema storage bench`, edits, and the controller's memory."""

import asyncio
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace

from sqlalchemy import text as sql

from benchmarks.rows import Goal, Row, beside
from benchmarks.schemas import schema
from benchmarks.settling import resident
from benchmarks.stage import NAMESPACE, Stage, apply_request, stage
from benchmarks.traffic import send
from testbed import install
from testbed.controlplane import ControlPlane, owned
from testbed.instances import Instance
from testbed.postgresql import PostgreSQL
from testbed.product import NAMESPACE as SYSTEM
from topicschema.cli.storage_bench import StorageBench
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core import formats
from topicschema.core.history import History, Origin
from topicschema.core.schemas import NEWEST, Schema, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage import plugins
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.plugins import StorageUrl
from topicschema.storage.postgresql.database import Database
from topicschema.storage.postgresql.storage import PostgresStorage
from topicschema.storage.protocol import SchemaStorage, Stored

_TOPICS, _VERSIONS, _SIZE, _ROUNDS, _AT_ONCE = 10_000, 20, 2_000, 5, 16
_NAMES = [f"stored-{number}" for number in range(_TOPICS)]
_EDITED = _NAMES[:40]
_IN_POSTGRESQL = f"in PostgreSQL, {_TOPICS} topics of {_VERSIONS} versions"
_AS_FAST, _MEMORY = Goal(1.2, at_most=True), Goal(1.1, at_most=True)
_OPERATIONS = {"put": "a new version", "get": "a payload", "history": "a history"}
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


def measure() -> Iterator[Row]:
    """Yield the milliseconds of operations and of edits, and the memory of the controller."""
    with owned() as plane:
        install.install_crds(plane.cluster)
        plane.cluster.kubectl("create", "namespace", SYSTEM)
        database, kubernetes = asyncio.run(_operations(plane))
    for operation, name in _OPERATIONS.items():
        anchor = ("Kubernetes", statistics.median(kubernetes[operation]))
        figure = statistics.median(database[operation])
        yield beside(f"{name} {_IN_POSTGRESQL}", figure, "ms", anchor, _AS_FAST)
    with _managed(plugins.POSTGRESQL) as (own, memory), _managed(plugins.DEFAULT) as (other, other_memory):
        rounds = [(_edit(own, _EDITED, each), _edit(other, _EDITED, each)) for each in range(_VERSIONS, _VERSIONS + 6)]
    edit, other_edit = map(statistics.median, zip(*rounds[1:], strict=True))  # the first one warms up
    yield beside(f"edit p50 {_IN_POSTGRESQL}", edit, "ms", ("Kubernetes", other_edit), _AS_FAST)
    name = f"resident memory of the controller {_IN_POSTGRESQL}"
    yield beside(name, memory, "MB", ("Kubernetes", other_memory), _MEMORY)


async def _operations(plane: ControlPlane) -> tuple[Times, Times]:
    """Return the median milliseconds of each round, by operation. The stores take turns."""
    pool = Database(StorageUrl(PostgreSQL.start(plane.instance).url()))
    async with ApiClient(ApiConnection.load(str(plane.cluster.kubeconfig))) as client:
        database = PostgresStorage(pool, lambda: None, cache_bytes=0)
        await _write(database, ["created"])
        async with pool.writing() as connection:
            for statement in (_HISTORIES, _PAYLOADS):
                await connection.execute(sql(statement), {"topics": _TOPICS})
        stores: tuple[SchemaStorage, ...] = (database, KubernetesStorage(client, SYSTEM, cache_bytes=0))
        results: tuple[Times, Times] = ({}, {})
        for _ in range(_ROUNDS):
            for store, times in zip(stores, results, strict=True):
                for each in await StorageBench(store, asyncio.Event()).run():
                    times.setdefault(each.operation, []).append(each.percentile(50))
        await database.aclose()
    return results


@contextmanager
def _managed(store: str) -> Iterator[tuple[Stage, float]]:
    """Yield a stage with a TopicSchema for each stored history, and the MB of its controller, which then stops."""
    server = Instance.owned()
    try:
        environment = {"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": store}
        if store == plugins.POSTGRESQL:
            environment["TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL"] = PostgreSQL.start(server).url()
        with stage(environment) as on:
            asyncio.run(_fill(on, _NAMES, environment))
            on.product.start_controller()
            _edit(on, _NAMES[:1], _VERSIONS - 1, 201)  # the topic with the payloads
            on.wait_until_ready(1)
            _edit(on, _NAMES[1:], _VERSIONS - 1, 201)
            on.wait_until_ready(_TOPICS, 900)
            memory = resident(on.product.controller)
            on.product.controller.terminate()  # so that the edits are those of admission
            on.product.start_webhook()
            on.product.admit()
            yield on, memory
    finally:
        server.end()


def _edit(on: Stage, names: Sequence[str], revision: int, expect: int = 200) -> float:
    """Return the median milliseconds of an edit."""
    text, streams = schema(_SIZE, revision), _AT_ONCE if expect == 201 else 1
    requests = [apply_request(number % streams, each, text, expect) for number, each in enumerate(names)]
    return send(on.target, requests).p50


async def _fill(on: Stage, names: Sequence[str], environment: Mapping[str, str]) -> None:
    url = StorageUrl(environment.get("TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL", ""))
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(on.client())
        store = plugins.load(environment["TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE"], url)(client, SYSTEM, cache_bytes=0)
        stack.push_async_callback(store.aclose)
        await _write(store, names)


async def _write(store: SchemaStorage, names: Sequence[str]) -> None:
    """Store a history of each name. All have the payloads of the first, which processes have in memory then."""
    schemas = list(map(_parsed, range(_VERSIONS)))
    at_once = asyncio.Semaphore(_AT_ONCE)
    first, *others = (TopicKey(NAMESPACE, Topic("shop", "orders", each)) for each in names)
    history = History(first)
    for each in schemas:
        history = history.with_version(each, Origin.SPEC, "2026-11-21T05:30:00Z")
    await store.put(Stored(History(first)), history, [each.info for each in schemas])

    async def write(key: TopicKey) -> None:
        async with at_once:
            own = replace(history, key=key)
            await store.put(Stored(own), own)

    await asyncio.gather(*map(write, others))


def _parsed(number: int) -> Schema:
    return formats.parse(SchemaInfo(SchemaType.AVRO, schema(_SIZE, number).encode()), NEWEST)
