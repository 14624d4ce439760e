"""Passes over a policy at a played API server and a broker in memory: what they write, and what stays in memory."""

import asyncio
import base64
import gc
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import pytest

from support.kubernetes.topic import World, opened
from support.schemas.examples import record
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SECRET, TOPIC_SCHEMA
from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.api.wire import decode
from topicschema.broker.errors import BrokerForbiddenError, BrokerUnauthorizedError
from topicschema.core.history import Origin
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.reconcile.topicschema.reconciler import TopicSchemas

KEY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
ORDERS = PulsarNamespaceKey("pulsar", "shop", "orders")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        world.allow_claims()
        world.ctx.index.are_topics_listed = True
        yield world


def make_anew(world: World) -> str:
    """Delete the policy, and make it again, where no pass sees the gap; its uid."""
    spec = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", "pulsar": {"adminURL": world.broker.url}}
    uid: str = world.api.put(NAMESPACE_SCHEMA_POLICY, "shop", "orders", {"spec": spec})["metadata"]["uid"]
    return uid


def written(world: World) -> list[str]:
    return [request for request in world.api.requests if not request.startswith("GET")]


async def has_on_record(world: World, *schemas: Schema) -> None:
    """The topic has these versions on record."""
    stored = await world.ctx.storage.get_history(TopicKey("pulsar", Topic("shop", "orders", "created")))
    history = stored.history
    for schema in schemas:
        history = history.with_version(schema, Origin.BROKER, "2026-11-21T00:00:00Z")
    await world.ctx.storage.put(stored, history, tuple(schema.info for schema in schemas))


async def test_a_second_pass_over_a_settled_policy_writes_nothing(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    assert await policies.reconcile(KEY) is Result.DONE
    assert written(world)
    world.api.requests.clear()
    assert await policies.reconcile(KEY) is Result.DONE
    assert written(world) == []


def sees(world: World, strategy: Strategy | None = None, name: str = "created", *, lost_claim: bool = False) -> None:
    """A pass has been over a resource of the one topic, which has that strategy of its own."""
    topic = TopicKey("pulsar", Topic("shop", "orders", "created"))
    summary = TopicSummary(str(topic.topic), "shop/orders", topic.history_name, strategy, lost_claim=lost_claim)
    world.ctx.index.update_topic(Key(TOPIC_SCHEMA.plural, "shop", name), summary)


async def conflicts(world: World, policies: NamespaceSchemaPolicies) -> int:
    """How many versions on record the policy's status says would not pass now."""
    assert await policies.reconcile(KEY) is Result.DONE
    found = await world.ctx.policies.resolve("shop", "shop/orders")
    assert found is not None
    return found.resource.status.history_conflict_count


async def test_what_would_not_pass_is_found_anew_when_the_broker_s_settings_change(world: World) -> None:
    await has_on_record(world, record("id"), record("other"))
    sees(world)
    policies = NamespaceSchemaPolicies(world.ctx, 0.0)
    assert await conflicts(world, policies) == 1
    world.broker.settings["schema_compatibility_strategy"] = "ALWAYS_COMPATIBLE"
    assert await conflicts(world, policies) == 0
    world.broker.settings["schema_compatibility_strategy"] = "FULL"
    assert await conflicts(world, NamespaceSchemaPolicies(world.ctx, 0.0)) == 1
    sees(world, Strategy.ALWAYS_COMPATIBLE)
    assert await conflicts(world, policies) == 0


@pytest.mark.parametrize("first", ["created", "second"])
async def test_by_which_strategy_a_history_is_looked_through_its_holder_says(world: World, first: str) -> None:
    await has_on_record(world, record("id"), record("other"))
    policies = NamespaceSchemaPolicies(world.ctx, 0.0)
    for name in (first, *({"created", "second"} - {first})):
        is_holder = name == "created"
        sees(world, Strategy.ALWAYS_COMPATIBLE if is_holder else None, name, lost_claim=not is_holder)
    assert await conflicts(world, policies) == 0
    world.ctx.index.remove_topic(Key(TOPIC_SCHEMA.plural, "shop", "created"))
    assert await conflicts(world, policies) == 1
    sees(world, None, "second")
    assert await conflicts(world, policies) == 1
    sees(world, Strategy.ALWAYS_COMPATIBLE, "second")
    assert await conflicts(world, policies) == 0


async def policy_says(world: World, policies: NamespaceSchemaPolicies) -> dict[str, str]:
    """The policy's conditions after a pass; a second one writes nothing."""
    for is_second in (False, True):
        before = len(world.api.requests)
        with suppress(BrokerForbiddenError, BrokerUnauthorizedError):
            await policies.reconcile(KEY)
        written = [each for each in world.api.requests[before:] if not each.startswith("GET")]
        assert not (is_second and written)
    found = await world.ctx.policies.resolve("shop", "shop/orders")
    assert found is not None
    return {each.type: each.status for each in found.resource.status.conditions}


async def test_a_strategy_that_others_changed_and_that_may_not_be_put_back_is_not_in_force(world: World) -> None:
    world.api.change(
        "/namespaceschemapolicies/orders", lambda wire: wire["spec"].update(schemaCompatibilityStrategy="FULL")
    )
    policies = NamespaceSchemaPolicies(world.ctx, 0.0)
    assert await policy_says(world, policies) == {"Ready": "True", "InSync": "True"}
    world.broker.settings["schema_compatibility_strategy"] = "ALWAYS_COMPATIBLE"
    world.broker.settings_status = 403
    assert await policy_says(world, policies) == {"Ready": "False", "Reconciling": "True", "InSync": "False"}
    world.broker.settings_status = 200
    assert await policy_says(world, policies) == {"Ready": "True", "InSync": "True"}
    assert world.broker.settings["schema_compatibility_strategy"] == "FULL"


async def test_a_policy_gets_in_at_its_next_pass_once_its_secret_has_another_token_and_nobody_touched_it(
    world: World,
) -> None:
    token = {"token": {"secretKeyRef": {"name": "admin", "key": "token"}}}
    world.api.change(
        "/namespaceschemapolicies/orders", lambda wire: wire["spec"]["pulsar"].update(authentication=token)
    )
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    world.broker.token = "the-new-one"  # noqa: S105 - of a played broker
    for known, said in (
        (b"the-old-one", {"Ready": "False", "Reconciling": "True", "InSync": "Unknown"}),
        (b"the-new-one", {"Ready": "True", "InSync": "True"}),
    ):
        world.api.put(SECRET, "shop", "admin", {"data": {"token": base64.b64encode(known).decode()}})
        assert await policy_says(world, policies) == said


def test_a_strategy_that_a_topic_keeps_at_its_broker_is_seen_though_the_resource_names_none(world: World) -> None:
    wire = {"spec": {"topic": "persistent://shop/orders/created", "type": "STRING"}}
    key, topics = Key(TOPIC_SCHEMA.plural, "shop", "created"), TopicSchemas(world.ctx)
    for source, seen in (("Topic", Strategy.FORWARD), ("Namespace", None)):
        status = decode(TopicSchemaStatus, {"effectiveStrategy": {"value": "FORWARD", "source": source}})
        assert topics._summary(key, wire, status).strategy is seen


def test_a_strategy_that_a_topic_keeps_is_not_forgotten_while_nobody_sees_its_broker(world: World) -> None:
    wire = {"spec": {"topic": "persistent://shop/orders/created", "type": "STRING"}}
    key, topics = Key(TOPIC_SCHEMA.plural, "shop", "created"), TopicSchemas(world.ctx)
    kept = decode(TopicSchemaStatus, {"effectiveStrategy": {"value": "FORWARD", "source": "Topic"}})
    world.ctx.index.update_topic(key, topics._summary(key, wire, kept))
    assert topics._summary(key, wire, TopicSchemaStatus()).strategy is Strategy.FORWARD


async def test_nothing_is_kept_of_a_policy_that_was_made_anew_between_two_passes(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    await policies.reconcile(KEY)
    for _ in range(3):
        uid = make_anew(world)
        await policies.reconcile(KEY)
    assert (await world.ctx.claims.get_claim(ORDERS)).owner is not None
    assert set(world.ctx.brokers._made) == {uid}
    world.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert await policies.reconcile(KEY) is Result.DELETED
    assert (world.ctx.brokers._made, world.ctx.brokers._own) == ({}, {})
    await world.ctx.brokers.aclose()
    await asyncio.sleep(0)  # the brokers are closed, and no longer remembered now
    gc.collect()
    assert len(world.ctx.brokers._limits) == 0


async def test_a_new_policy_and_one_that_is_gone_have_only_their_own_topics_looked_at(world: World) -> None:
    enqueued: list[Key] = []
    world.ctx = replace(world.ctx, enqueue=lambda key, _: enqueued.append(key))
    ours, others = (Key(TOPIC_SCHEMA.plural, "shop", name) for name in ("ours", "others"))
    for topic, pulsar_namespace in ((ours, "shop/orders"), (others, "shop/returns")):
        world.ctx.index.update_topic(topic, TopicSummary(f"{pulsar_namespace}/created", pulsar_namespace))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    await policies.reconcile(KEY)
    assert set(enqueued) == {ours}
    enqueued.clear()
    await policies.reconcile(KEY)
    assert enqueued == []
    world.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    await policies.reconcile(KEY)
    assert set(enqueued) == {ours}
