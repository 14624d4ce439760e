"""Jobs of a TopicSchema that is gone are deleted, also if the controller was killed or down while it went.

No object owns a Job in another namespace, so Kubernetes does not delete it.
"""

from dataclasses import replace

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import JOBS, VALIDATION, ValidatedTopic
from topicschema.api.kinds import JOB, NAMESPACE, TOPIC_SCHEMA
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.validation.job.manifest import (
    ATTEMPT_ANNOTATION,
    NAMESPACE_LABEL,
    OWNER_ANNOTATION,
    REQUEST_LABEL,
    TEAM_LABEL,
    TOPIC_LABEL,
    UID_LABEL,
)

OTHER = {
    "metadata": {
        "labels": {TOPIC_LABEL: "created", NAMESPACE_LABEL: "other"},
        "annotations": {ATTEMPT_ANNOTATION: "0", OWNER_ANNOTATION: "other/created"},
    },
    "spec": {"suspend": False},
}
"""A Job of a TopicSchema of the same name in another namespace."""


class KilledError(BaseException):
    """The controller is killed."""


def start_process(topic: ValidatedTopic) -> EventRouter:
    """Continue as another process, which has listed nothing."""
    ctx = replace(topic.topics._ctx, index=ObjectIndex(), client=topic.world.ctx.client)
    topic.topics = TopicSchemaReconciler(ctx)
    return EventRouter(ctx.index, ctx.own_writes, ctx.registries.forget, ctx.enqueue)


async def restart(topic: ValidatedTopic) -> bool:
    """Continue as another process, which lists the Jobs and reconciles what they enqueue. Return True if it did."""
    router = start_process(topic)
    topic.enqueued.clear()
    for job in await topic.jobs():
        router.on_event(JOB.plural, job["metadata"], is_deleted=False, is_listed=True)
    is_enqueued = "created" in [name for name, _ in topic.enqueued]
    if is_enqueued:
        await topic.reconcile()
    return is_enqueued


async def killed_at(topic: ValidatedTopic, write: int) -> bool:
    """Reconcile, and kill the process at that write to the API server. Return True if it came to it."""
    count = 0

    def add() -> None:
        nonlocal count
        count += 1
        if count == write:
            raise KilledError

    topic.topics = TopicSchemaReconciler(replace(topic.topics._ctx, client=topic.world.ctx.client.fenced(add)))
    try:
        await topic.reconcile()
    except KilledError:
        return True
    return False


def delete(topic: ValidatedTopic) -> None:
    topic.api.delete(TOPIC_SCHEMA, "shop", "created")


async def test_a_job_names_its_topic_schema_and_its_team(topic: ValidatedTopic) -> None:
    topic.api.put(NAMESPACE, "", "shop", {"metadata": {"labels": {"example.com/team": "payments"}}})
    topic.set_runs(teamLabel="example.com/team")
    await topic.reconcile()
    (job,) = await topic.jobs()
    metadata = job["metadata"]
    uid = (await topic.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created"))["metadata"]["uid"]
    expected = {TOPIC_LABEL: "created", NAMESPACE_LABEL: "shop", UID_LABEL: uid, TEAM_LABEL: "payments"}
    for each in (metadata, job["spec"]["template"]["metadata"]):
        assert each["labels"].items() >= expected.items()
        assert each["annotations"][OWNER_ANNOTATION] == "shop/created"
    assert "ownerReferences" not in metadata
    assert metadata["namespace"] == VALIDATION


@pytest.mark.parametrize("label", [None, "example.com/missing"])
async def test_without_the_label_there_is_no_team(topic: ValidatedTopic, label: str | None) -> None:
    topic.set_runs(**({} if label is None else {"teamLabel": label}))
    await topic.reconcile()
    assert TEAM_LABEL not in (await topic.newest())["metadata"]["labels"]


@pytest.mark.parametrize("was_down", [False, True])
async def test_all_jobs_are_deleted_with_their_topic_schema_and_no_other_ones(
    topic: ValidatedTopic, *, was_down: bool
) -> None:
    topic.api.put(JOB, VALIDATION, "of-another", OTHER)
    await topic.reconcile()
    job = await topic.newest()
    router = start_process(topic)
    router.on_event(JOB.plural, job["metadata"], is_deleted=False)
    topic.fail_job(job, topic.clock)
    topic.clock = "2026-11-21T12:10:00Z"
    await topic.reconcile()
    assert len(topic.api.names(JOB, VALIDATION)) == 3, "the failed one, the next attempt, and that of another"
    delete(topic)
    assert (await restart(topic)) if was_down else (await topic.reconcile() == "")
    assert topic.api.names(JOB, VALIDATION) == ["of-another"]
    topic.api.requests.clear()
    await topic.reconcile()
    assert not [each for each in topic.api.requests if JOBS in each]


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_kill_at_any_write_leaves_no_job_of_a_topic_schema_that_is_gone(
    mode: str, topic: ValidatedTopic
) -> None:
    schemas = [record("id", *(f"f{n}?" for n in range(count))) for count in range(20)]
    spec = {"deletionPolicy": "Retain"}
    steps = 0
    for write, schema in enumerate(schemas, 1):
        topic.set_topic(schema, **spec)
        was_killed = await killed_at(topic, write)
        steps += was_killed
        delete(topic)
        had_jobs = bool(await topic.jobs())
        assert await restart(topic) == had_jobs
        assert await topic.jobs() == []
        if not was_killed:
            break
    assert steps >= 3, "the Job, its request, its start, and the status"


async def test_a_kill_while_jobs_are_deleted_leaves_none(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    topic.fail_job(await topic.newest(), topic.clock)
    topic.clock = "2026-11-21T12:10:00Z"
    await topic.reconcile()
    assert len(await topic.jobs()) == 2
    delete(topic)
    for left in (2, 1):
        router = start_process(topic)
        for job in await topic.jobs():
            router.on_event(JOB.plural, job["metadata"], is_deleted=False, is_listed=True)
        assert await killed_at(topic, 2 if left == 2 else 1)
        assert len(await topic.jobs()) == 1
    assert await restart(topic)
    assert await topic.jobs() == []


async def test_jobs_that_cannot_be_deleted_now_are_deleted_later(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    delete(topic)
    topic.api.refusals = {f"DELETE {JOBS}": 500}
    assert await restart(topic)
    assert len(await topic.jobs()) == 1
    topic.api.refusals = {}
    assert await topic.reconcile() == ""
    assert await topic.jobs() == []


async def test_jobs_of_a_former_topic_schema_of_the_same_name_are_deleted(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    (former,) = await topic.jobs()
    delete(topic)
    topic.set_topic()
    assert await restart(topic)
    (job,) = await topic.jobs()
    assert job["metadata"]["uid"] != former["metadata"]["uid"]
    assert job["metadata"]["labels"][REQUEST_LABEL] == former["metadata"]["labels"][REQUEST_LABEL]
