"""A gate and a topic that does not exist: it passes without messages, and only as long as there is no topic."""

from collections.abc import AsyncIterator

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import FILES, ValidatedTopic, open_validated_topic
from topicschema.validation.job.result import MessagesVerdict

NOON, AFTER_NOON, LATER = "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z", "2026-11-22T12:00:01Z"
ONE, TWO = record("id"), record("id", "note?")
MISSING, FORBIDDEN, THERE = 404, 403, 200


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    """Yield a topic whose messages are read from its broker, where it does not exist."""
    async with open_validated_topic("Gate", source={"pulsar": {}}) as topic:
        await topic.world.change_registry(pulsar={**topic.world.pulsar, "serviceURL": "pulsar://127.0.0.1:6650"})
        topic.broker.topic_settings_status = MISSING
        yield topic


async def pass_at_noon(topic: ValidatedTopic, messages: int | None = None, **spec: str) -> None:
    """Let an edit pass at noon, by default without a topic."""
    await topic.apply(TWO, **spec)
    await topic.finish(messages=messages)
    assert (await topic.settle())["validation"]["phase"] == "Passed"


async def observe_a_pass_at_noon(topic: ValidatedTopic, messages: int | None = None, **spec: str) -> None:
    """Let an edit pass at noon while the policy only observes, and then let it manage."""
    await topic.world.change_policy(managementPolicy="Observe")
    await pass_at_noon(topic, messages, **spec)
    await topic.world.change_policy(managementPolicy="Manage")


async def is_validated_again(topic: ValidatedTopic) -> bool:
    """Return True if the messages are validated and nothing was uploaded."""
    return (await topic.reconcile(), topic.broker.writes) == ("Validating", [])


async def test_a_pass_for_lack_of_a_topic_is_renewed_once_there_is_one(topic: ValidatedTopic) -> None:
    await observe_a_pass_at_noon(topic)
    topic.broker.topic_settings_status = THERE
    topic.set_topic(TWO)
    assert await is_validated_again(topic)
    await topic.settle()
    assert await topic.finish(MessagesVerdict.FAIL, AFTER_NOON) == "ValidationFailed"
    assert "topicMissing" not in (await topic.settle())["validation"]
    assert topic.broker.writes == []


@pytest.mark.parametrize(("messages", "status"), [(None, MISSING), (None, FORBIDDEN), (0, THERE)])
async def test_a_pass_for_lack_of_messages_counts_where_no_topic_has_come(
    topic: ValidatedTopic, messages: int | None, status: int
) -> None:
    await observe_a_pass_at_noon(topic, messages)
    topic.broker.topic_settings_status = status
    assert await topic.apply(TWO) == ""
    assert len(await topic.jobs()) == 1
    reads = topic.broker.topic_settings_reads
    assert (await topic.settle())["schemaVersion"] == 0
    assert topic.broker.topic_settings_reads == reads


async def test_a_version_that_waits_for_its_topic_is_validated_again_when_the_topic_comes(
    topic: ValidatedTopic,
) -> None:
    topic.world.upload(ONE)
    await pass_at_noon(topic, schemaCompatibilityStrategy="FULL")
    assert await topic.reconcile() == "TopicNotFound"
    topic.clock = LATER
    assert await topic.reconcile() == "TopicNotFound"
    await topic.settle()
    assert len(await topic.jobs()) == 1, "nothing is validated while it waits"
    topic.clock, topic.broker.topic_settings_status = NOON, THERE
    assert await is_validated_again(topic)
    assert len(await topic.jobs()) == 2
    assert await topic.finish(when=AFTER_NOON) == ""
    assert (await topic.settle())["schemaVersion"] == 1


@pytest.mark.parametrize("strategy", [{}, {"schemaCompatibilityStrategy": "FULL"}])
async def test_a_topic_that_retains_nothing_is_validated_once(topic: ValidatedTopic, strategy: dict[str, str]) -> None:
    topic.broker.topic_settings_status = THERE
    assert await topic.apply(TWO, topic="non-persistent://shop/orders/created", **strategy) == "Validating"
    assert await topic.finish(messages=None) == ""
    assert len(await topic.jobs()) == 1


@pytest.mark.parametrize("when", [NOON, "2026-11-21T11:00:00Z"])
async def test_a_verdict_that_is_no_newer_than_the_one_it_renews_does_not_count(
    topic: ValidatedTopic, when: str
) -> None:
    await observe_a_pass_at_noon(topic)
    topic.broker.topic_settings_status = THERE
    assert await topic.apply(TWO) == "Validating"
    topic.finish_job(await topic.current_job(), MessagesVerdict.PASS, when, None)
    for _ in range(2):
        assert await topic.reconcile() in ("Validating", "ValidationError")
    assert topic.broker.writes == []


async def test_a_first_version_is_not_registered_by_an_old_pass_of_files_though_its_topic_is_missing(
    topic: ValidatedTopic,
) -> None:
    topic.set_policy_validation("Gate", source=FILES)
    strategy = {"schemaCompatibilityStrategy": "FULL"}
    await observe_a_pass_at_noon(topic, 10, **strategy)
    topic.clock = LATER
    topic.set_topic(TWO, **strategy)
    assert await is_validated_again(topic)
