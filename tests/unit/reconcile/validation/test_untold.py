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


def suspended(topic: AskedTopic) -> str:
    topic.wants(suspend=True)
    return ""


def not_wanted(topic: AskedTopic) -> str:
    topic.governs("Off")
    return ""


def without_policy(topic: AskedTopic) -> str:
    topic.world.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    return "PolicyNotFound"


def leads_anew(topic: AskedTopic, *heard: Any) -> EventRouter:
    """Another process goes on, which has heard of these Jobs."""
    ctx = replace(topic.topics._ctx, index=ObjectIndex())
    topic.topics = TopicSchemas(ctx)
    router = EventRouter(ctx.index, ctx.own_writes, ctx.enqueue)
    for job in heard:
        router.on_event(JOB.plural, job["metadata"], is_deleted=False, is_listed=True)
    return router


async def begin(topic: AskedTopic) -> None:
    """A Job runs; somebody edited the resource meanwhile, so that its status tells nothing of it."""
    topic.world.api.refusals = {f"PATCH {TOPIC}/status": 409}
    assert await topic.look() == "Conflict"
    topic.world.api.refusals = {}
    assert [job["spec"]["suspend"] for job in await topic.jobs()] == [False]


async def asks_for_jobs(topic: AskedTopic) -> int:
    topic.world.api.requests.clear()
    await topic.settle()
    return len([each for each in topic.world.api.requests if each.startswith(f"GET {JOBS}")])


@pytest.mark.parametrize("edit", [suspended, not_wanted, without_policy])
@pytest.mark.parametrize("is_new", [False, True])
async def test_a_job_ends_though_its_status_was_lost(edit: Callable[[AskedTopic], str], *, is_new: bool) -> None:
    async with asked("Gate") as topic:
        await begin(topic)
        reason = edit(topic)
        if is_new:
            leads_anew(topic, *await topic.jobs())
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        await topic.look()
        topic.world.api.refusals = {f"GET {JOBS}": 403}
        await topic.look()
        topic.world.api.refusals = {}
        assert len(await topic.jobs()) == 1
        assert await topic.look() == reason
        assert await topic.jobs() == []
        assert await asks_for_jobs(topic) == 0


@pytest.mark.parametrize("edit", [suspended, not_wanted])
async def test_who_heard_of_jobs_that_have_ended_looks_once(edit: Callable[[AskedTopic], str]) -> None:
    async with asked("Report") as topic:
        await topic.look()
        topic.ends(await topic.newest(), Answer.PASS, ENDS)
        await topic.look()
        edit(topic)
        leads_anew(topic, await topic.newest())
        topic.world.api.requests.clear()
        await topic.look()
        assert len([each for each in topic.world.api.requests if each.startswith(f"GET {JOBS}")]) == 1
        assert await asks_for_jobs(topic) == 0
        assert len(await topic.jobs()) == 1


async def test_a_job_whose_verdict_is_told_may_end_by_itself() -> None:
    async with asked("Report") as topic:
        await topic.look()
        job = await topic.newest()
        topic.ends(job, Answer.PASS, ENDS)
        await topic.look()
        topic.world.api.change(f"/jobs/{job['metadata']['name']}", lambda there: there.pop("status"))
        suspended(topic)
        leads_anew(topic, job)
        await topic.look()
        assert len(await topic.jobs()) == 1


async def test_jobs_that_go_and_pods_are_no_reason_to_look_for_jobs() -> None:
    async with asked("Report") as topic:
        await topic.look()
        job = (await topic.newest())["metadata"]
        topic.governs("Off")
        await topic.look()
        router = leads_anew(topic)
        router.on_event(JOB.plural, {**job, "deletionTimestamp": ENDS}, is_deleted=False)
        router.on_event(JOB.plural, job, is_deleted=True)
        router.on_event(POD.plural, job, is_deleted=False)
        assert await asks_for_jobs(topic) == 0
