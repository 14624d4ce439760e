"""Refusals of a broker: waited for where its Pulsar namespace has another strategy, and final elsewhere."""

import logging
from collections.abc import AsyncIterator
from itertools import cycle
from typing import Any

import pytest

from support.kubernetes.topic import TOPIC, World
from support.metrics import counted
from support.schemas.examples import ME, record
from support.validation.validated_topic import (
    FALSE,
    KEY,
    POLICY,
    TRUE,
    UNKNOWN,
    WELL,
    ValidatedTopic,
    open_validated_topic,
)
from topicschema.api.kinds import SCHEMA_REGISTRY
from topicschema.broker.errors import BrokerInconsistentError
from topicschema.core.errors import StalledError
from topicschema.core.strategies import Strategy
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.registry import SchemaRegistryReconciler
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.topicschema.observe import blocking_error

DIGIT = '{"type": "record", "name": "R", "namespace": "shop.1x", "fields": [{"name": "id", "type": "long"}]}'
ONE, LESS = record("id"), record("a?")  # LESS reads ONE, and is not read by it
REFUSED = {"Ready": FALSE, "Stalled": TRUE, "Compatible": TRUE, "Registered": FALSE, "InSync": FALSE}
REGISTRY = Key(SCHEMA_REGISTRY.plural, "", "pulsar")
WAITS = {"Ready": FALSE, "Reconciling": TRUE, "Compatible": UNKNOWN, "Registered": UNKNOWN, "InSync": UNKNOWN}


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    """Yield a topic with one version, under a policy that has BACKWARD at its broker."""
    async with open_validated_topic("Off") as topic:
        await topic.world.change_policy(schemaCompatibilityStrategy="BACKWARD")
        topic.set_topic(ONE)
        await NamespaceSchemaPolicies(topic.topics._ctx, 0.0).reconcile(POLICY)
        assert await topic.settled_statuses() == WELL
        yield topic


def set_strategy(topic: ValidatedTopic, strategy: Strategy) -> None:
    """Set the strategy of the Pulsar namespace as another client."""
    topic.broker.settings["schema_compatibility_strategy"] = strategy.value
    topic.broker.schemas.strategy = strategy


def set_unmanaged(wire: dict[str, Any]) -> None:
    """Set the status of a policy that has its strategy, and not its lock."""
    ready = {"type": "Ready", "status": "False", "reason": "UnmanagedTopics"}
    wire["status"]["conditions"] = [{**ready, "observedGeneration": wire["metadata"]["generation"]}]


async def test_a_stricter_strategy_of_another_client_is_waited_for_until_it_is_restored(topic: ValidatedTopic) -> None:
    bugs = counted("internal_errors_total", component="broker")
    set_strategy(topic, Strategy.FULL)
    topic.set_topic(LESS)
    topic.enqueued.clear()
    assert await topic.settled_statuses() == WAITS
    ready = (await topic.conditions())["Ready"]
    assert ready["reason"] == "RefusedByBroker"
    assert "has FULL, but the schema was judged with BACKWARD" in ready["message"]
    assert POLICY.name in [name for name, _ in topic.enqueued]
    policies = NamespaceSchemaPolicies(topic.topics._ctx, 600.0)
    topic.enqueued.clear()
    for _ in range(2):
        await policies.reconcile(POLICY)
        assert topic.enqueued.count((KEY.name, 0.0)) == 1
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()
    assert counted("internal_errors_total", component="broker") == bugs


async def test_a_history_waits_for_the_policy_s_strategy_at_a_new_broker(topic: ValidatedTopic) -> None:
    await topic.world.change_registry(pulsar=None)
    topic.set_topic(LESS)
    assert await topic.settled_statuses() == WELL
    set_strategy(topic, Strategy.FULL)
    await topic.world.change_registry(pulsar=topic.world.pulsar)
    assert await topic.settled_statuses() == WAITS
    assert "has FULL, but the schema was judged with BACKWARD" in (await topic.conditions())["Ready"]["message"]
    await NamespaceSchemaPolicies(topic.topics._ctx, 0.0).reconcile(POLICY)
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()


@pytest.mark.parametrize("version", ["4.0.7", "4.1.2"])
async def test_a_refusal_is_counted_and_logged_unless_the_broker_is_of_another_version(
    topic: ValidatedTopic, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    topic.api.change("/shop/namespaceschemapolicies/orders", set_unmanaged)
    topic.broker.version = version
    topic.broker.upload_status = 409
    topic.set_topic(LESS)
    bugs = counted("internal_errors_total", component="broker")
    assert await topic.settled_statuses() == (REFUSED if version == "4.0.7" else WAITS)
    lines = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(lines) == counted("internal_errors_total", component="broker") - bugs
    message = (await topic.conditions())["Ready"]["message"]
    if version == "4.0.7":
        assert "passes the operator's check" in message
        assert "passes the operator's check" in lines[0].getMessage()
        assert vars(lines[0])["fields"]["topic"] == "shop/orders/created"
    else:
        assert "the broker is 4.1.2 now, and the schema was judged by the rules of 4.0" in message
        assert lines == []


async def test_a_topic_s_own_strategy_is_that_of_the_spec_while_the_broker_refuses_the_schema(
    topic: ValidatedTopic,
) -> None:
    own = topic.broker.schemas.settings
    own[TOPIC] = {"strategy": Strategy.FORWARD}
    topic.broker.upload_status = 409
    set_strategy(topic, Strategy.FULL)
    for _ in range(2):
        topic.set_topic(LESS, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
        assert await topic.settled_statuses() == REFUSED
        assert own[TOPIC]["strategy"] is Strategy.ALWAYS_COMPATIBLE
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    assert own[TOPIC]["strategy"] is Strategy.FORWARD


async def test_a_refusal_stays_one_where_the_pulsar_namespace_s_settings_may_not_be_read(topic: ValidatedTopic) -> None:
    set_strategy(topic, Strategy.FULL)
    topic.broker.are_settings_shown = False
    topic.set_topic(LESS)
    assert await topic.settled_statuses() == REFUSED


async def test_an_upgrade_of_the_broker_judges_all_topics_again_by_its_rules(topic: ValidatedTopic) -> None:
    await topic.world.change_policy(schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    set_strategy(topic, Strategy.ALWAYS_COMPATIBLE)
    policies, broker = NamespaceSchemaPolicies(topic.topics._ctx, 600.0), topic.broker
    registries = SchemaRegistryReconciler(topic.topics._ctx)
    await policies.reconcile(POLICY)
    topic.set_topic(schema=DIGIT)
    assert await topic.settled_statuses() == WELL  # 4.0.7 takes the namespace shop.1x
    for release, reason in (("4.2.1", "InvalidSchema"), ("4.0.8", ""), ("77.0.0", "InvalidSchema")):
        broker.version = release
        topic.enqueued.clear()
        await registries.reconcile(REGISTRY)
        assert (POLICY.name, 0.0) in topic.enqueued
        await policies.reconcile(POLICY)
        assert (KEY.name, 0.0) in topic.enqueued
        assert await topic.reconcile() == reason


ACTIVE = {"conditions": [{"type": "Ready", "status": "True", "reason": "Active", "observedGeneration": 1}]}
SCHEMAS = (record("id"), record("id", "a?"), record("id", "a?", "b?"))
_REQUESTS = 40


async def test_a_reconcile_ends_at_a_broker_that_loses_versions_again_and_again(world: World) -> None:
    await world.store_versions(*SCHEMAS, claim=ME)
    world.set_schema(SCHEMAS[-1])
    retained, entries, calls = cycle((1, 0)), world.broker.schemas.entries, world.broker.calls

    def drop_versions(number: int) -> None:
        assert number < _REQUESTS, "it never ends"
        if calls[-2:-1] == ["POST schema"] and calls[-1] == "GET schema":
            entries[TOPIC] = entries[TOPIC][: next(retained)]

    world.broker.on_call = drop_versions
    with pytest.raises(BrokerInconsistentError):
        await world.apply_actions()
    assert calls.count("POST schema") == 5


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (200, "ALWAYS_INCOMPATIBLE, which the operator did not set"),
        *((status, "passes the operator's check") for status in (401, 403, 405)),
    ],
)
async def test_a_refusal_names_the_topic_s_own_strategy_if_that_may_be_read(
    world: World, status: int, message: str
) -> None:
    assert await world.apply(SCHEMAS[0]) == ""
    world.broker.calls.clear()
    world.broker.schemas.settings[TOPIC] = {"strategy": Strategy.ALWAYS_INCOMPATIBLE}
    world.broker.topic_settings_status = status
    world.api.change("/shop/namespaceschemapolicies/orders", lambda wire: wire.update(status=ACTIVE))
    world.set_schema(SCHEMAS[1])
    judged = await world.apply_actions()
    assert judged is not None
    refused = blocking_error(judged)
    assert isinstance(refused, StalledError)
    assert (refused.reason, message in refused.message) == ("RefusedByBroker", True)
    assert world.broker.calls.count("POST schema") == 1
