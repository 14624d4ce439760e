"""A record of before there was a broker is brought to it: what the broker refuses waits for what lets it in."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import ORDERS, TOPIC, open_topic
from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.core.history import Origin
from topicschema.core.topics import Topic, TopicKey

ONE, OTHER = record("id"), record("other")
TWO, THREE = record("id", "a?"), record("id", "a?", "b?")
OWN = {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    """With two versions on record that the broker's strategy does not let follow one another."""
    async with open_validated_topic("Off") as topic:
        storage = topic.world.ctx.storage
        stored = await storage.get_history(TopicKey("pulsar", Topic("shop", "orders", TOPIC)))
        for schema in (ONE, OTHER):
            history = stored.history.with_version(schema, Origin.SPEC, "2026-11-21T05:30:00Z")
            stored = await storage.put(stored, history, (schema.info,))
        yield topic


async def test_a_version_that_needs_its_topic_s_own_strategy_waits_for_the_topic(topic: ValidatedTopic) -> None:
    topic.world.broker.topic_settings_status = 404
    topic.set_topic(OTHER, **OWN)
    assert await topic.reconcile() == "TopicNotFound"
    assert topic.world.broker.calls.count("POST schema") == 2
    ready = (await topic.settle())["conditions"][0]
    assert ready["reason"] == "TopicNotFound"
    assert "version 1 of the history" in ready["message"]
    assert "ALWAYS_COMPATIBLE until" not in ready["message"]  # it is what the resource says
    sent = topic.world.broker.calls.count("POST schema")
    topic.world.broker.topic_settings_status = 200
    for _ in range(2):
        assert await topic.reconcile() == ""
        assert topic.world.broker.calls.count("POST schema") == sent + 1
    assert await topic.world.is_recorded()


async def test_a_version_that_no_strategy_of_its_own_lets_in_is_told_with_what_does(topic: ValidatedTopic) -> None:
    topic.set_topic(OTHER)
    for _ in range(2):
        assert await topic.reconcile() == "RefusedByBroker"
    assert "ALWAYS_COMPATIBLE until" in (await topic.conditions())["Ready"]["message"]
    topic.set_topic(OTHER, **OWN)
    for _ in range(2):
        assert await topic.reconcile() == ""
    assert await topic.world.is_recorded()


async def test_what_the_broker_counted_and_hides_by_now_is_on_record_with_its_schemas_when_it_counts_again() -> None:
    async with open_topic() as world:
        for schema in (ONE, TWO):
            world.set_schema(schema)
            assert await world.settle() == ""
        claims, policy, named = world.ctx.storage, "/shop/namespaceschemapolicies/orders", {}
        at_broker = await claims.get_claim(ORDERS)
        assert at_broker.owner is not None
        world.api.change(policy, lambda wire: named.update(pulsar=wire["spec"].pop("pulsar")))
        await claims.put_claim(at_broker, at_broker.owner)
        world.set_schema(THREE)
        assert await world.settle() == ""
        world.broker.schemas.soft_delete(TOPIC)
        world.api.change(policy, lambda wire: wire["spec"].update(named))
        await claims.put_claim(await claims.get_claim(ORDERS), at_broker.owner, at_broker.address)
        for _ in range(2):
            assert await world.settle() == ""
            assert world.broker.calls.count("POST schema") == 3
        assert await world.is_recorded()
        history, storage = await world.history(), world.ctx.storage
        assert [each.is_tombstone for each in history.entries] == [False, False, True, False]
        there = [each for each in history.entries if not each.is_tombstone]
        kept = [await storage.get(history.key, history.incarnation, each) for each in there]
        assert kept == [ONE.info, TWO.info, THREE.info]
