"""A run that fails again and again leaves its last two Jobs, not one for each half hour of a day."""

from datetime import datetime, timedelta

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.api.kinds import POD
from topicschema.validation.job.manifest import ATTEMPT_ANNOTATION
from topicschema.validation.job.result import MessagesVerdict

JOBS = "/apis/batch/v1/namespaces/shop/jobs"


async def attempts(topic: ValidatedTopic) -> list[int]:
    return [int(job["metadata"]["annotations"][ATTEMPT_ANNOTATION]) for job in await topic.jobs()]


async def fails(topic: ValidatedTopic) -> None:
    """The newest Job gave no verdict, and the time has come for another."""
    topic.fail_job(await topic.newest(), topic.clock)
    topic.clock = (datetime.fromisoformat(topic.clock) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    await topic.reconcile()


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_of_runs_that_failed_the_last_one_stays(mode: str) -> None:
    async with open_validated_topic(mode) as topic:
        await topic.reconcile()
        for newest in range(2, 7):
            await fails(topic)
            assert await attempts(topic) == [newest - 1, newest]
            await topic.settle()


async def test_runs_that_may_not_be_ended_keep_no_other_from_being_made() -> None:
    async with open_validated_topic("Report") as topic:
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        await topic.reconcile()
        for _ in range(3):
            await fails(topic)
        assert await attempts(topic) == [1, 2, 3, 4]
        assert (await topic.conditions())["Validated"]["reason"] == "Validating"
        topic.world.api.refusals = {}
        await fails(topic)
        assert await attempts(topic) == [4, 5]


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_job_whose_pod_has_no_node_is_made_again_as_soon_as_it_is_run_otherwise(mode: str) -> None:
    async with open_validated_topic(mode) as topic:
        await topic.reconcile()
        (stuck,) = await topic.jobs()
        no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node fits"}
        labels = {"batch.kubernetes.io/job-name": stuck["metadata"]["name"]}
        pod = {"metadata": {"labels": labels}, "status": {"phase": "Pending", "conditions": [no_node]}}
        topic.world.api.put(POD, "shop", f"{stuck['metadata']['name']}-x", pod)
        await topic.reconcile()
        await topic.settle()
        assert [job["metadata"]["uid"] for job in await topic.jobs()] == [stuck["metadata"]["uid"]]
        topic.set_policy_validation(mode, template={"image": "fixed:2"})
        await topic.reconcile()
        (job,) = await topic.jobs()
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert (container["image"], job["metadata"]["uid"] != stuck["metadata"]["uid"]) == ("fixed:2", True)
        await topic.settle()


async def test_a_run_for_an_edit_that_was_taken_back_before_the_status_told_of_it_is_ended() -> None:
    async with open_validated_topic("Gate") as topic:
        await topic.reconcile()
        first = await topic.newest()
        topic.finish_job(first, MessagesVerdict.FAIL, topic.clock)
        await topic.reconcile()
        told = await topic.status()
        topic.set_topic(record("id", "note"))
        await topic.reconcile()
        assert len(await topic.jobs()) == 2
        topic.world.api.change("/topicschemas/created", lambda there: there.update(status=told))
        topic.set_topic()
        await topic.reconcile()
        assert [job["metadata"]["name"] for job in await topic.jobs()] == [first["metadata"]["name"]]
        assert (await topic.status())["validation"]["phase"] == "Failed"
        await topic.settle()
