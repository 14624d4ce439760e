"""Passes over a policy at a played API server and a broker in memory: what they write, and what stays in memory."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from topic_world import World, opened
from topicschema.api import PULSAR_NAMESPACES_ANNOTATION
from topicschema.api.kinds import NAMESPACE, NAMESPACE_SCHEMA_POLICY
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.policy import NamespaceSchemaPolicies
from topicschema.reconcile.queue import Key, Rest

KEY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
ORDERS = PulsarNamespaceKey("pulsar", "shop", "orders")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        annotations = {PULSAR_NAMESPACES_ANNOTATION: "shop/*"}
        world.api.put(NAMESPACE, "", "shop", {"metadata": {"annotations": annotations}})
        world.around.neighbours.are_topics_listed = True
        yield world


def make_anew(world: World) -> str:
    """Delete the policy, and make it again, where no pass sees the gap; its uid."""
    spec = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", "pulsar": {"adminURL": world.broker.url}}
    uid: str = world.api.put(NAMESPACE_SCHEMA_POLICY, "shop", "orders", {"spec": spec})["metadata"]["uid"]
    return uid


def written(world: World) -> list[str]:
    return [request for request in world.api.requests if not request.startswith("GET")]


async def test_a_second_pass_over_a_settled_policy_writes_nothing(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.around, 600.0)
    assert await policies.reconcile(KEY) is Rest.SETTLED
    assert written(world)
    world.api.requests.clear()
    assert await policies.reconcile(KEY) is Rest.SETTLED
    assert written(world) == []


async def test_nothing_is_kept_of_a_policy_that_was_made_anew_between_two_passes(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.around, 600.0)
    await policies.reconcile(KEY)
    for _ in range(3):
        uid = make_anew(world)
        await policies.reconcile(KEY)
    assert (await world.around.claims.get_claim(ORDERS)).owner is not None
    assert set(world.around.brokers._made) == {uid}
    world.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert await policies.reconcile(KEY) is Rest.GONE
    assert (world.around.brokers._made, world.around.brokers._own) == ({}, {})
    await world.around.brokers.aclose()
    await asyncio.sleep(0)  # the brokers' farewells have ended, and are told of now
    gc.collect()
    assert len(world.around.brokers._gates) == 0
