"""Questions that never were or went are made where they are missing; Jobs that nobody waits for end, but not all."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.topic import World, opened
from support.schemas.examples import history, record
from topicschema.api.kinds import CONFIG_MAP, JOB, OLD_EVENT, POD
from topicschema.api.openapi import root_schema
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import ValidationPhase, ValidationStatus
from topicschema.api.wire import decode
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.schemas import PulsarLine
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.judging.policies import ActivePolicy, policy_of
from topicschema.reconcile.validation.actions import create_job
from topicschema.reconcile.validation.gather import ValidationState, gather, pause
from topicschema.reconcile.validation.job_limiter import Validations
from topicschema.reconcile.validation.settings import ValidationTarget
from topicschema.validation.job.manifest import last_part
from topicschema.validation.job.outcome import CouldNotRun, Waiting

FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
SUBJECT = ValidationTarget(record("id").info, history(), Verdict(Outcome.NEXT_VERSION, FULL, 0), PulsarLine.V4_0)
FILES = {"files": {"uri": "s3://archive/created", "format": "Parquet"}}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        world.wants(record("id"))
        world.ctx = replace(world.ctx, validation=Validations("validation:1"))
        yield world


def policy_found() -> ActivePolicy:
    spec = {"pulsarCluster": "p", "pulsarNamespace": "shop/orders", "validation": {"mode": "Gate", "source": FILES}}
    policy = decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": spec})
    return ActivePolicy(policy, policy_of(policy))


async def seen(world: World) -> ValidationState:
    found = await gather(world.ctx, world.resource, policy_found(), SUBJECT)
    assert found is not None
    return found


def lets_in(world: World, job: Any) -> None:
    """Its turn came, and its pod waits for what it is to mount."""
    name = job["metadata"]["name"]
    world.api.change(f"/jobs/{name}", lambda there: there["spec"].update(suspend=False))
    pod = puts_pod(world, job, "x", "2026-11-21T06:00:00Z")
    told = {"reason": "FailedMount", "message": "configmap not found", "involvedObject": pod["metadata"]}
    world.api.put(OLD_EVENT, "shop", "mount", told)


def puts_pod(world: World, job: Any, name: str, made: str, **status: Any) -> dict[str, Any]:
    """One more pod of the Job."""
    owner = {"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"], "controller": True}
    metadata = {"ownerReferences": [owner], "creationTimestamp": made}
    wire = {"metadata": metadata, "status": status}
    return world.api.put(POD, "shop", f"{job['metadata']['name']}-{name}", wire)


@pytest.mark.parametrize("is_let_in", [False, True])
async def test_a_question_that_is_not_there_is_made_for_the_same_job(world: World, *, is_let_in: bool) -> None:
    await create_job(world.ctx, world.resource, await seen(world))
    job = (await seen(world)).job
    assert job is not None
    part = world.api.take_away(CONFIG_MAP, "shop", last_part(job))
    if is_let_in:
        lets_in(world, job)
    found = await seen(world)
    assert isinstance(found.outcome, CouldNotRun if is_let_in else Waiting)
    assert found.planned.needs_job
    await create_job(world.ctx, world.resource, found)
    made = await world.ctx.client.get(CONFIG_MAP, "shop", part["metadata"]["name"])
    assert made["binaryData"] == part["binaryData"]
    assert len(await world.ctx.client.list(JOB, "shop")) == 1
    world.api.requests.clear()
    assert not (await seen(world)).planned.needs_job
    assert {each.partition(" ")[0] for each in world.api.requests} == {"GET"}


async def test_why_a_second_pod_does_not_start_is_told_whatever_the_pods_are_called(world: World) -> None:
    await create_job(world.ctx, world.resource, await seen(world))
    job = (await seen(world)).job
    assert job is not None
    lets_in(world, job)
    puts_pod(world, job, "z", "2026-11-21T05:00:00Z", phase="Failed")
    found = await seen(world)
    assert isinstance(found.outcome, CouldNotRun)
    assert found.outcome.why == "its pod cannot mount what it needs: configmap not found"


def test_a_job_that_failed_stays_until_long_after_the_next_one() -> None:
    pauses = [pause(100, is_transient=each) for each in (True, False)]
    for kind in (TopicSchema, NamespaceSchemaPolicy):
        said = root_schema(kind)["properties"]["spec"]["properties"]["validation"]["properties"]
        assert said["ttlSecondsAfterFinished"]["minimum"] >= 2 * max(pauses)


@pytest.mark.parametrize("phase", [ValidationPhase.RUNNING, ValidationPhase.FAILED])
async def test_a_newer_edit_ends_a_job_unless_its_verdict_is_told(world: World, phase: ValidationPhase) -> None:
    await create_job(world.ctx, world.resource, await seen(world))
    before = await seen(world)
    assert before.job is not None
    assert before.run is not None
    told = ValidationStatus(phase=phase, question=before.run.hash, job=before.job["metadata"]["name"])
    resource = replace(world.resource, status=replace(world.resource.status, validation=told))
    newer = await gather(world.ctx, resource, policy_found(), replace(SUBJECT, schema=record("id", "total").info))
    assert newer is not None
    assert newer.run != before.run
    assert newer.planned.has_obsolete_jobs == (phase is ValidationPhase.RUNNING)
