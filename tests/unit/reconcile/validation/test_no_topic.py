"""A gate and a topic that does not exist: it passes for want of messages, and only as long as there is no topic."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import FILES, ValidatedTopic, open_validated_topic
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.validation.job.result import MessagesVerdict

NOON, AFTER_NOON, LATER = "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z", "2026-11-22T12:00:01Z"
ONE, TWO = record("id"), record("id", "note?")
MISSING, FORBIDDEN, THERE = 404, 403, 200


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    """Its messages are asked of its broker, which it does not exist at."""
    async with open_validated_topic("Gate", source={"pulsar": {}}) as topic:
        url = "pulsar://127.0.0.1:6650"
        topic.world.api.change(
            f"/{NAMESPACE_SCHEMA_POLICY.plural}/orders", lambda it: it["spec"]["pulsar"].update(serviceURL=url)
        )
        ctx = topic.topics._ctx
        allowed = replace(ctx.validation, hosts=AllowedHosts.parse("127.0.0.1"))
        topic.topics = TopicSchemaReconciler(replace(ctx, validation=allowed))
        topic.world.broker.topic_settings_status = MISSING
        yield topic


async def passes(topic: ValidatedTopic, messages: int | None, **spec: str) -> None:
    """An edit was asked about, and passed at noon."""
    topic.set_topic(TWO, **spec)
    await topic.reconcile()
    topic.finish_job(await topic.current_job(), MessagesVerdict.PASS, NOON, messages)
    await topic.reconcile()
    assert (await topic.settle())["validation"]["phase"] == "Passed"


def uploads(topic: ValidatedTopic) -> list[str]:
    return [call for call in topic.world.broker.calls if not call.startswith("GET")]


async def test_what_passed_for_want_of_a_topic_is_asked_anew_once_there_is_one(topic: ValidatedTopic) -> None:
    await passes(topic, None, managementPolicy="Observe")
    topic.world.broker.topic_settings_status = THERE
    topic.set_topic(TWO)
    assert await topic.reconcile() == "Validating"
    assert uploads(topic) == []
    await topic.settle()
    topic.finish_job(await topic.current_job(), MessagesVerdict.FAIL, AFTER_NOON)
    assert await topic.reconcile() == "ValidationFailed"
    assert "topicMissing" not in (await topic.settle())["validation"]
    assert uploads(topic) == []


@pytest.mark.parametrize(("messages", "status"), [(None, MISSING), (None, FORBIDDEN), (0, THERE)])
async def test_what_passed_for_want_of_messages_counts_where_no_topic_has_come(
    topic: ValidatedTopic, messages: int | None, status: int
) -> None:
    await passes(topic, messages, managementPolicy="Observe")
    topic.world.broker.topic_settings_status = status
    topic.set_topic(TWO)
    assert await topic.reconcile() == ""
    assert len(await topic.jobs()) == 1
    asked_before = topic.world.broker.topic_settings_reads
    assert (await topic.settle())["schemaVersion"] == 0
    assert topic.world.broker.topic_settings_reads == asked_before


async def test_a_version_that_waits_for_its_topic_is_asked_about_anew_when_it_comes(topic: ValidatedTopic) -> None:
    topic.world.upload(ONE)
    await passes(topic, None, schemaCompatibilityStrategy="FULL")
    assert await topic.reconcile() == "TopicNotFound"
    topic.clock = LATER
    assert await topic.reconcile() == "TopicNotFound"
    await topic.settle()
    assert len(await topic.jobs()) == 1, "nothing is asked while it waits"
    topic.clock, topic.world.broker.topic_settings_status = NOON, THERE
    assert await topic.reconcile() == "Validating"
    assert len(await topic.jobs()) == 2
    assert uploads(topic) == []
    topic.finish_job(await topic.current_job(), MessagesVerdict.PASS, AFTER_NOON)
    assert await topic.reconcile() == ""
    assert (await topic.settle())["schemaVersion"] == 1


@pytest.mark.parametrize("strategy", [{}, {"schemaCompatibilityStrategy": "FULL"}])
async def test_a_topic_that_retains_nothing_is_not_asked_about_for_ever(
    topic: ValidatedTopic, strategy: dict[str, str]
) -> None:
    topic.world.broker.topic_settings_status = THERE
    topic.set_topic(TWO, topic="non-persistent://shop/orders/created", **strategy)
    assert await topic.reconcile() == "Validating"
    topic.finish_job(await topic.current_job(), MessagesVerdict.PASS, NOON, None)
    assert await topic.reconcile() == ""
    assert len(await topic.jobs()) == 1


@pytest.mark.parametrize("when", [NOON, "2026-11-21T11:00:00Z"])
async def test_a_verdict_that_is_no_newer_than_the_one_it_renews_is_none(topic: ValidatedTopic, when: str) -> None:
    await passes(topic, None, managementPolicy="Observe")
    topic.world.broker.topic_settings_status = THERE
    topic.set_topic(TWO)
    assert await topic.reconcile() == "Validating"
    topic.finish_job(await topic.current_job(), MessagesVerdict.PASS, when, None)
    for _ in range(2):
        assert await topic.reconcile() in ("Validating", "ValidationError")
    assert uploads(topic) == []


async def test_a_first_version_goes_by_no_old_pass_of_files_though_its_topic_is_missing(topic: ValidatedTopic) -> None:
    topic.set_policy_validation("Gate", source=FILES)
    strategy = {"schemaCompatibilityStrategy": "FULL"}
    await passes(topic, 10, managementPolicy="Observe", **strategy)
    topic.clock = LATER
    topic.set_topic(TWO, **strategy)
    assert await topic.reconcile() == "Validating"
    assert uploads(topic) == []
