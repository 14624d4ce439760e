"""The broker that a reconcile counts for: read for a key that is new, and known afterwards."""

from collections.abc import AsyncIterator

import pytest
from yarl import URL

from support.kubernetes.topic import World, opened
from support.schemas.examples import record
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.reconcile.topicschema.reconciler import TopicSchemas

KEY = Key(TOPIC_SCHEMA.plural, "shop", "created")
POLICY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        yield world


def put_topic(world: World, topic: str = "persistent://shop/orders/created") -> None:
    schema = record("id").info.schema.decode()
    world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": {"topic": topic, "type": "AVRO", "schema": schema}})


async def test_the_broker_of_a_topic_is_its_policy_s_and_is_read_once(world: World) -> None:
    put_topic(world)
    topics = TopicSchemas(world.ctx)
    assert await topics.broker_of(KEY) == URL(world.broker.url).authority
    while await topics.reconcile(KEY) is Result.REQUEUE:
        pass
    world.api.requests.clear()
    assert await topics.broker_of(KEY) == URL(world.broker.url).authority
    assert world.api.requests == []


@pytest.mark.parametrize("topic", [None, "persistent://shop/other/created", "no topic"])
async def test_a_topic_that_is_gone_or_has_no_policy_has_no_broker(world: World, topic: str | None) -> None:
    if topic is not None:
        put_topic(world, topic)
    assert await TopicSchemas(world.ctx).broker_of(KEY) == ""


async def test_the_broker_of_a_policy_is_the_one_that_it_names(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    assert await policies.broker_of(POLICY) == URL(world.broker.url).authority
    world.api.put(
        NAMESPACE_SCHEMA_POLICY, "shop", "orders", {"spec": {"pulsarCluster": "p", "pulsarNamespace": "shop/orders"}}
    )
    assert await policies.broker_of(POLICY) == ""
    world.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert await policies.broker_of(POLICY) == ""


async def test_an_api_server_that_is_away_is_the_reconcile_s_to_report(world: World) -> None:
    world.api.is_away = True
    assert await TopicSchemas(world.ctx).broker_of(KEY) == ""
    assert await NamespaceSchemaPolicies(world.ctx, 600.0).broker_of(POLICY) == ""
