"""Runs that fail or lose their request: another one is created, and the last two Jobs stay."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import JOBS, VALIDATION, ValidatedTopic
from topicschema.api.kinds import CONFIG_MAP, OLD_EVENT, POD
from topicschema.api.openapi import root_schema
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.reconcile.validation.observe import pause
from topicschema.validation.job.manifest import ATTEMPT_ANNOTATION, last_part
from topicschema.validation.job.result import MessagesVerdict


async def attempts(topic: ValidatedTopic) -> list[int]:
    return [int(job["metadata"]["annotations"][ATTEMPT_ANNOTATION]) for job in await topic.jobs()]


async def fail(topic: ValidatedTopic) -> None:
    """End the newest Job without a verdict, and reconcile when another one is due."""
    topic.fail_job(await topic.newest(), topic.clock)
    topic.clock = (datetime.fromisoformat(topic.clock) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    await topic.reconcile()


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_the_last_failed_run_stays_beside_the_new_one(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    for newest in range(2, 7):
        await fail(topic)
        assert await attempts(topic) == [newest - 1, newest]
        await topic.settle()


@pytest.mark.parametrize("mode", ["Report"])
async def test_runs_that_may_not_be_deleted_prevent_no_other_run(topic: ValidatedTopic) -> None:
    topic.api.refusals = {f"DELETE {JOBS}": 403}
    await topic.reconcile()
    for _ in range(3):
        await fail(topic)
    assert await attempts(topic) == [1, 2, 3, 4]
    assert (await topic.conditions())["Validated"]["reason"] == "Validating"
    topic.api.refusals = {}
    await fail(topic)
    assert await attempts(topic) == [4, 5]


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_job_whose_pod_has_no_node_is_created_again_with_an_edited_template(
    topic: ValidatedTopic, mode: str
) -> None:
    await topic.reconcile()
    (stuck,) = await topic.jobs()
    no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node fits"}
    labels = {"batch.kubernetes.io/job-name": stuck["metadata"]["name"]}
    pod = {"metadata": {"labels": labels}, "status": {"phase": "Pending", "conditions": [no_node]}}
    topic.api.put(POD, VALIDATION, f"{stuck['metadata']['name']}-x", pod)
    await topic.reconcile()
    await topic.settle()
    assert [job["metadata"]["uid"] for job in await topic.jobs()] == [stuck["metadata"]["uid"]]
    topic.set_runs(podTemplate={"image": "fixed:2"})
    await topic.reconcile()
    (job,) = await topic.jobs()
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert (container["image"], job["metadata"]["uid"] != stuck["metadata"]["uid"]) == ("fixed:2", True)
    await topic.settle()


async def test_a_run_for_an_edit_that_was_withdrawn_before_the_status_named_it_ends(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    first = await topic.newest()
    await topic.finish(MessagesVerdict.FAIL)
    before = await topic.status()
    await topic.apply(record("id", "note"))
    assert len(await topic.jobs()) == 2
    topic.api.change("/topicschemas/created", lambda wire: wire.update(status=before))
    await topic.apply()
    assert [job["metadata"]["name"] for job in await topic.jobs()] == [first["metadata"]["name"]]
    assert (await topic.status())["validation"]["phase"] == "Failed"
    await topic.settle()


def put_pod(topic: ValidatedTopic, job: Any, name: str, created: str, phase: str) -> Any:
    owner = {"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"], "controller": True}
    labels = {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    metadata = {"ownerReferences": [owner], "labels": labels, "creationTimestamp": created}
    return topic.api.put(POD, VALIDATION, f"created-{name}", {"metadata": metadata, "status": {"phase": phase}})


def put_pending_pod(topic: ValidatedTopic, job: Any) -> None:
    """Put the newest pod, which waits for a ConfigMap."""
    pod = put_pod(topic, job, "x", "2026-11-21T06:00:00Z", "Pending")
    event = {"reason": "FailedMount", "message": "configmap not found", "involvedObject": pod["metadata"]}
    topic.api.put(OLD_EVENT, VALIDATION, "mount", event)


@pytest.mark.parametrize("is_started", [False, True])
async def test_a_missing_request_is_created_for_the_same_job(topic: ValidatedTopic, *, is_started: bool) -> None:
    topic.api.refusals = {} if is_started else {f"PATCH {JOBS}": 409}
    assert await topic.reconcile() == "Validating"
    job = await topic.newest()
    assert job["spec"]["suspend"] is not is_started
    part = topic.api.delete(CONFIG_MAP, VALIDATION, last_part(job))
    if is_started:
        put_pending_pod(topic, job)
    await topic.reconcile()
    created = await topic.world.ctx.client.get(CONFIG_MAP, VALIDATION, part["metadata"]["name"])
    assert created["binaryData"] == part["binaryData"]
    assert [each["metadata"]["uid"] for each in await topic.jobs()] == [job["metadata"]["uid"]]
    await topic.settle()


async def test_the_newest_pod_is_the_reason_why_a_job_does_not_run(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    job = await topic.newest()
    put_pending_pod(topic, job)
    put_pod(topic, job, "z", "2026-11-21T05:00:00Z", "Failed")
    await topic.reconcile()
    message = (await topic.conditions())["Validated"]["message"]
    assert "its pod cannot mount what it needs: configmap not found" in message


def test_a_failed_job_stays_until_long_after_the_next_attempt() -> None:
    pauses = [pause(100, is_transient=each) for each in (True, False)]
    fields = root_schema(NamespaceSchemaPolicy)["properties"]["spec"]["properties"]["validation"]["properties"]
    assert fields["ttlSecondsAfterFinished"]["minimum"] >= 2 * max(pauses)
