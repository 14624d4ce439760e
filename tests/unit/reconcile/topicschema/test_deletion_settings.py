"""A deletion under deletionPolicy Delete and the topic's own settings: what is restored, and what stays."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import TOPIC
from support.schemas.examples import record
from support.validation.validated_topic import KEY, ValidatedTopic, open_validated_topic
from topicschema.api import FINALIZER
from topicschema.api.kinds import CUSTOM_RESOURCE_DEFINITION, EVENT, NAMESPACE, TOPIC_SCHEMA
from topicschema.core.strategies import Strategy

ONE, OTHER = record("id"), record("other")
OWN = {"deletionPolicy": "Delete", "schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    """One that had FORWARD before the operator wrote a strategy."""
    async with open_validated_topic("Off") as topic:
        topic.world.api.put(NAMESPACE, "", "shop", {})
        topic.world.api.put(CUSTOM_RESOURCE_DEFINITION, "", TOPIC_SCHEMA.crd_name, {})
        topic.world.broker.schemas.settings[TOPIC] = {"strategy": Strategy.FORWARD}
        yield topic


def holds(topic: ValidatedTopic) -> None:
    topic.world.api.change("/topicschemas/created", lambda there: there["metadata"].update(finalizers=[FINALIZER]))


async def writes_a_strategy_alone(topic: ValidatedTopic) -> None:
    """A version is there; the next one's strategy is written, and the broker refuses its schema."""
    topic.set_topic(ONE, deletionPolicy="Delete")
    holds(topic)
    assert await topic.reconcile() == ""
    topic.set_topic(OTHER, **OWN)
    topic.world.broker.upload_status = 403
    assert await topic.reconcile() != ""


async def goes(topic: ValidatedTopic) -> list[str]:
    """What is told while the resource is let go."""
    topic.world.api.change(
        "/topicschemas/created", lambda there: there["metadata"].update(deletionTimestamp="2026-11-21T12:00:00Z")
    )
    while FINALIZER in (await topic.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created"))["metadata"]["finalizers"]:
        await topic.topics.reconcile(KEY)
    return [event["note"] for event in await topic.world.ctx.client.list(EVENT, "shop")]


async def test_what_was_written_is_restored_before_its_record_goes(topic: ValidatedTopic) -> None:
    topic.set_topic(ONE, **OWN, schemaValidationEnforced=True)
    holds(topic)
    assert await topic.reconcile() == ""
    assert await goes(topic) == []
    restored = {"strategy": Strategy.FORWARD, "enforced": False}
    assert topic.world.broker.schemas.settings[TOPIC] == restored
    assert not (await topic.world.history()).entries


async def test_a_strategy_whose_schema_never_came_is_restored_and_nothing_is_told(topic: ValidatedTopic) -> None:
    await writes_a_strategy_alone(topic)
    assert topic.world.broker.schemas.settings[TOPIC] == {"strategy": Strategy.ALWAYS_COMPATIBLE}
    topic.world.broker.upload_status = 200
    assert await goes(topic) == []
    assert topic.world.broker.schemas.settings[TOPIC] == {"strategy": Strategy.FORWARD}
    assert not topic.world.broker.schemas.served(TOPIC)


async def test_a_deletion_does_not_wait_for_settings_that_are_not_told(topic: ValidatedTopic) -> None:
    await writes_a_strategy_alone(topic)
    topic.world.broker.topic_settings_status = 403
    (note,) = await goes(topic)
    assert "ALWAYS_COMPATIBLE (FORWARD before)" in note
