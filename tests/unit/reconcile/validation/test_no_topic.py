"""A gate and a topic that does not exist: it passes for want of messages, and only as long as there is no topic."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import FILES, AskedTopic, asked
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.reconcile.topicschema.reconciler import TopicSchemas
from topicschema.validation.job.result import Answer

NOON, AFTER_NOON, LATER = "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z", "2026-11-22T12:00:01Z"
ONE, TWO = record("id"), record("id", "note?")
MISSING, FORBIDDEN, THERE = 404, 403, 200


@pytest.fixture
async def topic() -> AsyncIterator[AskedTopic]:
    """Its messages are asked of its broker, which it does not exist at."""
    async with asked("Gate", source={"pulsar": {}}) as topic:
        url = "pulsar://127.0.0.1:6650"
        topic.world.api.change(
            f"/{NAMESPACE_SCHEMA_POLICY.plural}/orders", lambda it: it["spec"]["pulsar"].update(serviceURL=url)
        )
        ctx = topic.topics._ctx
        allowed = replace(ctx.validation, hosts=AllowedHosts.parse("127.0.0.1"))
        topic.topics = TopicSchemas(replace(ctx, validation=allowed))
        topic.world.broker.own_status = MISSING
        yield topic


async def passes(topic: AskedTopic, messages: int | None, **spec: str) -> None:
    """An edit was asked about, and passed at noon."""
    topic.wants(TWO, **spec)
    await topic.look()
    topic.ends(await topic.named(), Answer.PASS, NOON, messages)
    await topic.look()
    assert (await topic.settle())["validation"]["phase"] == "Passed"


def uploads(topic: AskedTopic) -> list[str]:
    return [call for call in topic.world.broker.calls if not call.startswith("GET")]


async def test_what_passed_for_want_of_a_topic_is_asked_anew_once_there_is_one(topic: AskedTopic) -> None:
    await passes(topic, None, managementPolicy="Observe")
    topic.world.broker.own_status = THERE
    topic.wants(TWO)
    assert await topic.look() == "Validating"
    assert uploads(topic) == []
    await topic.settle()
    topic.ends(await topic.named(), Answer.FAIL, AFTER_NOON)
    assert await topic.look() == "ValidationFailed"
    assert "topicMissing" not in (await topic.settle())["validation"]
    assert uploads(topic) == []


@pytest.mark.parametrize(("messages", "status"), [(None, MISSING), (None, FORBIDDEN), (0, THERE)])
async def test_what_passed_for_want_of_messages_counts_where_no_topic_has_come(
    topic: AskedTopic, messages: int | None, status: int
) -> None:
    await passes(topic, messages, managementPolicy="Observe")
    topic.world.broker.own_status = status
    topic.wants(TWO)
    assert await topic.look() == ""
    assert len(await topic.jobs()) == 1
    asked_before = topic.world.broker.asked_for_own
    assert (await topic.settle())["schemaVersion"] == 0
    assert topic.world.broker.asked_for_own == asked_before


async def test_a_version_that_waits_for_its_topic_is_asked_about_anew_when_it_comes(topic: AskedTopic) -> None:
    topic.world.there(ONE)
    await passes(topic, None, schemaCompatibilityStrategy="FULL")
    assert await topic.look() == "TopicNotFound"
    topic.clock = LATER
    assert await topic.look() == "TopicNotFound"
    await topic.settle()
    assert len(await topic.jobs()) == 1, "nothing is asked while it waits"
    topic.clock, topic.world.broker.own_status = NOON, THERE
    assert await topic.look() == "Validating"
    assert len(await topic.jobs()) == 2
    assert uploads(topic) == []
    topic.ends(await topic.named(), Answer.PASS, AFTER_NOON)
    assert await topic.look() == ""
    assert (await topic.settle())["schemaVersion"] == 1


@pytest.mark.parametrize("strategy", [{}, {"schemaCompatibilityStrategy": "FULL"}])
async def test_a_topic_that_retains_nothing_is_not_asked_about_for_ever(
    topic: AskedTopic, strategy: dict[str, str]
) -> None:
    topic.world.broker.own_status = THERE
    topic.wants(TWO, topic="non-persistent://shop/orders/created", **strategy)
    assert await topic.look() == "Validating"
    topic.ends(await topic.named(), Answer.PASS, NOON, None)
    assert await topic.look() == ""
    assert len(await topic.jobs()) == 1


@pytest.mark.parametrize("when", [NOON, "2026-11-21T11:00:00Z"])
async def test_a_verdict_that_is_no_newer_than_the_one_it_renews_is_none(topic: AskedTopic, when: str) -> None:
    await passes(topic, None, managementPolicy="Observe")
    topic.world.broker.own_status = THERE
    topic.wants(TWO)
    assert await topic.look() == "Validating"
    topic.ends(await topic.named(), Answer.PASS, when, None)
    for _ in range(2):
        assert await topic.look() in ("Validating", "ValidationError")
    assert uploads(topic) == []


async def test_a_first_version_goes_by_no_old_pass_of_files_though_its_topic_is_missing(topic: AskedTopic) -> None:
    topic.governs("Gate", source=FILES)
    strategy = {"schemaCompatibilityStrategy": "FULL"}
    await passes(topic, 10, managementPolicy="Observe", **strategy)
    topic.clock = LATER
    topic.wants(TWO, **strategy)
    assert await topic.look() == "Validating"
    assert uploads(topic) == []
