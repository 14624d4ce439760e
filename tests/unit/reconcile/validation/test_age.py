"""A gate registers by what messages say now, not by what they said weeks ago."""

from collections.abc import Mapping
from typing import Any

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import AskedTopic, asked
from topicschema.validation.job.result import Answer

NOON, NEXT_NOON, LATER = "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-22T12:00:01Z"
MUCH_LATER = "2026-12-21T12:00:00Z"
STATUS = "/apis/topicschema.io/v1alpha1/namespaces/shop/topicschemas/created/status"


async def passed(topic: AskedTopic, when: str) -> Mapping[str, Any]:
    """The Job that waits has run, and its messages pass."""
    job = await topic.newest()
    topic.ends(job, Answer.PASS, when)
    return job


@pytest.mark.parametrize("is_job_there", [False, True])
async def test_a_pass_that_only_was_observed_is_asked_anew_before_it_is_registered_by(*, is_job_there: bool) -> None:
    async with asked("Gate") as topic:
        topic.wants(managementPolicy="Observe")
        await topic.look()
        job = await passed(topic, NOON)
        await topic.look()
        told = (await topic.settle())["validation"]
        assert (told["phase"], told["judgedAt"]) == ("Passed", NOON)
        topic.clock = LATER
        assert (await topic.settle())["validation"] == told
        if not is_job_there:
            topic.goes(dict(job))
        topic.wants()
        assert await topic.look() == "Validating"
        assert [call for call in topic.world.broker.calls if not call.startswith("GET")] == []
        await topic.look()
        told = (await topic.settle())["validation"]
        assert (told["phase"], told["renews"]) == ("Running", NOON)
        topic.clock = MUCH_LATER
        job = next(each for each in await topic.jobs() if each["metadata"]["name"] == told["job"])
        topic.ends(job, Answer.PASS, MUCH_LATER)
        assert await topic.look() == ""
        told = (await topic.settle())["validation"]
        assert (told["phase"], told["judgedAt"]) == ("Passed", MUCH_LATER)
        assert (await topic.status())["schemaVersion"] == 0


async def test_a_pass_counts_for_a_day() -> None:
    async with asked("Gate") as topic:
        topic.wants(managementPolicy="Observe")
        await topic.look()
        await passed(topic, NOON)
        await topic.look()
        topic.clock = NEXT_NOON
        topic.wants()
        assert await topic.look() == ""
        assert (await topic.settle())["validation"]["judgedAt"] == NOON


async def test_an_old_job_answers_no_edit_that_comes_back() -> None:
    async with asked("Gate") as topic:
        topic.wants(record("id"), managementPolicy="Observe")
        await topic.look()
        await passed(topic, NOON)
        await topic.look()
        topic.wants(record("id", "note?"), managementPolicy="Observe")
        await topic.look()
        topic.wants(record("id"))
        topic.clock = MUCH_LATER
        assert await topic.look() == "Validating"
        await topic.look()
        told = (await topic.settle())["validation"]
        assert (told["phase"], told["renews"]) == ("Running", NOON)


async def test_what_is_on_record_is_not_asked_again_for_its_age() -> None:
    async with asked("Gate") as topic:
        await topic.look()
        await passed(topic, NOON)
        assert await topic.look() == ""
        topic.clock = MUCH_LATER
        assert (await topic.settle())["validation"]["judgedAt"] == NOON


async def test_an_old_pass_counts_no_more_though_what_renews_it_cannot_be_looked_at() -> None:
    async with asked("Gate") as topic:
        await topic.look()
        await passed(topic, NOON)
        topic.clock = LATER
        topic.world.api.refusals = {f"PATCH {STATUS}": 403}  # so that its Job alone tells of the old pass
        assert await topic.look() == "Forbidden"
        assert len(await topic.jobs()) == 2
        topic.world.api.refusals = {"GET /api/v1/namespaces/shop/events": 403}  # asked for of the one that runs
        for _ in range(2):
            assert await topic.look() == "ValidationError"
        assert [call for call in topic.world.broker.calls if not call.startswith("GET")] == []
        await topic.settle()
