"""A Job ends with the wish for it and the right to it, though the status that was to tell of it was never written."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from support.validation.validated_topic import AskedTopic, asked
from topicschema.api.kinds import JOB, NAMESPACE_SCHEMA_POLICY, POD
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.topicschema.reconciler import TopicSchemas
from topicschema.validation.job.result import Answer

TOPIC = "/apis/topicschema.io/v1alpha1/namespaces/shop/topicschemas/created"
JOBS = "/apis/batch/v1/namespaces/shop/jobs"
ENDS = "2026-11-21T12:00:00Z"


def suspend(topic: AskedTopic) -> None:
    topic.wants(suspend=True)


def switch_off(topic: AskedTopic) -> None:
    topic.governs("Off")


def delete_policy(topic: AskedTopic) -> None:
    topic.world.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "orders")


def restart(topic: AskedTopic, *heard: Any) -> EventRouter:
    """Another process goes on, which has heard of these Jobs."""
    ctx = replace(topic.topics._ctx, index=ObjectIndex())
    topic.topics = TopicSchemas(ctx)
    router = EventRouter(ctx.index, ctx.own_writes, ctx.enqueue)
    for job in heard:
        router.on_event(JOB.plural, job["metadata"], is_deleted=False, is_listed=True)
    return router


async def asks_for_jobs(topic: AskedTopic) -> int:
    topic.world.api.requests.clear()
    await topic.settle()
    return len([each for each in topic.world.api.requests if each.startswith(f"GET {JOBS}")])


@pytest.mark.parametrize(("edit", "reason"), [(suspend, ""), (switch_off, ""), (delete_policy, "PolicyNotFound")])
@pytest.mark.parametrize("is_new", [False, True])
async def test_a_job_ends_although_the_status_lacks_it(
    edit: Callable[[AskedTopic], None], reason: str, *, is_new: bool
) -> None:
    async with asked("Gate") as topic:
        topic.world.api.refusals = {f"PATCH {TOPIC}/status": 409}  # another client edited the resource meanwhile
        assert await topic.look() == "Conflict"
        topic.world.api.refusals = {}
        assert [job["spec"]["suspend"] for job in await topic.jobs()] == [False]
        edit(topic)
        if is_new:
            restart(topic, *await topic.jobs())
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        await topic.look()
        topic.world.api.refusals = {f"GET {JOBS}": 403}
        await topic.look()
        topic.world.api.refusals = {}
        assert len(await topic.jobs()) == 1
        assert await topic.look() == reason
        assert await topic.jobs() == []
        assert await asks_for_jobs(topic) == 0


@pytest.mark.parametrize("edit", [suspend, switch_off])
@pytest.mark.parametrize("has_ended", [True, False])
async def test_a_job_with_a_reported_verdict_is_listed_once_and_ends_by_itself(
    edit: Callable[[AskedTopic], None], *, has_ended: bool
) -> None:
    async with asked("Report") as topic:
        await topic.look()
        job = await topic.newest()
        topic.ends(job, Answer.PASS, ENDS)
        await topic.look()
        if not has_ended:
            topic.world.api.change(f"/jobs/{job['metadata']['name']}", lambda there: there.pop("status"))
        edit(topic)
        restart(topic, job)
        topic.world.api.requests.clear()
        await topic.look()
        assert len([each for each in topic.world.api.requests if each.startswith(f"GET {JOBS}")]) == 1
        assert not has_ended or await asks_for_jobs(topic) == 0
        assert len(await topic.jobs()) == 1


async def test_jobs_that_go_and_pods_are_no_reason_to_look_for_jobs() -> None:
    async with asked("Report") as topic:
        await topic.look()
        job = (await topic.newest())["metadata"]
        topic.governs("Off")
        await topic.look()
        router = restart(topic)
        router.on_event(JOB.plural, {**job, "deletionTimestamp": ENDS}, is_deleted=False)
        router.on_event(JOB.plural, job, is_deleted=True)
        router.on_event(POD.plural, job, is_deleted=False)
        assert await asks_for_jobs(topic) == 0
