"""Session of a leader: queue, reconcilers, watch and garbage collection."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from datetime import UTC, datetime

from topicschema import telemetry
from topicschema.api.kinds import SCHEMA_REGISTRY, SECRET, TOPIC_SCHEMA
from topicschema.cluster.changes import changes
from topicschema.cluster.client import ApiClient
from topicschema.cluster.events import EventRecorder
from topicschema.controller.watch import Watch
from topicschema.core.errors import TopicSchemaError
from topicschema.judging.judge import Judge
from topicschema.judging.policies import PolicyResolver
from topicschema.judging.registries import Registries
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.context import ReconcileContext, ValidationContext
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.registry import SchemaRegistryReconciler
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.reconcile.runtime.job_limiter import JobLimiter, JobLimits
from topicschema.reconcile.runtime.object_index import ConditionLabels, ObjectIndex
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult, WorkQueue
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.settings import Settings
from topicschema.validation.job.pods import Runtime

_LOG = logging.getLogger(__name__)
_GC_INTERVAL = 3600.0
_FIRST_GC_SECONDS = 60.0  # early: a process that is often replaced would otherwise never collect


class LeaderSession:
    """Work of a leader. A new session has no state of an earlier one."""

    def __init__(
        self,
        settings: Settings,
        client: ApiClient,
        health: telemetry.ControllerHealth,
        watch: Watch,
    ) -> None:
        self._settings = settings
        self._client = client
        self._watch = watch
        self._health = health
        self._index = ObjectIndex()
        self._own_writes = OwnWrites()
        validation = settings.validation
        self._brokers = Brokers(client, settings.namespace, client.fence, per_second=settings.broker_requests)
        self.queue = WorkQueue(self._reconcile, settings.resync_period, broker_of=self._broker_of)
        self._storage = settings.storage(client, settings.namespace, identity=settings.identity)
        self._registries = Registries(client, are_watched=True)
        self._limiter = JobLimiter(validation.namespace, JobLimits(validation.jobs, validation.jobs_per_namespace))
        self._judge = Judge(self._storage, checkers=settings.checkers)
        ctx = ReconcileContext(
            client=client,
            storage=self._storage,
            registries=self._registries,
            policies=PolicyResolver(client, self._storage, self._registries),
            judge=self._judge,
            events=EventRecorder(client, settings.identity),
            brokers=self._brokers,
            index=self._index,
            own_writes=self._own_writes,
            enqueue=self.queue.add,
            validation=ValidationContext(
                Runtime(validation.image, validation.spark_image, validation.spark_from_seconds),
                validation.namespace,
                self._limiter,
            ),
        )
        self._topics = TopicSchemaReconciler(ctx)
        self._policies = NamespaceSchemaPolicies(ctx, settings.resync_period)
        self._registry_reconciler = SchemaRegistryReconciler(ctx)

    @property
    def condition_counts(self) -> Mapping[ConditionLabels, int]:
        """The number of resources by kind, namespace, condition, status and reason."""
        return self._index.condition_counts

    async def run(self) -> None:
        """Work until cancelled. Raises the error that stopped it."""
        self._health.last_activity.clear()
        router = EventRouter(self._index, self._own_writes, self._registries.forget, self.queue.add)
        with contextlib.closing(self._judge):
            async with (
                contextlib.aclosing(self._storage),
                contextlib.aclosing(self._brokers),
                asyncio.TaskGroup() as group,
            ):
                group.create_task(self._follow_histories(router))  # first, so that it knows of the queue's writes
                group.create_task(self.queue.run(self._settings.workers))
                group.create_task(self._follow_secrets(router))
                group.create_task(self._collect_garbage())
                group.create_task(self._watch.run(router))

    async def _broker_of(self, key: Key) -> str:
        return await self._reconciler(key).broker_of(key)

    async def _reconcile(self, key: Key) -> ReconcileResult:
        try:
            return await self._reconciler(key).reconcile(key)
        finally:
            await self._limiter.reconciled(self._client, key, self.queue.add)

    def _reconciler(self, key: Key) -> TopicSchemaReconciler | NamespaceSchemaPolicies | SchemaRegistryReconciler:
        if key.plural == SCHEMA_REGISTRY.plural:
            return self._registry_reconciler
        return self._topics if key.plural == TOPIC_SCHEMA.plural else self._policies

    async def _follow_histories(self, router: EventRouter) -> None:
        async for history in self._storage.changed():
            router.on_history(history)

    async def _follow_secrets(self, router: EventRouter) -> None:
        async for metadata, _ in changes(self._client, SECRET, self._settings.namespace):
            router.on_secret(metadata["name"])

    async def _collect_garbage(self) -> None:
        await asyncio.sleep(_FIRST_GC_SECONDS)
        while True:
            try:
                removed = await self._storage.collect_garbage(datetime.now(UTC))
            except TopicSchemaError as error:
                _LOG.warning("garbage collection failed", extra={"fields": {"reason": error.reason}})
            else:
                _LOG.info("removed unreferenced payloads", extra={"fields": {"payloads": removed}})
            await asyncio.sleep(_GC_INTERVAL)
