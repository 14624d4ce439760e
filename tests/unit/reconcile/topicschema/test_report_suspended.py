"""The status of a suspended resource, and the passes that write it."""

from typing import Any

import pytest

from support.kubernetes.kstatus import kstatus
from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.validation.job.result import MessagesVerdict


def stands(topic: ValidatedTopic) -> dict[str, Any]:
    """The resource as it is."""
    found: list[dict[str, Any]] = []
    topic.world.api.change("/topicschemas/created", found.append)
    return found[0]


def readiness(topic: ValidatedTopic) -> tuple[str, str, int]:
    (ready,) = (each for each in stands(topic)["status"]["conditions"] if each["type"] == "Ready")
    return ready["status"], ready["reason"], ready["observedGeneration"]


async def test_a_suspended_resource_is_current_and_stays_ready() -> None:
    async with open_validated_topic("Off") as topic:
        topic.set_topic(suspend=True)
        await topic.reconcile()
        assert readiness(topic)[:2] == ("Unknown", "Suspended")
        topic.set_topic()
        await topic.reconcile()
        assert stands(topic)["status"]["schemaVersion"] == 0
        topic.set_topic(record("another"), suspend=True, schemaCompatibilityStrategy="BACKWARD")
        await topic.reconcile()
        there = stands(topic)
        assert there["status"]["observedGeneration"] == there["metadata"]["generation"]
        assert readiness(topic) == ("True", "Suspended", there["metadata"]["generation"])
        assert kstatus(there) == "Current"
        assert "validates no messages" in there["status"]["conditions"][0]["message"]
        assert ("schemaVersion" in there["status"], there["status"]["latestSchemaVersion"]) == (False, 0)
        await topic.settle()


async def test_a_stalled_resource_is_not_stalled_while_it_is_suspended() -> None:
    async with open_validated_topic("Off") as topic:
        await topic.reconcile()
        for suspend, reason in ((False, "Incompatible"), (True, "Suspended"), (False, "Incompatible")):
            topic.set_topic(record("another"), suspend=suspend, schemaCompatibilityStrategy="FULL")
            await topic.reconcile()
            assert readiness(topic)[:2] == ("False", reason)
            assert kstatus(stands(topic)) == ("InProgress" if suspend else "Failed")


@pytest.mark.parametrize("is_over", [False, True])
async def test_a_validation_that_was_not_over_is_told_of_no_more(*, is_over: bool) -> None:
    async with open_validated_topic("Report") as topic:
        await topic.reconcile()
        if is_over:
            topic.finish_job(await topic.newest(), MessagesVerdict.PASS, "2026-11-21T12:00:00Z")
            await topic.reconcile()
        topic.set_topic(suspend=True)
        await topic.reconcile()
        status = stands(topic)["status"]
        assert ("validation" in status) is is_over
        assert any(each["type"] == "Validated" for each in status["conditions"]) is is_over
        await topic.settle()
