"""The status of a suspended resource, and the passes that write it."""

from typing import Any

import pytest

from support.kubernetes.kstatus import kstatus
from support.schemas.examples import record
from support.validation.validated_topic import AskedTopic, asked
from topicschema.validation.job.result import Answer


def stands(topic: AskedTopic) -> dict[str, Any]:
    """The resource as it is."""
    found: list[dict[str, Any]] = []
    topic.world.api.change("/topicschemas/created", found.append)
    return found[0]


def readiness(topic: AskedTopic) -> tuple[str, str, int]:
    (ready,) = (each for each in stands(topic)["status"]["conditions"] if each["type"] == "Ready")
    return ready["status"], ready["reason"], ready["observedGeneration"]


async def test_a_suspended_resource_is_current_and_stays_ready() -> None:
    async with asked("Off") as topic:
        topic.wants(suspend=True)
        await topic.look()
        assert readiness(topic)[:2] == ("Unknown", "Suspended")
        topic.wants()
        await topic.look()
        assert stands(topic)["status"]["schemaVersion"] == 0
        topic.wants(record("another"), suspend=True, schemaCompatibilityStrategy="BACKWARD")
        await topic.look()
        there = stands(topic)
        assert there["status"]["observedGeneration"] == there["metadata"]["generation"]
        assert readiness(topic) == ("True", "Suspended", there["metadata"]["generation"])
        assert kstatus(there) == "Current"
        assert "validates no messages" in there["status"]["conditions"][0]["message"]
        assert ("schemaVersion" in there["status"], there["status"]["latestSchemaVersion"]) == (False, 0)
        await topic.settle()


async def test_a_stalled_resource_is_not_stalled_while_it_is_suspended() -> None:
    async with asked("Off") as topic:
        await topic.look()
        for suspend, reason in ((False, "Incompatible"), (True, "Suspended"), (False, "Incompatible")):
            topic.wants(record("another"), suspend=suspend, schemaCompatibilityStrategy="FULL")
            await topic.look()
            assert readiness(topic)[:2] == ("False", reason)
            assert kstatus(stands(topic)) == ("InProgress" if suspend else "Failed")


@pytest.mark.parametrize("is_over", [False, True])
async def test_a_validation_that_was_not_over_is_told_of_no_more(*, is_over: bool) -> None:
    async with asked("Report") as topic:
        await topic.look()
        if is_over:
            topic.ends(await topic.newest(), Answer.PASS, "2026-11-21T12:00:00Z")
            await topic.look()
        topic.wants(suspend=True)
        await topic.look()
        status = stands(topic)["status"]
        assert ("validation" in status) is is_over
        assert any(each["type"] == "Validated" for each in status["conditions"]) is is_over
        await topic.settle()
