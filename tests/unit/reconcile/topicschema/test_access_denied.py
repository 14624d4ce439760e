"""Topics whose broker does not let their policy in: the first who is let in again has the others looked at."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.kubernetes.topic import World, opened
from support.schemas.examples import record
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.broker.errors import BrokerForbiddenError
from topicschema.core.errors import TopicSchemaError
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.reconcile.topicschema.reconciler import TopicSchemas

NAMES = ("a", "b", "c")
POLICY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")


class Shop:
    """Three topics of one policy, and who was enqueued."""

    def __init__(self, world: World) -> None:
        self.enqueued: list[tuple[str, float]] = []
        self.broker = world.broker
        ctx = replace(world.ctx, enqueue=lambda key, after: self.enqueued.append((key.name, after)))
        ctx.index.are_topics_listed = True
        self.topics, self.policies = TopicSchemas(ctx), NamespaceSchemaPolicies(ctx, 0.0)
        world.allow_claims()
        schema = record("id").info.schema.decode()
        for name in NAMES:
            spec = {"topic": f"persistent://shop/orders/{name}", "type": "AVRO", "schema": schema}
            world.api.put(TOPIC_SCHEMA, "shop", name, {"spec": spec})

    async def look(self, *names: str) -> list[tuple[str, float]]:
        """Who is enqueued by passes over these topics."""
        self.enqueued.clear()
        for name in names:
            key = Key(TOPIC_SCHEMA.plural, "shop", name)
            while await self.topics.reconcile(key) is Result.REQUEUE:
                pass
        return [told for told in self.enqueued if told[0] in NAMES]

    async def denied(self) -> None:
        """Have the broker deny each access."""
        self.broker.is_shut = True
        for name in NAMES:
            with pytest.raises(BrokerForbiddenError):
                await self.look(name)
        with pytest.raises(TopicSchemaError):
            await self.policies.reconcile(POLICY)
        self.enqueued.clear()


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    async with opened() as world:
        yield Shop(world)


@pytest.mark.parametrize("is_registered", [False, True])
async def test_the_first_topic_that_is_let_in_again_has_the_others_looked_at_once(
    shop: Shop,
    is_registered: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    if is_registered:
        await shop.look(*NAMES)
    await shop.denied()
    shop.broker.is_shut = False
    assert await shop.look("b") == [("a", 0.0), ("c", 0.05)]
    assert await shop.look("a", "c", "b") == []


async def test_a_policy_that_is_let_in_again_has_its_topics_looked_at_once(shop: Shop) -> None:
    await shop.denied()
    shop.broker.is_shut = False
    assert await shop.policies.reconcile(POLICY) is Result.DONE
    assert [told for told in shop.enqueued if told[1] > 0] == [("b", 0.05), ("c", 0.1)]
    shop.enqueued.clear()
    assert await shop.policies.reconcile(POLICY) is Result.DONE
    assert shop.enqueued == []


async def test_nobody_tells_of_a_topic_that_is_gone(shop: Shop) -> None:
    await shop.denied()
    index = shop.topics._ctx.index
    for name in NAMES:
        index.remove_topic(Key(TOPIC_SCHEMA.plural, "shop", name))
    assert index.pop_denied("shop", "shop/orders") == ()
    assert index._denied == {}
