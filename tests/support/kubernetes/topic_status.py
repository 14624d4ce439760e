"""A TopicSchema behind a played API server, at a broker in memory: whole passes over it, and what it then says."""

from dataclasses import replace
from typing import Any

from yarl import URL

from support.kubernetes.topic import ORDERS, TOPIC, World
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import Owner
from topicschema.core.schemas import Schema
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.reconcile.topicschema.reconciler import TopicSchemas

KEY = Key(TOPIC_SCHEMA.plural, "shop", "created")
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
WELL = {"Ready": TRUE, "Compatible": TRUE, "Registered": TRUE, "InSync": TRUE}


class ToldTopic:
    """A TopicSchema, and what its conditions say after passes over it."""

    def __init__(self, world: World) -> None:
        self.world, self.broker = world, world.broker
        self.enqueued: list[Key] = []
        self.ctx = replace(world.ctx, enqueue=lambda key, _: self.enqueued.append(key))
        self._passes = TopicSchemas(self.ctx)
        self._generation = 0

    def wants(self, schema: Schema, **others: Any) -> None:
        """The next generation."""
        self._generation += 1
        text = schema.info.schema.decode()
        spec = {"topic": f"persistent://shop/orders/{TOPIC}", "type": "AVRO", "schema": text, **others}
        if self._generation == 1:
            self.world.api.put(TOPIC_SCHEMA, "shop", "created", {"metadata": {"uid": "uid-1"}, "spec": spec})
        self.world.api.change(
            "/shop/topicschemas/created",
            lambda wire: wire.update(spec=spec, metadata={**wire["metadata"], "generation": self._generation}),
        )

    async def says(self) -> dict[str, str]:
        """The conditions once nothing moves any more; a second look writes nothing."""
        await self._passed()
        before = len(self.world.api.requests)
        await self._passed()
        assert [each for each in self.world.api.requests[before:] if not each.startswith("GET")] == []
        return {each["type"]: each["status"] for each in await self._conditions()}

    async def ready(self) -> tuple[str, str]:
        """Reason and message of Ready."""
        return next((each["reason"], each["message"]) for each in await self._conditions() if each["type"] == "Ready")

    async def _conditions(self) -> list[dict[str, str]]:
        wire = await self.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created")
        conditions: list[dict[str, str]] = wire["status"]["conditions"]
        return conditions

    async def _passed(self) -> None:
        try:
            while await self._passes.reconcile(KEY) is Result.REQUEUE:
                pass
        except TopicSchemaError:
            return

    async def governed(self, **spec: Any) -> None:
        """By a policy that says this, too; None takes a field away."""

        def change(wire: dict[str, Any]) -> None:
            wire["spec"] = {name: value for name, value in {**wire["spec"], **spec}.items() if value is not None}
            wire["metadata"]["generation"] += 1

        self.world.api.change("/shop/namespaceschemapolicies/orders", change)
        policy = await self.world.ctx.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
        pulsar = policy["spec"].get("pulsar")
        address = "" if pulsar is None else URL(pulsar["adminURL"]).authority
        claims, owner = self.world.ctx.claims, Owner("shop", "orders", policy["metadata"]["uid"])
        await claims.put_claim(await claims.get_claim(ORDERS), owner, address)
