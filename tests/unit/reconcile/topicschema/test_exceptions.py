"""Exceptions of a policy: used by a topic at a broker, and over without any event."""

import pytest

from support.kubernetes.topic import TOPIC
from support.schemas.examples import record
from support.validation.validated_topic import WELL, ValidatedTopic
from topicschema.api.kinds import EVENT
from topicschema.core.strategies import Strategy

ONE, CLASHING, ANOTHER = record("id"), record("total"), record("third")
ANY = {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}
EXCEPTION = {
    "topic": TOPIC,
    "allowedStrategies": ["ALWAYS_COMPATIBLE"],
    "until": "2026-11-21T13:00:00Z",
    "reason": "v1 clients are gone",
}


@pytest.fixture(name="topic")
async def excepted(topic: ValidatedTopic) -> ValidatedTopic:
    """Return the topic with one version. Until an hour from now it may have ALWAYS_COMPATIBLE."""
    await topic.world.change_policy(schemaCompatibilityStrategy="FULL", constraints={"exceptions": [EXCEPTION]})
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    return topic


async def events(topic: ValidatedTopic) -> list[str]:
    return [event["note"] for event in await topic.world.ctx.client.list(EVENT, "shop") if "exception" in event["note"]]


async def message(topic: ValidatedTopic) -> str:
    return str((await topic.conditions())["Compatible"]["message"])


def strategy_at_broker(topic: ValidatedTopic) -> object:
    return topic.broker.schemas.settings.get(TOPIC, {}).get("strategy")


async def test_an_exception_registers_what_the_policy_refuses_and_is_named(topic: ValidatedTopic) -> None:
    topic.set_topic(CLASHING, **ANY)
    assert await topic.reconcile() == ""
    assert ("created", 3600.0) in topic.enqueued
    assert await topic.settled_statuses() == WELL
    assert strategy_at_broker(topic) is Strategy.ALWAYS_COMPATIBLE
    assert "until 2026-11-21T13:00:00Z (v1 clients are gone)" in await message(topic)
    (note,) = await events(topic)
    assert note.startswith("version 1 is one that FULL of policy orders refuses (")
    assert note.endswith("v1 clients are gone)")


async def test_an_exception_that_refuses_nothing_less_has_no_event(topic: ValidatedTopic) -> None:
    topic.set_topic(record("id", "note?"), **ANY)
    assert await topic.settled_statuses() == WELL
    assert await events(topic) == []


async def test_an_exception_ends_by_itself_and_leaves_the_topic_ready(topic: ValidatedTopic) -> None:
    topic.set_topic(CLASHING, **ANY)
    assert await topic.settled_statuses() == WELL
    topic.clock = "2026-11-21T13:00:00Z"
    assert await topic.settled_statuses() == WELL
    assert strategy_at_broker(topic) in (None, Strategy.UNDEFINED)
    status = await topic.status()
    assert status["effectiveStrategy"] == {"value": "FULL", "source": "Namespace"}
    assert "has ended: schemaCompatibilityStrategy: ALWAYS_COMPATIBLE counts as unset" in await message(topic)


async def test_the_next_edit_after_the_end_must_satisfy_the_policy(topic: ValidatedTopic) -> None:
    topic.set_topic(CLASHING, **ANY)
    assert await topic.settled_statuses() == WELL
    topic.clock = "2026-11-21T13:00:00Z"
    topic.set_topic(ANOTHER, **ANY)
    await topic.reconcile()
    conditions = await topic.conditions()
    assert conditions["Ready"]["reason"] == "Incompatible"
    assert "until 2026-11-21T13:00:00Z (v1 clients are gone), has ended" in conditions["Ready"]["message"]


async def test_a_strategy_whose_exception_was_removed_is_withdrawn_and_refused(topic: ValidatedTopic) -> None:
    topic.set_topic(CLASHING, **ANY)
    assert await topic.settled_statuses() == WELL
    await topic.world.change_policy(constraints={})
    await topic.reconcile()
    assert strategy_at_broker(topic) in (None, Strategy.UNDEFINED)
    assert (await topic.status())["incompatibilities"][0]["rule"] == "STRATEGY_NOT_ALLOWED"
