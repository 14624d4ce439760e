"""A Job ends with the wish for it and the right to it, though the status that was to tell of it was never written."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.api.kinds import JOB, NAMESPACE_SCHEMA_POLICY, POD
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.validation.job.result import MessagesVerdict

TOPIC = "/apis/topicschema.io/v1alpha1/namespaces/shop/topicschemas/created"
JOBS = "/apis/batch/v1/namespaces/shop/jobs"
ENDS = "2026-11-21T12:00:00Z"


def suspend(topic: ValidatedTopic) -> None:
    topic.set_topic(suspend=True)


def switch_off(topic: ValidatedTopic) -> None:
    topic.set_policy_validation("Off")


def delete_policy(topic: ValidatedTopic) -> None:
    topic.world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")


def restart(topic: ValidatedTopic, *heard: Any) -> EventRouter:
    """Another process goes on, which has heard of these Jobs."""
    ctx = replace(topic.topics._ctx, index=ObjectIndex())
    topic.topics = TopicSchemaReconciler(ctx)
    router = EventRouter(ctx.index, ctx.own_writes, ctx.enqueue)
    for job in heard:
        router.on_event(JOB.plural, job["metadata"], is_deleted=False, is_listed=True)
    return router


async def asks_for_jobs(topic: ValidatedTopic) -> int:
    topic.world.api.requests.clear()
    await topic.settle()
    return len([each for each in topic.world.api.requests if each.startswith(f"GET {JOBS}")])


@pytest.mark.parametrize(("edit", "reason"), [(suspend, ""), (switch_off, ""), (delete_policy, "PolicyNotFound")])
@pytest.mark.parametrize("is_new", [False, True])
async def test_a_job_ends_although_the_status_lacks_it(
    edit: Callable[[ValidatedTopic], None], reason: str, *, is_new: bool
) -> None:
    async with open_validated_topic("Gate") as topic:
        topic.world.api.refusals = {f"PATCH {TOPIC}/status": 409}  # another client edited the resource meanwhile
        assert await topic.reconcile() == "Conflict"
        topic.world.api.refusals = {}
        assert [job["spec"]["suspend"] for job in await topic.jobs()] == [False]
        edit(topic)
        if is_new:
            restart(topic, *await topic.jobs())
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        await topic.reconcile()
        topic.world.api.refusals = {f"GET {JOBS}": 403}
        await topic.reconcile()
        topic.world.api.refusals = {}
        assert len(await topic.jobs()) == 1
        assert await topic.reconcile() == reason
        assert await topic.jobs() == []
        assert await asks_for_jobs(topic) == 0


@pytest.mark.parametrize("edit", [suspend, switch_off])
@pytest.mark.parametrize("has_ended", [True, False])
async def test_a_job_with_a_reported_verdict_is_listed_once_and_ends_by_itself(
    edit: Callable[[ValidatedTopic], None], *, has_ended: bool
) -> None:
    async with open_validated_topic("Report") as topic:
        await topic.reconcile()
        job = await topic.newest()
        topic.finish_job(job, MessagesVerdict.PASS, ENDS)
        await topic.reconcile()
        if not has_ended:
            topic.world.api.change(f"/jobs/{job['metadata']['name']}", lambda there: there.pop("status"))
        edit(topic)
        restart(topic, job)
        topic.world.api.requests.clear()
        await topic.reconcile()
        assert len([each for each in topic.world.api.requests if each.startswith(f"GET {JOBS}")]) == 1
        assert not has_ended or await asks_for_jobs(topic) == 0
        assert len(await topic.jobs()) == 1


async def test_jobs_that_go_and_pods_are_no_reason_to_look_for_jobs() -> None:
    async with open_validated_topic("Report") as topic:
        await topic.reconcile()
        job = (await topic.newest())["metadata"]
        topic.set_policy_validation("Off")
        await topic.reconcile()
        router = restart(topic)
        router.on_event(JOB.plural, {**job, "deletionTimestamp": ENDS}, is_deleted=False)
        router.on_event(JOB.plural, job, is_deleted=True)
        router.on_event(POD.plural, job, is_deleted=False)
        assert await asks_for_jobs(topic) == 0
