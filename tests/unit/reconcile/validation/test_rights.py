"""Runs end with the request for them and the right to them: a registry, a policy, its claim, a readable spec."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.topic import ORDERS
from support.validation.validated_topic import JOBS, POLICY, ValidatedTopic
from topicschema.api.kinds import JOB, NAMESPACE_SCHEMA_POLICY, POD, SCHEMA_REGISTRY
from topicschema.cluster.errors import ApiRefusedError
from topicschema.core.errors import StalledError
from topicschema.core.history import Owner
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.validation.job.result import MessagesVerdict


def refuse(method: str, *_: object) -> Exception | None:
    """Let no history be read."""
    return ApiRefusedError("never", 422) if method == "get_history" else None


def delete_policy(topic: ValidatedTopic) -> None:
    topic.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")


def delete_registry(topic: ValidatedTopic) -> None:
    topic.api.delete(SCHEMA_REGISTRY, "", "pulsar")


def name_no_url(topic: ValidatedTopic) -> None:
    topic.world.set_registry(pulsar={"adminURL": "https://pulsar:99999"}, validation={})


def switch_off(topic: ValidatedTopic) -> None:
    topic.set_policy_validation("Off")


def suspend(topic: ValidatedTopic) -> None:
    topic.set_topic(suspend=True)


TOPIC = "/apis/topicschema.io/v1alpha1/namespaces/shop/topicschemas/created"
EDITS = {
    "PolicyNotFound": delete_policy,
    "RegistryNotFound": delete_registry,
    "InvalidResource": lambda topic: topic.set_topic(type="NONE_OF_THEM"),
    "InvalidSchema": lambda topic: topic.set_topic(schema="{"),
}


@pytest.mark.parametrize("reason", EDITS)
@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_run_ends_with_the_permission_for_it(topic: ValidatedTopic, reason: str) -> None:
    await topic.reconcile()
    assert len(await topic.jobs()) == 1
    EDITS[reason](topic)
    topic.api.refusals = {f"DELETE {JOBS}": 403}
    assert await topic.reconcile() == reason
    assert (await topic.status())["validation"]["phase"] in ("Waiting", "Running")
    topic.api.refusals = {}
    assert await topic.reconcile() == reason
    assert await topic.jobs() == []
    topic.api.requests.clear()
    assert "validation" not in await topic.settle()
    assert "Validated" not in await topic.conditions()
    assert not [each for each in topic.api.requests if "/jobs" in each]


async def test_a_run_ends_if_another_namespace_has_the_claim(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    claims = topic.world.ctx.storage
    await claims.put_claim(await claims.get_claim(ORDERS), Owner("other", "orders", "uid-2"), "pulsar")
    assert await topic.reconcile() == "TopicAlreadyClaimed"
    assert await topic.jobs() == []


@pytest.mark.parametrize("mode", ["Report"])
async def test_a_verdict_stays_without_the_policy(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    await topic.finish(MessagesVerdict.FAIL)
    delete_policy(topic)
    assert await topic.reconcile() == "PolicyNotFound"
    assert (await topic.settle())["validation"]["phase"] == "Failed"
    assert (await topic.conditions())["Validated"]["status"] == "False"
    assert len(await topic.jobs()) == 1


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_run_ends_if_its_namespace_loses_the_right_to_govern(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    topic.world.set_registry(pulsar=topic.world.pulsar, validation={}, allowedNamespaces=[])
    with pytest.raises(StalledError):
        await NamespaceSchemaPolicies(topic.topics._ctx, 600.0).reconcile(POLICY)
    assert await topic.reconcile() == "ClaimNotAllowed"
    assert await topic.jobs() == []
    assert "validation" not in await topic.settle()


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_run_ends_if_its_registry_names_no_broker_any_more(topic: ValidatedTopic, mode: str) -> None:
    await topic.reconcile()
    name_no_url(topic)
    await topic.world.claim()
    topic.api.refusals = {f"DELETE {JOBS}": 403}
    topic.api.requests.clear()
    assert await topic.reconcile() == "BrokerNotAllowed"
    assert len([each for each in topic.api.requests if each.startswith(f"DELETE {JOBS}")]) == 1
    topic.api.refusals = {}
    assert await topic.reconcile() == "BrokerNotAllowed"
    assert await topic.jobs() == []
    conditions = await topic.conditions()
    assert (conditions["Ready"]["status"] == "True", "Validated" in conditions) == (mode == "Report", False)
    assert "validation" not in await topic.settle()


async def test_a_run_continues_if_only_the_history_may_not_be_read(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    topic.set_topic(schemaCompatibilityStrategy="FULL")  # a new generation with the same request
    with topic.world.storage.refusing(refuse):
        assert await topic.reconcile() == "RefusedByApiServer"
    assert len(await topic.jobs()) == 1
    assert (await topic.status())["validation"]["phase"] in ("Waiting", "Running")


@pytest.mark.parametrize(("member", "runs"), [("serviceURL", {}), ("spec.validation", None)])
async def test_a_run_that_its_registry_does_not_allow_any_more_is_not_started(
    topic: ValidatedTopic, member: str, runs: dict[str, Any] | None
) -> None:
    topic.set_policy_validation("Gate", source={"pulsar": {}})
    served = {**topic.world.pulsar, "serviceURL": "pulsar://broker.test:6650"}
    topic.world.set_registry(pulsar=served, validation={})
    topic.api.refusals = {f"PATCH {JOBS}": 409}
    await topic.reconcile()
    assert [job["spec"]["suspend"] for job in await topic.jobs()] == [True]
    topic.api.refusals = {}
    if runs is None:
        topic.world.set_registry(pulsar=served)
    else:
        topic.world.set_registry(pulsar=topic.world.pulsar, validation=runs)
    await topic.reconcile()
    assert await topic.jobs() == []
    validated = (await topic.conditions())["Validated"]
    assert validated["reason"] == "ValidationError"
    assert member in validated["message"]
    await topic.settle()


async def test_a_run_that_is_switched_off_and_cannot_be_deleted_is_deleted_later(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    switch_off(topic)
    topic.api.refusals = {f"DELETE {JOBS}": 403}
    assert await topic.reconcile() == "Forbidden"
    topic.api.refusals = {}
    assert await topic.reconcile() == ""
    assert await topic.jobs() == []
    assert "validation" not in await topic.settle()


def restart(topic: ValidatedTopic, *listed: Any) -> EventRouter:
    """Continue as another process, which has listed these Jobs."""
    ctx = replace(topic.topics._ctx, index=ObjectIndex())
    topic.topics = TopicSchemaReconciler(ctx)
    router = EventRouter(ctx.index, ctx.own_writes, ctx.registries.forget, ctx.enqueue)
    for job in listed:
        router.on_event(JOB.plural, job["metadata"], is_deleted=False, is_listed=True)
    return router


def lists(topic: ValidatedTopic) -> int:
    """Return how often Jobs were read."""
    return len([each for each in topic.api.requests if each.startswith(f"GET {JOBS}")])


async def lists_when_settled(topic: ValidatedTopic) -> int:
    topic.api.requests.clear()
    await topic.settle()
    return lists(topic)


@pytest.mark.parametrize(("edit", "reason"), [(suspend, ""), (switch_off, ""), (delete_policy, "PolicyNotFound")])
@pytest.mark.parametrize("is_new", [False, True])
async def test_a_job_ends_although_the_status_lacks_it(
    topic: ValidatedTopic, edit: Callable[[ValidatedTopic], None], reason: str, *, is_new: bool
) -> None:
    topic.api.refusals = {f"PATCH {TOPIC}/status": 409}  # another client edited the resource meanwhile
    assert await topic.reconcile() == "Conflict"
    topic.api.refusals = {}
    assert [job["spec"]["suspend"] for job in await topic.jobs()] == [False]
    edit(topic)
    if is_new:
        restart(topic, *await topic.jobs())
    for method in ("DELETE", "GET"):
        topic.api.refusals = {f"{method} {JOBS}": 403}
        await topic.reconcile()
    topic.api.refusals = {}
    assert len(await topic.jobs()) == 1
    assert await topic.reconcile() == reason
    assert await topic.jobs() == []
    assert await lists_when_settled(topic) == 0


@pytest.mark.parametrize("edit", [suspend, switch_off])
@pytest.mark.parametrize("has_ended", [True, False])
@pytest.mark.parametrize("mode", ["Report"])
async def test_a_job_with_a_reported_verdict_is_listed_once_and_ends_by_itself(
    topic: ValidatedTopic, edit: Callable[[ValidatedTopic], None], *, has_ended: bool
) -> None:
    await topic.reconcile()
    job = await topic.newest()
    await topic.finish()
    if not has_ended:
        topic.api.change(f"/jobs/{job['metadata']['name']}", lambda wire: wire.pop("status"))
    edit(topic)
    restart(topic, job)
    topic.api.requests.clear()
    await topic.reconcile()
    assert lists(topic) == 1
    assert not has_ended or await lists_when_settled(topic) == 0
    assert len(await topic.jobs()) == 1


@pytest.mark.parametrize("mode", ["Report"])
async def test_deleted_jobs_and_pods_are_no_reason_to_list_jobs(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    job = (await topic.newest())["metadata"]
    topic.set_policy_validation("Off")
    await topic.reconcile()
    router = restart(topic)
    router.on_event(JOB.plural, {**job, "deletionTimestamp": topic.clock}, is_deleted=False)
    router.on_event(JOB.plural, job, is_deleted=True)
    router.on_event(POD.plural, job, is_deleted=False)
    assert await lists_when_settled(topic) == 0
