"""A topic with a record behind a played API server, at a broker in memory: what passes over it come to."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from yarl import URL

from support.kubernetes.api_server import FakeApiServer
from support.kubernetes.passes import reconcile_context
from support.kubernetes.stores import KubernetesStore, ObservedStorage, Store
from support.pulsar.fake_broker import TurnedClock
from support.pulsar.schema_service import PulsarSchemas
from support.pulsar.schema_service_rest import PulsarAtTheWire, serving
from topicschema.api import PULSAR_NAMESPACES_ANNOTATION
from topicschema.api.kinds import NAMESPACE, NAMESPACE_SCHEMA_POLICY
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec
from topicschema.broker.errors import BrokerInconsistentError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Owner
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema import gather
from topicschema.reconcile.topicschema.actions import apply
from topicschema.reconcile.topicschema.gather import Judged, blocking_error

ORDERS = PulsarNamespaceKey("pulsar", "shop", "orders")
TOPIC = "created"
KEY = TopicKey("pulsar", Topic("shop", "orders", TOPIC))
open_store: Callable[[FakeApiServer, ApiClient], Store] = KubernetesStore
"""The store of the topics that are opened."""
_PASSES = 12


@dataclass
class World:
    """A topic, its record and its broker."""

    ctx: ReconcileContext
    broker: PulsarAtTheWire
    api: FakeApiServer
    store: Store
    resource: TopicSchema = field(init=False)

    def wants(self, schema: Schema, **spec: object) -> None:
        """The resource as it is to be."""
        wanted = TopicSchemaSpec(
            topic=f"persistent://shop/orders/{TOPIC}",
            type=schema.info.type,
            schema=schema.info.schema.decode(),
            **spec,  # type: ignore[arg-type]
        )
        metadata = Metadata(name="created", namespace="shop", uid="uid-1", generation=1)
        self.resource = TopicSchema(metadata=metadata, spec=wanted)

    async def seen(self) -> Judged:
        """What a reconcile gathers."""
        found = await gather.governing_policy(self.ctx, self.resource)
        loaded = await gather.load(self.ctx, self.resource, found)
        return await gather.judge(self.ctx, await gather.gather_broker(self.ctx, loaded))

    async def acted(self) -> Judged | None:
        """What is gathered once nothing is left to do; None where it must be read again."""
        seen = await self.seen()
        while seen.planned:
            loaded = await apply(self.ctx, seen, seen.planned[0])
            if loaded is None:
                return None
            seen = await gather.judge(self.ctx, loaded, seen)
        return seen

    async def settle(self) -> str:
        """Passes until nothing is left to do; the reason that they stop with, "" where all is settled."""
        for _ in range(_PASSES):
            with suppress(ConflictError, BrokerInconsistentError):
                seen = await self.acted()
                if seen is None:
                    continue
                stop = blocking_error(seen)
                if stop is not None:
                    return stop.reason
                return "" if seen.verdict is not None and seen.verdict.is_compatible else "Incompatible"
        raise AssertionError("it never settles")

    async def reason(self) -> str:
        """The same with the reason of an error that only a person can mend."""
        try:
            return await self.settle()
        except StalledError as error:
            return error.reason

    async def history(self) -> History:
        return (await self.ctx.storage.get_history(KEY)).history

    @property
    def storage(self) -> ObservedStorage:
        """The controller's client of the store."""
        assert isinstance(self.ctx.storage, ObservedStorage)
        return self.ctx.storage

    def allow_claims(self, namespace: str = "shop") -> None:
        """Store the Kubernetes namespace with the leave to claim the Pulsar namespaces of `shop`."""
        annotations = {PULSAR_NAMESPACES_ANNOTATION: "shop/*"}
        self.api.put(NAMESPACE, "", namespace, {"metadata": {"annotations": annotations}})

    async def loses_its_record(self) -> None:
        """Another client deletes it, payloads too."""
        self.store.lose(KEY)

    @property
    def writes(self) -> int:
        """The number of writes at the API server and in the store."""
        return self.api.writes + self.store.writes

    def there(self, *schemas: Schema) -> None:
        """The broker has these versions, whoever brought them."""
        for schema in schemas:
            self.broker.schemas.upload(TOPIC, schema.info)

    async def agrees(self) -> bool:
        """Whether record and broker tell the same of what counts, each content once."""
        history, served = await self.history(), self.broker.schemas.served(TOPIC)
        contents = [version.info.content_hash for version in served]
        assert len(set(contents)) == len(contents), "a version is there twice"
        return [(e.schema_version, e.content_hash, e.registered_at) for e in history.active_versions] == [
            (v.schema_version, v.info.content_hash, v.registered_at) for v in served
        ]


@asynccontextmanager
async def opened() -> AsyncIterator[World]:
    """A topic whose policy is in force, at a broker with FULL; its clock shows each time but once."""
    ticks = [0]

    def now() -> str:
        ticks[0] += 1
        return f"2026-11-21T{ticks[0] // 3600:02}:{ticks[0] // 60 % 60:02}:{ticks[0] % 60:02}Z"

    schemas = PulsarSchemas(now, Strategy.FULL)
    api = FakeApiServer()
    async with api.running(), ApiClient(api.connection) as client, serving(schemas) as broker:
        spec = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", "pulsar": {"adminURL": broker.url}}
        spec["brokerProfile"] = {"pulsarVersion": "4.0"}  # the policy is not reconciled in most tests
        policy = api.put(NAMESPACE_SCHEMA_POLICY, "shop", "orders", {"spec": spec})
        brokers = Brokers(client, AllowedHosts.parse("127.0.0.1"), lambda: None, TurnedClock().as_clock())
        store = open_store(api, client)
        storage: Any = ObservedStorage(store.client())
        async with reconcile_context(client, brokers, storage) as ctx:
            owner = Owner("shop", "orders", policy["metadata"]["uid"])
            await ctx.storage.put_claim(await ctx.storage.get_claim(ORDERS), owner, URL(broker.url).authority)
            yield World(ctx, broker, api, store)
