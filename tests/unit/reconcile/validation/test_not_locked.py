"""A gate that clients may walk around says so, from the broker's settings to the condition, for as long as they may."""

from collections.abc import Awaitable, Callable
from typing import Any

from support.kubernetes.topic import TOPIC
from support.validation.validated_topic import AskedTopic, asked
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.validation.job.result import Answer

ENDED = "2026-11-21T12:00:00Z"
POLICY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
OPEN = "clients may add schemas, which bypass the gate"


def seeing(topic: AskedTopic) -> Callable[[], Awaitable[None]]:
    """The policy's own passes, until they rest: they see the broker's settings."""
    topic.world.allow_claims()
    policies = NamespaceSchemaPolicies(topic.topics._ctx, 0.0)

    async def look() -> None:
        while await policies.reconcile(POLICY) is Result.REQUEUE:
            pass

    return look


async def validated(topic: AskedTopic) -> Any:
    """The condition once all rests."""
    assert await topic.look() == ""
    await topic.settle()
    return (await topic.conditions())["Validated"]


async def test_messages_pass_a_gate_beside_which_clients_may_add_schemas() -> None:
    async with asked("Gate") as topic:
        see, settings = seeing(topic), topic.world.broker.settings
        settings["is_allow_auto_update_schema"] = True
        await see()
        assert await topic.look() == "Validating"
        before = (await topic.conditions())["Validated"]
        assert (before["reason"], OPEN in before["message"]) == ("Validating", True)
        assert topic.world.broker.schemas.served(TOPIC) == ()
        topic.ends(await topic.newest(), Answer.PASS, ENDED)
        found = await validated(topic)
        assert (found["status"], found["reason"], OPEN in found["message"]) == ("True", "AutoUpdateEnabled", True)
        assert "isAllowAutoUpdateSchema: false" in found["message"]
        assert len(topic.world.broker.schemas.served(TOPIC)) == 1


async def test_it_is_told_from_the_settings_that_were_seen_last() -> None:
    async with asked("Gate") as topic:
        see, settings = seeing(topic), topic.world.broker.settings
        assert await topic.look() == "Validating"
        topic.ends(await topic.newest(), Answer.PASS, ENDED)
        told = [(await validated(topic))["reason"]]
        for allows in (False, True, False):
            settings["is_allow_auto_update_schema"] = allows
            await see()
            found = await validated(topic)
            assert found["status"] == "True"
            assert (OPEN in found["message"]) == allows
            told.append(found["reason"])
        assert told == ["AutoUpdateEnabled", "Passed", "AutoUpdateEnabled", "Passed"]
        assert len(await topic.jobs()) == 1


async def test_a_report_is_walked_around_by_nobody() -> None:
    async with asked("Report") as topic:
        topic.world.broker.settings["is_allow_auto_update_schema"] = True
        await seeing(topic)()
        assert await topic.look() == ""
        topic.ends(await topic.newest(), Answer.PASS, ENDED)
        found = await validated(topic)
        assert (found["status"], found["reason"], OPEN in found["message"]) == ("True", "Passed", False)
