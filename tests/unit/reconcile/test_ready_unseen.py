"""A topic stays Ready though its broker is not seen only while the record tells that the broker had its schema."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from yarl import URL

from specimens import record
from topic_world import ORDERS, TOPIC, World, opened
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import Owner
from topicschema.core.schemas import Schema
from topicschema.reconcile.queue import Key, Rest
from topicschema.reconcile.topicschema import TopicSchemas

KEY = Key(TOPIC_SCHEMA.plural, "shop", "created")
ONE, TWO = record("id"), record("id", "a?")
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


class Topic:
    """A TopicSchema, and what its conditions say after passes over it."""

    def __init__(self, world: World) -> None:
        self.world, self.broker = world, world.broker
        self._passes = TopicSchemas(world.around)
        self._generation = 0

    def wants(self, schema: Schema) -> None:
        """The next generation."""
        self._generation += 1
        spec = {"topic": f"persistent://shop/orders/{TOPIC}", "type": "AVRO", "schema": schema.info.schema.decode()}
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
        wire = await self.world.around.client.get(TOPIC_SCHEMA, "shop", "created")
        return {each["type"]: each["status"] for each in wire["status"]["conditions"]}

    async def _passed(self) -> None:
        try:
            while await self._passes.reconcile(KEY) is Rest.AGAIN:
                pass
        except TopicSchemaError:
            return

    async def governed(self, **spec: Any) -> None:
        """By a policy that says this, too; None takes a field away."""

        def change(wire: dict[str, Any]) -> None:
            wire["spec"] = {name: value for name, value in {**wire["spec"], **spec}.items() if value is not None}
            wire["metadata"]["generation"] += 1

        self.world.api.change("/shop/namespaceschemapolicies/orders", change)
        policy = await self.world.around.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
        pulsar = policy["spec"].get("pulsar")
        address = "" if pulsar is None else URL(pulsar["adminURL"]).authority
        claims, owner = self.world.around.claims, Owner("shop", "orders", policy["metadata"]["uid"])
        await claims.put_claim(await claims.get_claim(ORDERS), owner, address)


@pytest.fixture
async def topic() -> AsyncIterator[Topic]:
    async with opened() as world:
        yield Topic(world)


WELL = {"Ready": TRUE, "Compatible": TRUE, "Registered": TRUE, "InSync": TRUE}
JUDGED = {"Compatible": UNKNOWN, "Registered": UNKNOWN, "InSync": UNKNOWN}
WAITING = {"Ready": FALSE, "Reconciling": TRUE, **JUDGED}


async def test_what_the_broker_had_stays_ready_while_it_is_not_seen(topic: Topic) -> None:
    topic.wants(ONE)
    assert await topic.says() == WELL
    topic.broker.is_shut = True
    assert await topic.says() == {**WELL, "InSync": UNKNOWN}
    topic.broker.is_shut = False
    assert await topic.says() == WELL


async def test_an_edit_that_was_only_observed_is_not_ready_where_it_may_not_be_uploaded(topic: Topic) -> None:
    topic.wants(ONE)
    assert await topic.says() == WELL
    await topic.governed(managementPolicy="Observe")
    topic.wants(TWO)
    assert await topic.says() == {**WELL, "Registered": FALSE, "InSync": FALSE}
    await topic.governed(managementPolicy=None)
    topic.broker.upload_status = 403
    assert await topic.says() == WAITING
    topic.broker.is_shut = True
    assert await topic.says() == WAITING


async def test_an_edit_that_was_only_observed_is_not_ready_while_the_broker_is_not_seen(topic: Topic) -> None:
    await topic.governed(managementPolicy="Observe")
    topic.wants(ONE)
    assert await topic.says() == {**WELL, "Registered": FALSE, "InSync": FALSE}
    topic.broker.is_shut = True
    assert await topic.says() == WAITING


@pytest.mark.parametrize("hindrance", ["away", "no such Secret", "not allowed"])
async def test_what_was_registered_without_a_broker_is_not_ready_before_the_broker_has_it(
    topic: Topic, hindrance: str
) -> None:
    there: dict[str, Any] = {"adminURL": topic.broker.url}
    await topic.governed(pulsar=None)
    topic.wants(ONE)
    assert await topic.says() == WELL
    token = {"token": {"secretKeyRef": {"name": "admin", "key": "token"}}}
    named = {
        "away": there,
        "no such Secret": {**there, "authentication": token},
        "not allowed": {"adminURL": "http://elsewhere:8080"},
    }
    topic.broker.is_shut = hindrance == "away"
    await topic.governed(pulsar=named[hindrance])
    stalled = {"Ready": FALSE, "Stalled": TRUE, **JUDGED}
    assert await topic.says() == (stalled if hindrance == "not allowed" else WAITING)
    topic.broker.is_shut = False
    await topic.governed(pulsar=there)
    assert await topic.says() == WELL
    assert await topic.world.agrees()


async def test_a_version_that_others_deleted_is_not_ready_before_it_is_there_again(topic: Topic) -> None:
    topic.wants(ONE)
    assert await topic.says() == WELL
    topic.broker.schemas.soft_delete(TOPIC)
    topic.broker.upload_status = 403
    assert await topic.says() == WAITING
    topic.broker.upload_status = 200
    assert await topic.says() == WELL
    assert await topic.world.agrees()


async def test_a_version_on_record_as_deleted_is_not_ready_while_the_broker_is_not_seen(topic: Topic) -> None:
    topic.wants(ONE)
    assert await topic.says() == WELL
    before = await topic.world.around.client.get(TOPIC_SCHEMA, "shop", "created")
    topic.broker.schemas.soft_delete(TOPIC)
    topic.broker.upload_status = 403
    await topic.says()
    topic.world.api.change("/shop/topicschemas/created", lambda wire: wire.update(status=before["status"]))
    topic.broker.is_shut = True
    assert await topic.says() == WAITING
