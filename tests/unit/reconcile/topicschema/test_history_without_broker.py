"""A history of before there was a broker is uploaded to it: what the broker refuses waits for what allows it."""

import pytest

from support.kubernetes.topic import TOPIC, World
from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic

ONE, OTHER = record("id"), record("other")
TWO, THREE = record("id", "a?"), record("id", "a?", "b?")
OWN = {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}


@pytest.fixture
async def topic(topic: ValidatedTopic) -> ValidatedTopic:
    """Return a topic with two stored versions, of which the broker's strategy refuses the second."""
    await topic.world.store_versions(ONE, OTHER)
    return topic


async def test_a_version_that_needs_its_topic_s_own_strategy_waits_for_the_topic(topic: ValidatedTopic) -> None:
    topic.broker.topic_settings_status = 404
    assert await topic.apply(OTHER, **OWN) == "TopicNotFound"
    assert topic.broker.calls.count("POST schema") == 2
    ready = (await topic.settle())["conditions"][0]
    assert ready["reason"] == "TopicNotFound"
    assert "version 1 of the history" in ready["message"]
    assert "ALWAYS_COMPATIBLE until" not in ready["message"]  # the resource has it already
    before = topic.broker.calls.count("POST schema")
    topic.broker.topic_settings_status = 200
    for _ in range(2):
        assert await topic.reconcile() == ""
        assert topic.broker.calls.count("POST schema") == before + 1
    assert await topic.world.is_recorded()


async def test_a_version_that_is_refused_without_its_own_strategy_is_reported_with_the_one_that_allows_it(
    topic: ValidatedTopic,
) -> None:
    for spec, reason in (({}, "RefusedByBroker"), (OWN, "")):
        topic.set_topic(OTHER, **spec)
        for _ in range(2):
            assert await topic.reconcile() == reason
        assert ("ALWAYS_COMPATIBLE until" in (await topic.conditions())["Ready"]["message"]) == (reason != "")
    assert await topic.world.is_recorded()


async def test_versions_that_the_broker_deleted_stay_in_the_history_when_it_numbers_again(world: World) -> None:
    for schema in (ONE, TWO):
        assert await world.apply(schema) == ""
    await world.change_registry(pulsar=None)
    assert await world.apply(THREE) == ""
    world.broker.schemas.soft_delete(TOPIC)
    await world.change_registry(pulsar=world.pulsar)
    for _ in range(2):
        assert await world.settle() == ""
        assert world.broker.calls.count("POST schema") == 3
    assert await world.is_recorded()
    history, storage = await world.history(), world.ctx.storage
    assert [each.is_tombstone for each in history.entries] == [False, False, True, False]
    live = [each for each in history.entries if not each.is_tombstone]
    payloads = [await storage.get(history.key, history.incarnation, each) for each in live]
    assert payloads == [ONE.info, TWO.info, THREE.info]
