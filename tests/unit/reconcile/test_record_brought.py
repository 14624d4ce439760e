"""A record of before there was a broker is brought to it: what the broker refuses waits for what lets it in."""

from collections.abc import AsyncIterator

import pytest

from asked_topic import AskedTopic, asked
from specimens import record
from topic_world import TOPIC
from topicschema.core.history import Origin
from topicschema.core.topics import Topic, TopicKey

ONE, OTHER = record("id"), record("other")
OWN = {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}


@pytest.fixture
async def topic() -> AsyncIterator[AskedTopic]:
    """With two versions on record that the broker's strategy does not let follow one another."""
    async with asked("Off") as topic:
        storage = topic.world.around.storage
        stored = await storage.get_history(TopicKey("pulsar", Topic("shop", "orders", TOPIC)))
        for schema in (ONE, OTHER):
            history = stored.history.with_version(schema, Origin.SPEC, "2026-11-21T05:30:00Z")
            stored = await storage.put(stored, history, (schema.info,))
        yield topic


async def test_a_version_that_needs_its_topic_s_own_strategy_waits_for_the_topic(topic: AskedTopic) -> None:
    topic.world.broker.own_status = 404
    topic.wants(OTHER, **OWN)
    assert await topic.look() == "TopicMissing"
    assert topic.world.broker.calls.count("POST schema") == 2
    ready = (await topic.settle())["conditions"][0]
    assert ready["reason"] == "TopicMissing"
    assert "version 1 of the record" in ready["message"]
    assert topic.world.broker.calls.count("POST schema") == 2  # it is not sent again while it cannot but be refused
    topic.world.broker.own_status = 200
    for _ in range(2):
        assert await topic.look() == ""
        assert topic.world.broker.calls.count("POST schema") == 3
    assert await topic.world.agrees()


async def test_a_version_that_no_strategy_of_its_own_lets_in_is_told_with_what_does(topic: AskedTopic) -> None:
    topic.wants(OTHER)
    for _ in range(2):
        assert await topic.look() == "RefusedByBroker"
    assert "ALWAYS_COMPATIBLE until" in (await topic.conditions())["Ready"]["message"]
    topic.wants(OTHER, **OWN)
    for _ in range(2):
        assert await topic.look() == ""
    assert await topic.world.agrees()
