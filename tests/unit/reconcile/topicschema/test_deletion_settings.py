"""A deletion under deletionPolicy Delete and the topic's own settings: what is restored, and what stays."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import TOPIC
from support.schemas.examples import record
from support.validation.validated_topic import KEY, ValidatedTopic, open_validated_topic
from topicschema.api import FINALIZER
from topicschema.api.kinds import EVENT, TOPIC_SCHEMA
from topicschema.core.strategies import Strategy

ONE, OTHER = record("id"), record("other")
OWN = {"deletionPolicy": "Delete", "schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    """Yield a topic that had FORWARD before the operator wrote a strategy."""
    async with open_validated_topic("Off") as topic:
        topic.put_namespace()
        topic.broker.schemas.settings[TOPIC] = {"strategy": Strategy.FORWARD}
        topic.set_metadata(finalizers=[FINALIZER])
        yield topic


async def write_only_a_strategy(topic: ValidatedTopic) -> None:
    """Register a version, and write the strategy of the next one, whose schema the broker refuses."""
    assert await topic.apply(ONE, deletionPolicy="Delete") == ""
    topic.set_topic(OTHER, **OWN)
    topic.broker.upload_status = 403
    assert await topic.reconcile() != ""


async def delete(topic: ValidatedTopic) -> list[str]:
    """Delete the resource, and return the notes of the Events."""
    topic.begin_deletion()
    while FINALIZER in (await topic.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created"))["metadata"]["finalizers"]:
        await topic.topics.reconcile(KEY)
    return [event["note"] for event in await topic.world.ctx.client.list(EVENT, "shop")]


async def test_settings_are_restored_before_the_history_is_deleted(topic: ValidatedTopic) -> None:
    assert await topic.apply(ONE, **OWN, schemaValidationEnforced=True) == ""
    assert await delete(topic) == []
    assert topic.broker.schemas.settings[TOPIC] == {"strategy": Strategy.FORWARD, "enforced": False}
    assert not (await topic.world.history()).entries


async def test_a_strategy_whose_schema_was_refused_is_restored_without_an_event(topic: ValidatedTopic) -> None:
    await write_only_a_strategy(topic)
    assert topic.broker.schemas.settings[TOPIC] == {"strategy": Strategy.ALWAYS_COMPATIBLE}
    topic.broker.upload_status = 200
    assert await delete(topic) == []
    assert topic.broker.schemas.settings[TOPIC] == {"strategy": Strategy.FORWARD}
    assert not topic.broker.schemas.served(TOPIC)


async def test_a_deletion_does_not_wait_for_settings_that_may_not_be_read(topic: ValidatedTopic) -> None:
    await write_only_a_strategy(topic)
    topic.broker.topic_settings_status = 403
    (note,) = await delete(topic)
    assert "ALWAYS_COMPATIBLE (FORWARD before)" in note
