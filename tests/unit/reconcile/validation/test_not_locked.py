"""A gate that clients may walk around says so, from the broker's settings to the condition, for as long as they may."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.kubernetes.topic import TOPIC
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult
from topicschema.validation.job.result import MessagesVerdict

ENDED = "2026-11-21T12:00:00Z"
POLICY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
OPEN = "clients may add schemas, which bypass the gate"


def seeing(topic: ValidatedTopic) -> Callable[[], Awaitable[None]]:
    """The policy's own passes, until they rest: they see the broker's settings."""
    topic.world.allow_claims()
    policies = NamespaceSchemaPolicies(topic.topics._ctx, 0.0)

    async def look() -> None:
        while await policies.reconcile(POLICY) is ReconcileResult.REQUEUE:
            pass

    return look


async def validated(topic: ValidatedTopic) -> Any:
    """The condition once all rests."""
    assert await topic.reconcile() == ""
    await topic.settle()
    return (await topic.conditions())["Validated"]


async def test_a_gate_that_clients_can_bypass_still_holds_back_and_says_so() -> None:
    async with open_validated_topic("Gate") as topic:
        topic.world.broker.settings["is_allow_auto_update_schema"] = True
        await seeing(topic)()
        assert await topic.reconcile() == "Validating"
        before = (await topic.conditions())["Validated"]
        assert (before["reason"], OPEN in before["message"]) == ("Validating", True)
        assert topic.world.broker.schemas.served(TOPIC) == ()
        topic.finish_job(await topic.newest(), MessagesVerdict.PASS, ENDED)
        assert (await validated(topic))["reason"] == "AutoUpdateEnabled"
        assert len(topic.world.broker.schemas.served(TOPIC)) == 1


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_the_last_observed_settings_count_and_only_for_a_gate(mode: str) -> None:
    async with open_validated_topic(mode) as topic:
        see, settings = seeing(topic), topic.world.broker.settings
        await topic.reconcile()
        topic.finish_job(await topic.newest(), MessagesVerdict.PASS, ENDED)
        for allows in (None, False, True, False):
            if allows is not None:
                settings["is_allow_auto_update_schema"] = allows
                await see()
            found, is_open = await validated(topic), mode == "Gate" and allows is not False
            assert (found["status"], found["reason"]) == ("True", "AutoUpdateEnabled" if is_open else "Passed")
            assert (f"{OPEN}: set isAllowAutoUpdateSchema: false" in found["message"]) == is_open
        assert len(await topic.jobs()) == 1
