"""The context of a reconcile: API server, storage, brokers, judge, clocks, index of objects, work queue."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from topicschema.api.kinds import NAMESPACE
from topicschema.api.metadata import Metadata
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.wire import decode
from topicschema.broker.broker import Broker
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import NotFoundError
from topicschema.cluster.events import EventRecorder
from topicschema.judging.clock import utc_now
from topicschema.judging.judge import Judge
from topicschema.judging.policies import PolicyResolver
from topicschema.judging.registries import Registries
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.runtime.job_limiter import JobLimiter
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.setting_drift import SettingDrift
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.storage.protocol import SchemaStorage
from topicschema.validation.job.pods import Runtime


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """Settings and limits of validation in this installation. Without the image of runs there is no validation.

    All Jobs are in `namespace`. `packing` limits the requests, and `reading` the reports, in memory. Reading waits for
    nodes, so two run at once.
    """

    runtime: Runtime = field(default_factory=Runtime)
    namespace: str = "topicschema-validation"
    limiter: JobLimiter = field(default_factory=JobLimiter)
    packing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileContext:
    """The objects that all reconciles share.

    `enqueue` adds a key that is due within some seconds. Who reads several claims before it writes one holds
    `claiming`. `now` returns the time to store; `clock` is monotonic, in seconds.
    """

    client: ApiClient
    storage: SchemaStorage
    registries: Registries
    policies: PolicyResolver
    judge: Judge
    events: EventRecorder
    brokers: Brokers
    index: ObjectIndex
    own_writes: OwnWrites
    enqueue: Callable[[Key, float], None]
    claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    now: Callable[[], str] = utc_now
    clock: Callable[[], float] = time.monotonic
    drift: SettingDrift = field(default_factory=SettingDrift)
    validation: ValidationContext = field(default_factory=ValidationContext)

    async def used_bytes(self, policy: NamespaceSchemaPolicy) -> int | None:
        """Return the bytes that the policy's histories take in the store, or None if its registry has no limit."""
        if policy.limit_bytes is None:
            return None
        return await self.storage.used_bytes(policy.spec.claim_key)

    async def team_of(self, registry: SchemaRegistry, namespace: str) -> str:
        """Return the value of the namespace's label that names its team, or ""."""
        runs = registry.spec.validation
        if runs is None or runs.team_label is None:
            return ""
        with suppress(NotFoundError):
            wire = await self.client.get(NAMESPACE, "", namespace)
            return decode(Metadata, wire.get("metadata")).labels.get(runs.team_label, "")
        return ""

    async def broker_of(self, policy: NamespaceSchemaPolicy, *, refresh: bool = False) -> Broker | None:
        """Return the broker of the policy's registry, or None without one. With `refresh`, read its Secrets again.

        Raise RegistryNotFoundError, and the errors of `Brokers.of`.
        """
        return await self.brokers.of(await self.registries.get(policy.spec.registry), refresh=refresh)
