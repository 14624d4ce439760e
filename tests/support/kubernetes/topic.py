"""A topic with a history at a fake API server and a broker in memory: the results of reconciles."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from support.kubernetes.api_server import FakeApiServer
from support.kubernetes.reconciling import reconcile_context
from support.kubernetes.registries import observed, registry
from support.kubernetes.stores import KubernetesStore, ObservedStorage, Store
from support.pulsar.fake_broker import ManualClock
from support.pulsar.schema_service import PulsarSchemas
from support.pulsar.schema_service_rest import FakeSchemaBroker, run_schema_broker
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api.kinds import NAMESPACE, NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY
from topicschema.api.metadata import Metadata
from topicschema.api.registries import PulsarSpec
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec
from topicschema.broker.errors import BrokerInconsistentError
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Origin, Owner
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema import observe
from topicschema.reconcile.topicschema.act import apply
from topicschema.reconcile.topicschema.observe import Judged, blocking_error

ORDERS = PulsarNamespaceKey("pulsar", "shop", "orders")
TOPIC = "created"
KEY = TopicKey("pulsar", Topic("shop", "orders", TOPIC))
open_store: Callable[[FakeApiServer, ApiClient], Store] = KubernetesStore
"""The store of the topics that are opened."""
_RECONCILES = 12
_LONG_AGO = "2026-11-20T00:00:00Z"


@dataclass
class World:
    """A topic, its history and its broker."""

    ctx: ReconcileContext
    broker: FakeSchemaBroker
    api: FakeApiServer
    store: Store
    resource: TopicSchema = field(init=False)

    def set_schema(self, schema: Schema, **spec: object) -> None:
        resource_spec = TopicSchemaSpec(
            topic=f"persistent://shop/orders/{TOPIC}",
            type=schema.info.type,
            schema=schema.info.schema.decode(),
            **spec,  # type: ignore[arg-type]
        )
        metadata = Metadata(name="created", namespace="shop", uid="uid-1", generation=1)
        self.resource = TopicSchema(metadata=metadata, spec=resource_spec)

    async def observe(self) -> Judged:
        governing = await observe.governing_policy(self.ctx, self.resource)
        loaded = await observe.load(self.ctx, self.resource, governing)
        return await observe.judge(self.ctx, await observe.with_broker_state(self.ctx, loaded))

    async def apply_actions(self) -> Judged | None:
        """Apply actions until none is planned and return what is then observed; None if it must be read again."""
        judged = await self.observe()
        while judged.planned:
            loaded = await apply(self.ctx, judged, judged.planned[0])
            if loaded is None:
                return None
            judged = await observe.judge(self.ctx, loaded, judged)
        return judged

    async def settle(self) -> str:
        """Reconcile until nothing is left to do. Return the reason that it stops with, "" if all is settled."""
        for _ in range(_RECONCILES):
            with suppress(ConflictError, BrokerInconsistentError):
                judged = await self.apply_actions()
                if judged is None:
                    continue
                stop = blocking_error(judged)
                if stop is not None:
                    return stop.reason
                return "" if judged.verdict is not None and judged.verdict.is_compatible else "Incompatible"
        raise AssertionError("the topic does not settle")

    async def apply(self, schema: Schema, **spec: object) -> str:
        """Set the resource's schema and spec, and return as `settle`."""
        self.set_schema(schema, **spec)
        return await self.settle()

    async def reason(self) -> str:
        """Return as `settle`, but also the reason of a StalledError."""
        try:
            return await self.settle()
        except StalledError as error:
            return error.reason

    async def history(self) -> History:
        return (await self.ctx.storage.get_history(KEY)).history

    async def store_versions(self, *schemas: Schema, key: TopicKey = KEY, others: int = 0, **members: Any) -> History:
        """Add these versions to a topic's history, without its broker. Other clients made the first `others`."""
        stored = await self.ctx.storage.get_history(key)
        history = stored.history
        for number, schema in enumerate(schemas):
            history = history.with_version(schema, Origin.BROKER if number < others else Origin.SPEC, _LONG_AGO)
        history = replace(history, **members)
        return (await self.ctx.storage.put(stored, history, tuple(each.info for each in schemas))).history

    def set_registry(
        self, name: str = "pulsar", *, pulsar: dict[str, Any] | None = None, version: str = "4.0.7", **spec: Any
    ) -> None:
        """Replace the registry of that name, whose broker reported that version."""
        wire = registry(name, pulsar, **spec)
        address = "" if pulsar is None else PulsarSpec(admin_url=pulsar["adminURL"]).address
        wire["status"] = observed(address, version) if address else {}
        self.api.put(SCHEMA_REGISTRY, "", name, wire)

    async def change_registry(self, *, pulsar: dict[str, Any] | None) -> None:
        """Set the broker of the policy's registry or, with None, the operator's own store, and the policy's claim."""
        present = await self.ctx.client.get(SCHEMA_REGISTRY, "", "pulsar")
        others = {name: value for name, value in present["spec"].items() if name != "pulsar"}
        self.set_registry(pulsar=pulsar, **others)
        await self.claim()

    def set_policy(self, **spec: object) -> None:
        """Set these fields of the policy; None removes a field."""

        def edit(wire: dict[str, Any]) -> None:
            wire["spec"] = {name: value for name, value in {**wire["spec"], **spec}.items() if value is not None}
            wire["metadata"]["generation"] += 1

        self.api.change("/shop/namespaceschemapolicies/orders", edit)

    async def change_policy(self, **spec: object) -> None:
        """Set these fields of the policy, and its claim."""
        self.set_policy(**spec)
        await self.claim()

    async def claim(self) -> None:
        """Let the policy have the claim at the broker of its registry."""
        policy = await self.ctx.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
        name = policy["spec"]["registry"]
        address = (await self.ctx.registries.get(name)).address
        claim = await self.ctx.storage.get_claim(replace(ORDERS, registry=name))
        await self.ctx.storage.put_claim(claim, Owner("shop", "orders", policy["metadata"]["uid"]), address)

    @property
    def pulsar(self) -> dict[str, Any]:
        """The registry's field `pulsar` that names this broker."""
        return {"adminURL": self.broker.url}

    @property
    def storage(self) -> ObservedStorage:
        """The controller's client of the store."""
        assert isinstance(self.ctx.storage, ObservedStorage)
        return self.ctx.storage

    async def delete_history(self) -> None:
        """Delete history and payloads, as another client."""
        self.store.lose(KEY)

    @property
    def writes(self) -> int:
        """The number of writes at the API server and in the store."""
        return self.api.writes + self.store.writes

    def upload(self, *schemas: Schema) -> None:
        """Upload these versions to the broker as another client."""
        for schema in schemas:
            self.broker.schemas.upload(TOPIC, schema.info)

    async def is_recorded(self) -> bool:
        """Return True if history and broker have the same versions, each content once."""
        history, served = await self.history(), self.broker.schemas.served(TOPIC)
        contents = [version.info.content_hash for version in served]
        assert len(set(contents)) == len(contents), "a version is stored twice"
        return [(e.schema_version, e.content_hash, e.registered_at) for e in history.active_versions] == [
            (v.schema_version, v.info.content_hash, v.registered_at) for v in served
        ]


@asynccontextmanager
async def open_topic() -> AsyncIterator[World]:
    """Yield a topic with an effective policy at a broker with FULL. No two readings of its clock are equal."""
    ticks = [0]

    def now() -> str:
        ticks[0] += 1
        return f"2026-11-21T{ticks[0] // 3600:02}:{ticks[0] // 60 % 60:02}:{ticks[0] % 60:02}Z"

    schemas = PulsarSchemas(now, Strategy.FULL)
    api = FakeApiServer()
    async with api.running(), ApiClient(api.connection) as client, run_schema_broker(schemas) as broker:
        constraints = {
            "allowedStrategies": [each.value for each in Strategy],
            "allowedDeletionPolicies": ["Retain", "Delete"],
            "mayRelaxValidation": True,
        }
        spec = {"registry": "pulsar", "pulsarNamespace": "shop/orders", "constraints": constraints}
        api.put(NAMESPACE_SCHEMA_POLICY, "shop", "orders", {"spec": spec})
        api.put(NAMESPACE, "", "shop", {})
        brokers = Brokers(client, SYSTEM, lambda: None, ManualClock().as_clock())
        store = open_store(api, client)
        storage: Any = ObservedStorage(store.client())
        async with reconcile_context(client, brokers, storage) as ctx:
            world = World(ctx, broker, api, store)
            world.set_registry(pulsar=world.pulsar)
            await world.claim()
            yield world
