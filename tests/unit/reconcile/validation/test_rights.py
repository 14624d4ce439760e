"""Runs end with what gave the right to them: a policy, its claim, a resource that can be read."""

import contextlib
from dataclasses import replace

import pytest

from support.kubernetes.topic import ORDERS
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.errors import ApiRefusedError
from topicschema.core.history import Owner
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.validation.job.result import MessagesVerdict

JOBS = "/apis/batch/v1/namespaces/shop/jobs"


def refuse(method: str, *_: object) -> Exception | None:
    """Let no history be read."""
    return ApiRefusedError("never", 422) if method == "get_history" else None


def delete_policy(topic: ValidatedTopic) -> None:
    topic.world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")


EDITS = {
    "PolicyNotFound": delete_policy,
    "InvalidResource": lambda topic: topic.set_topic(type="NONE_OF_THEM"),
    "InvalidSchema": lambda topic: topic.set_topic(schema="{"),
}


@pytest.mark.parametrize("reason", EDITS)
@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_run_ends_with_the_permission_for_it(reason: str, mode: str) -> None:
    async with open_validated_topic(mode) as topic:
        await topic.reconcile()
        assert len(await topic.jobs()) == 1
        EDITS[reason](topic)
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        assert await topic.reconcile() == reason
        assert (await topic.status())["validation"]["phase"] in ("Waiting", "Running")
        topic.world.api.refusals = {}
        assert await topic.reconcile() == reason
        assert await topic.jobs() == []
        topic.world.api.requests.clear()
        assert "validation" not in await topic.settle()
        assert "Validated" not in await topic.conditions()
        assert not [each for each in topic.world.api.requests if "/jobs" in each]


async def test_a_run_ends_if_another_namespace_has_the_claim() -> None:
    async with open_validated_topic("Gate") as topic:
        await topic.reconcile()
        claims = topic.world.ctx.storage
        await claims.put_claim(await claims.get_claim(ORDERS), Owner("other", "orders", "uid-2"), "pulsar")
        assert await topic.reconcile() == "TopicAlreadyClaimed"
        assert await topic.jobs() == []


async def test_a_verdict_stays_without_the_policy() -> None:
    async with open_validated_topic("Report") as topic:
        await topic.reconcile()
        topic.finish_job(await topic.newest(), MessagesVerdict.FAIL, "2026-11-21T12:00:00Z")
        await topic.reconcile()
        delete_policy(topic)
        assert await topic.reconcile() == "PolicyNotFound"
        assert (await topic.settle())["validation"]["phase"] == "Failed"
        assert (await topic.conditions())["Validated"]["status"] == "False"
        assert len(await topic.jobs()) == 1


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_run_ends_if_its_broker_is_not_allowed_any_more(mode: str) -> None:
    async with open_validated_topic(mode) as topic:
        await topic.reconcile()
        ctx = topic.topics._ctx
        brokers = Brokers(ctx.client, AllowedHosts.parse("elsewhere.test"), lambda: None)
        async with contextlib.aclosing(brokers):
            topic.topics = TopicSchemaReconciler(replace(ctx, brokers=brokers))
            topic.world.api.refusals = {f"DELETE {JOBS}": 403}
            topic.world.api.requests.clear()
            assert await topic.reconcile() == "BrokerNotAllowed"
            assert len([each for each in topic.world.api.requests if each.startswith(f"DELETE {JOBS}")]) == 1
            topic.world.api.refusals = {}
            assert await topic.reconcile() == "BrokerNotAllowed"
            assert await topic.jobs() == []
            conditions = await topic.conditions()
            assert (conditions["Ready"]["status"] == "True", "Validated" in conditions) == (mode == "Report", False)
            assert "validation" not in await topic.settle()


async def test_a_run_goes_on_where_something_else_is_refused_than_the_right_to_it() -> None:
    async with open_validated_topic("Gate") as topic:
        await topic.reconcile()
        topic.set_topic(schemaCompatibilityStrategy="FULL")  # a new generation of the same question
        with topic.world.storage.refusing(refuse):
            assert await topic.reconcile() == "RefusedByApiServer"
        assert len(await topic.jobs()) == 1
        assert (await topic.status())["validation"]["phase"] in ("Waiting", "Running")


async def test_a_run_is_not_let_in_at_a_host_that_its_service_may_not_be_on() -> None:
    async with open_validated_topic("Gate", source={"pulsar": {}}) as topic:
        url = "pulsar://broker.test:6650"
        topic.world.api.change(
            f"/{NAMESPACE_SCHEMA_POLICY.plural}/orders", lambda it: it["spec"]["pulsar"].update(serviceURL=url)
        )
        allowed = AllowedHosts.parse("127.0.0.1,broker.test:6650")
        ctx = topic.topics._ctx
        topic.topics = TopicSchemaReconciler(replace(ctx, validation=replace(ctx.validation, hosts=allowed)))
        topic.world.api.refusals = {f"PATCH {JOBS}": 409}  # it is not let in yet
        await topic.reconcile()
        assert [job["spec"]["suspend"] for job in await topic.jobs()] == [True]
        topic.world.api.refusals = {}
        topic.topics = TopicSchemaReconciler(replace(ctx, validation=replace(ctx.validation, hosts=AllowedHosts())))
        await topic.reconcile()
        assert await topic.jobs() == []
        assert (await topic.conditions())["Validated"]["reason"] == "ValidationError"
        await topic.settle()


async def test_a_run_that_is_wanted_no_more_and_cannot_be_ended_is_ended_later() -> None:
    async with open_validated_topic("Gate") as topic:
        await topic.reconcile()
        topic.set_policy_validation("Off")
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        assert await topic.reconcile() == "Forbidden"
        topic.world.api.refusals = {}
        assert await topic.reconcile() == ""
        assert await topic.jobs() == []
        assert "validation" not in await topic.settle()
