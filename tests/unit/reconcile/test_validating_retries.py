"""A run that fails again and again leaves its last two Jobs, not one for each half hour of a day."""

from datetime import datetime, timedelta

import pytest

from asked_topic import AskedTopic, asked
from topicschema.spark.jobs import ATTEMPT_ANNOTATION

JOBS = "/apis/batch/v1/namespaces/shop/jobs"


async def attempts(topic: AskedTopic) -> list[int]:
    return [int(job["metadata"]["annotations"][ATTEMPT_ANNOTATION]) for job in await topic.jobs()]


async def fails(topic: AskedTopic) -> None:
    """The newest Job gave no verdict, and the time has come for another."""
    topic.fails(await topic.newest(), topic.clock)
    topic.clock = (datetime.fromisoformat(topic.clock) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    await topic.look()


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_of_runs_that_failed_the_last_one_stays(mode: str) -> None:
    async with asked(mode) as topic:
        await topic.look()
        for newest in range(2, 7):
            await fails(topic)
            assert await attempts(topic) == [newest - 1, newest]
            await topic.settle()


async def test_runs_that_may_not_be_ended_keep_no_other_from_being_made() -> None:
    async with asked("Report") as topic:
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        await topic.look()
        for _ in range(3):
            await fails(topic)
        assert await attempts(topic) == [1, 2, 3, 4]
        assert (await topic.conditions())["Validated"]["reason"] == "Validating"
        topic.world.api.refusals = {}
        await fails(topic)
        assert await attempts(topic) == [4, 5]
