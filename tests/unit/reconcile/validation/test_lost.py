"""The request of a Job that lost it, or never had one, is created again."""

from typing import Any

import pytest

from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.api.kinds import CONFIG_MAP, OLD_EVENT, POD
from topicschema.api.openapi import root_schema
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.topicschemas import TopicSchema
from topicschema.reconcile.validation.observe import pause
from topicschema.validation.job.manifest import last_part

JOBS = "/apis/batch/v1/namespaces/shop/jobs"


def put_pod(topic: ValidatedTopic, job: Any, name: str, created: str, **status: Any) -> Any:
    owner = {"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"], "controller": True}
    labels = {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    metadata = {"ownerReferences": [owner], "labels": labels, "creationTimestamp": created}
    return topic.world.api.put(POD, "shop", f"created-{name}", {"metadata": metadata, "status": status})


def put_pending_pod(topic: ValidatedTopic, job: Any) -> None:
    """The newest pod waits for a ConfigMap."""
    pod = put_pod(topic, job, "x", "2026-11-21T06:00:00Z", phase="Pending")
    event = {"reason": "FailedMount", "message": "configmap not found", "involvedObject": pod["metadata"]}
    topic.world.api.put(OLD_EVENT, "shop", "mount", event)


@pytest.mark.parametrize("is_started", [False, True])
async def test_a_missing_request_is_created_for_the_same_job(*, is_started: bool) -> None:
    async with open_validated_topic("Gate") as topic:
        topic.world.api.refusals = {} if is_started else {f"PATCH {JOBS}": 409}
        assert await topic.reconcile() == "Validating"
        job = await topic.newest()
        assert job["spec"]["suspend"] is not is_started
        part = topic.world.api.delete(CONFIG_MAP, "shop", last_part(job))
        if is_started:
            put_pending_pod(topic, job)
        await topic.reconcile()
        created = await topic.world.ctx.client.get(CONFIG_MAP, "shop", part["metadata"]["name"])
        assert created["binaryData"] == part["binaryData"]
        assert [each["metadata"]["uid"] for each in await topic.jobs()] == [job["metadata"]["uid"]]
        await topic.settle()


async def test_the_newest_pod_says_why_a_job_does_not_run() -> None:
    async with open_validated_topic("Gate") as topic:
        await topic.reconcile()
        job = await topic.newest()
        put_pending_pod(topic, job)
        put_pod(topic, job, "z", "2026-11-21T05:00:00Z", phase="Failed")
        await topic.reconcile()
        message = (await topic.conditions())["Validated"]["message"]
        assert "its pod cannot mount what it needs: configmap not found" in message


def test_a_failed_job_stays_until_long_after_the_next_attempt() -> None:
    pauses = [pause(100, is_transient=each) for each in (True, False)]
    for kind in (TopicSchema, NamespaceSchemaPolicy):
        fields = root_schema(kind)["properties"]["spec"]["properties"]["validation"]["properties"]
        assert fields["ttlSecondsAfterFinished"]["minimum"] >= 2 * max(pauses)
