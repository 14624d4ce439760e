"""The context of reconciles, without a work queue: a test starts each reconcile."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from testbed.product import NAMESPACE as SYSTEM
from topicschema.cluster.client import ApiClient
from topicschema.cluster.events import EventRecorder
from topicschema.judging.judge import Judge
from topicschema.judging.policies import PolicyResolver
from topicschema.judging.registries import Registries
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.work_queue import WorkQueue
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import SchemaStorage


@asynccontextmanager
async def reconcile_context(
    client: ApiClient, brokers: Brokers, storage: SchemaStorage | None = None
) -> AsyncIterator[ReconcileContext]:
    """Yield the context of reconciles with that API server, brokers and storage. The client stays open."""
    storage = storage or KubernetesStorage(client, SYSTEM)
    registries = Registries(client)
    with contextlib.closing(Judge(storage)) as judge:
        async with contextlib.aclosing(brokers):
            yield ReconcileContext(
                client=client,
                storage=storage,
                registries=registries,
                policies=PolicyResolver(client, storage, registries),
                judge=judge,
                events=EventRecorder(client, "test"),
                brokers=brokers,
                index=ObjectIndex(),
                own_writes=OwnWrites(),
                enqueue=lambda _key, _after: None,
            )


async def run_due(queue: WorkQueue) -> None:
    """Reconcile all keys that are due, and those that become due by that."""
    while queue.waiting:
        async with asyncio.TaskGroup() as group:
            queue.start_due(group)
