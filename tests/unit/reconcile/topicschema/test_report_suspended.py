"""The status of a suspended resource, and the reconciles that write it."""

from typing import Any

import pytest

from support.kubernetes.kstatus import kstatus
from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic
from topicschema.api.kinds import TOPIC_SCHEMA


async def resource(topic: ValidatedTopic) -> Any:
    return await topic.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created")


async def readiness(topic: ValidatedTopic) -> tuple[str, str, int]:
    ready = (await topic.conditions())["Ready"]
    return ready["status"], ready["reason"], ready["observedGeneration"]


async def test_a_suspended_resource_is_current_and_stays_ready(topic: ValidatedTopic) -> None:
    await topic.apply(suspend=True)
    assert (await readiness(topic))[:2] == ("Unknown", "Suspended")
    await topic.apply()
    assert (await topic.status())["schemaVersion"] == 0
    await topic.apply(record("another"), suspend=True, schemaCompatibilityStrategy="BACKWARD")
    there = await resource(topic)
    assert there["status"]["observedGeneration"] == there["metadata"]["generation"]
    assert await readiness(topic) == ("True", "Suspended", there["metadata"]["generation"])
    assert kstatus(there) == "Current"
    assert "validates no messages" in there["status"]["conditions"][0]["message"]
    assert ("schemaVersion" in there["status"], there["status"]["latestSchemaVersion"]) == (False, 0)
    await topic.settle()


async def test_a_stalled_resource_is_not_stalled_while_it_is_suspended(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    for suspend, reason in ((False, "Incompatible"), (True, "Suspended"), (False, "Incompatible")):
        await topic.apply(record("another"), suspend=suspend, schemaCompatibilityStrategy="FULL")
        assert (await readiness(topic))[:2] == ("False", reason)
        assert kstatus(await resource(topic)) == ("InProgress" if suspend else "Failed")


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("mode", ["Report"])
async def test_a_validation_that_had_no_verdict_is_not_reported_any_more(
    topic: ValidatedTopic, *, is_over: bool
) -> None:
    await topic.reconcile()
    if is_over:
        await topic.finish()
    await topic.apply(suspend=True)
    status = await topic.status()
    assert ("validation" in status) is is_over
    assert any(each["type"] == "Validated" for each in status["conditions"]) is is_over
    await topic.settle()
