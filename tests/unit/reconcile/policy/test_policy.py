"""Reconciles of a policy at a fake API server and a broker in memory: their writes, and what stays in memory."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from yarl import URL

from support.kubernetes.kstatus import kstatus
from support.kubernetes.registries import observed
from support.kubernetes.topic import ORDERS, World
from support.schemas.examples import record
from topicschema.api.kinds import CRON_JOB, NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA
from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.api.wire import decode
from topicschema.broker.errors import BrokerForbiddenError, BrokerUnavailableError
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import StalledError
from topicschema.core.strategies import Strategy
from topicschema.judging.registries import RegistryNotFoundError
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.registry import SchemaRegistryReconciler
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.validation.job.audits import audit_name

KEY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
REGISTRY = Key(SCHEMA_REGISTRY.plural, "", "pulsar")
TOPIC = Key(TOPIC_SCHEMA.plural, "shop", "created")


async def test_settings_that_cannot_be_written_are_an_error_until_they_can(world: World) -> None:
    world.set_policy(schemaCompatibilityStrategy="FULL")
    policies = NamespaceSchemaPolicies(world.ctx, 0.0)
    world.broker.settings_status = 403
    for _ in range(2):
        with pytest.raises(BrokerForbiddenError):
            await policies.reconcile(KEY)
    world.broker.settings_status = 200
    assert await policies.reconcile(KEY) is ReconcileResult.DONE
    assert world.broker.settings["schema_compatibility_strategy"] == "FULL"


async def test_a_policy_that_judges_nothing_has_failed_for_tools_that_wait_for_it(world: World) -> None:
    world.broker.are_own_settings_shown = False
    with pytest.raises(StalledError, match="set schemaCompatibilityStrategy in the policy"):
        await NamespaceSchemaPolicies(world.ctx, 600.0).reconcile(KEY)
    assert kstatus(await world.ctx.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders")) == "Failed"


async def test_a_policy_without_a_registry_and_without_audits_has_no_cron_job(world: World) -> None:
    name, runtime = audit_name("shop", "orders"), world.ctx.validation.runtime
    validation = replace(world.ctx.validation, runtime=replace(runtime, image="registry.example/validation"))
    world.ctx = replace(world.ctx, validation=validation)
    world.api.put(CRON_JOB, validation.namespace, name, {})
    pending = {"type": "Audited", "status": "Unknown", "reason": "AuditPending", "message": "no audit yet"}
    since = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
    world.api.change(
        "/shop/namespaceschemapolicies/orders", lambda wire: wire.update(status={"conditions": [pending | since]})
    )
    world.api.delete(SCHEMA_REGISTRY, "", "pulsar")
    with pytest.raises(RegistryNotFoundError):
        await NamespaceSchemaPolicies(world.ctx, 600.0).reconcile(KEY)
    with pytest.raises(NotFoundError):
        await world.ctx.client.get(CRON_JOB, validation.namespace, name)


def _observe(address: str, version: str) -> Callable[[dict[str, Any]], object]:
    """Return an edit that sets the broker's release in the registry's status."""
    return lambda wire: wire.update(status=observed(address, version))


async def test_a_policy_reports_its_registry_and_enqueues_its_topics_if_that_changes(world: World) -> None:
    enqueued: list[Key] = []
    world.ctx = replace(world.ctx, enqueue=lambda key, _: enqueued.append(key))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    world.ctx.index.update_topic(TOPIC, TopicSummary("shop/orders/created", "shop/orders"))
    address = URL(world.broker.url).authority
    for pulsar, version in ((world.pulsar, "4.0.7"), (world.pulsar, "4.1.0"), (None, "")):
        world.set_registry(pulsar=pulsar)
        if pulsar is not None:
            world.api.change("/schemaregistries/pulsar", _observe(address, version))
        enqueued.clear()
        await policies.reconcile(KEY)
        status = (await world.ctx.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders"))["status"]
        assert status["registry"] == ({"address": ""} if pulsar is None else {"address": address, "version": version})
        assert TOPIC in enqueued
        enqueued.clear()
        writes = world.writes
        await policies.reconcile(KEY)
        assert (enqueued, world.writes) == ([], writes)


@pytest.mark.parametrize(("source", "strategy"), [("Topic", Strategy.FORWARD), ("Namespace", None)])
def test_the_strategy_of_a_topic_at_its_broker_is_indexed_also_while_the_broker_cannot_be_read(
    world: World, source: str, strategy: Strategy | None
) -> None:
    wire = {"spec": {"topic": "persistent://shop/orders/created", "type": "STRING"}}
    topics = TopicSchemaReconciler(world.ctx)
    known = decode(TopicSchemaStatus, {"effectiveStrategy": {"value": "FORWARD", "source": source}})
    for after in (known, TopicSchemaStatus()):
        summary = topics._summary(TOPIC, wire, after)
        assert summary.strategy is strategy
        world.ctx.index.update_topic(TOPIC, summary)


async def test_nothing_is_cached_of_a_registry_that_was_replaced_or_deleted(world: World) -> None:
    registries = SchemaRegistryReconciler(world.ctx)
    for url in (world.broker.url, "http://127.0.0.1:1", world.broker.url):
        world.set_registry(pulsar={"adminURL": url})
        with suppress(BrokerUnavailableError):
            await registries.reconcile(REGISTRY)
        assert set(world.ctx.brokers._cached) == {"pulsar"}
    world.api.delete(SCHEMA_REGISTRY, "", "pulsar")
    assert await registries.reconcile(REGISTRY) is ReconcileResult.DELETED
    assert (world.ctx.brokers._cached, world.ctx.brokers._own) == ({}, {})
    await world.ctx.brokers.aclose()
    await asyncio.sleep(0)  # the brokers are closed, and no longer remembered now
    gc.collect()
    assert len(world.ctx.brokers._limits) == 0


async def test_a_policy_that_was_replaced_between_two_reconciles_gets_its_claim(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    await policies.reconcile(KEY)
    spec = {"registry": "pulsar", "pulsarNamespace": "shop/orders"}
    uid = world.api.put(NAMESPACE_SCHEMA_POLICY, "shop", "orders", {"spec": spec})["metadata"]["uid"]
    await policies.reconcile(KEY)
    owner = (await world.ctx.storage.get_claim(ORDERS)).owner
    assert owner is not None
    assert owner.uid == uid


async def test_a_new_and_a_deleted_policy_enqueue_only_their_own_topics_and_a_second_reconcile_writes_nothing(
    world: World,
) -> None:
    enqueued: list[Key] = []
    world.ctx = replace(world.ctx, enqueue=lambda key, _: enqueued.append(key))
    ours, others = (Key(TOPIC_SCHEMA.plural, "shop", name) for name in ("ours", "others"))
    for topic, pulsar_namespace in ((ours, "shop/orders"), (others, "shop/returns")):
        world.ctx.index.update_topic(topic, TopicSummary(f"{pulsar_namespace}/created", pulsar_namespace))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    await policies.reconcile(KEY)
    assert set(enqueued) == {ours}
    enqueued.clear()
    writes = world.writes
    await policies.reconcile(KEY)
    assert (enqueued, world.writes) == ([], writes)
    world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    await policies.reconcile(KEY)
    assert set(enqueued) == {ours}


@pytest.mark.parametrize(
    ("topic", "has_broker"),
    [("shop/orders/created", True), ("shop/other/created", False), ("no", False), (None, False)],
)
async def test_the_broker_of_a_topic_is_that_of_its_policy(
    world: World, topic: str | None, *, has_broker: bool
) -> None:
    topics = TopicSchemaReconciler(world.ctx)
    if topic is not None:
        spec = {"topic": f"persistent://{topic}", "type": "AVRO", "schema": record("id").info.schema.decode()}
        world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": spec})
    address = URL(world.broker.url).authority if has_broker else ""
    assert await topics.broker_of(TOPIC) == address


async def test_the_broker_of_a_topic_is_known_without_a_read_by_the_policies_with_a_claim(world: World) -> None:
    topics, index = TopicSchemaReconciler(world.ctx), world.ctx.index
    policies, address = NamespaceSchemaPolicies(world.ctx, 600.0), URL(world.broker.url).authority
    await policies.reconcile(KEY)
    world.api.requests.clear()
    assert (await topics.broker_of(TOPIC), world.api.requests) == (address, [])
    rival = Key(KEY.plural, "shop", "rival")
    index.update_policy(rival, ORDERS)  # without a claim
    assert index.broker_of_topic(TOPIC) is None
    index.update_topic(TOPIC, TopicSummary("shop/orders/created", "shop/orders"))
    assert index.broker_of_topic(TOPIC) == address
    index.update_topic(TOPIC, TopicSummary())
    assert index.broker_of_topic(TOPIC) is None
    world.set_registry(pulsar=world.pulsar, allowedNamespaces=[])
    with pytest.raises(StalledError):
        await policies.reconcile(KEY)
    assert not index.brokers


async def test_the_broker_of_a_policy_is_unknown_while_it_cannot_be_read(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    assert await policies.broker_of(KEY) == URL(world.broker.url).authority
    world.set_registry()
    assert await policies.broker_of(KEY) == ""
    world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert await policies.broker_of(KEY) == ""
    world.api.is_unavailable = True
    assert await policies.broker_of(KEY) == ""
    assert await TopicSchemaReconciler(world.ctx).broker_of(TOPIC) == ""
