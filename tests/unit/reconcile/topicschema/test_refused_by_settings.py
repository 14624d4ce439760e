"""What a refusal of the broker comes to: a wait where its Pulsar namespace has another strategy, else a refusal."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.kubernetes.topic import TOPIC
from support.metrics import counted
from support.schemas.examples import record
from support.validation.validated_topic import FALSE, KEY, TRUE, UNKNOWN, WELL, AskedTopic, asked
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.strategies import Strategy
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key

POLICY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
DIGIT = '{"type": "record", "name": "R", "namespace": "shop.1x", "fields": [{"name": "id", "type": "long"}]}'
ONE, LESS = record("id"), record("a?")  # LESS reads ONE, and is not read by it
REFUSED = {"Ready": FALSE, "Stalled": TRUE, "Compatible": TRUE, "Registered": FALSE, "InSync": FALSE}
WAITS = {"Ready": FALSE, "Reconciling": TRUE, "Compatible": UNKNOWN, "Registered": UNKNOWN, "InSync": UNKNOWN}


@pytest.fixture
async def topic() -> AsyncIterator[AskedTopic]:
    """A topic with one version, under a policy that has BACKWARD at its broker."""
    async with asked("Off") as topic:
        topic.world.allow_claims()
        await topic.governed(schemaCompatibilityStrategy="BACKWARD")
        topic.wants(ONE)
        await NamespaceSchemaPolicies(topic.topics._ctx, 0.0).reconcile(POLICY)
        assert await topic.says() == WELL
        yield topic


def has(topic: AskedTopic, strategy: Strategy) -> None:
    """Somebody gives the Pulsar namespace this strategy."""
    topic.world.broker.settings["schema_compatibility_strategy"] = strategy.value
    topic.world.broker.schemas.strategy = strategy


def waits_for_topics(wire: dict[str, Any]) -> None:
    """The policy has its strategy, and not its lock."""
    ready = {"type": "Ready", "status": "False", "reason": "UnmanagedTopics"}
    wire["status"]["conditions"] = [{**ready, "observedGeneration": wire["metadata"]["generation"]}]


async def test_a_stricter_strategy_that_somebody_set_is_waited_for_until_it_is_put_back(topic: AskedTopic) -> None:
    bugs = counted("internal_errors_total", component="broker")
    has(topic, Strategy.FULL)
    topic.wants(LESS)
    topic.enqueued.clear()
    assert await topic.says() == WAITS
    ready = (await topic.conditions())["Ready"]
    assert ready["reason"] == "RefusedByBroker"
    assert "has FULL, but the schema was judged with BACKWARD" in ready["message"]
    assert POLICY.name in [name for name, _ in topic.enqueued]
    policies = NamespaceSchemaPolicies(topic.topics._ctx, 600.0)
    topic.enqueued.clear()
    await policies.reconcile(POLICY)
    assert topic.enqueued.count((KEY.name, 0.0)) == 1
    await policies.reconcile(POLICY)
    assert topic.enqueued.count((KEY.name, 0.0)) == 1
    assert await topic.says() == WELL
    assert await topic.world.agrees()
    assert counted("internal_errors_total", component="broker") == bugs


async def test_a_history_waits_for_the_policy_s_strategy_at_a_new_broker(topic: AskedTopic) -> None:
    await topic.governed(pulsar=None)
    topic.wants(LESS)
    assert await topic.says() == WELL
    has(topic, Strategy.FULL)
    await topic.governed(pulsar={"adminURL": topic.world.broker.url})
    assert await topic.says() == WAITS
    assert "has FULL, but the schema was judged with BACKWARD" in (await topic.conditions())["Ready"]["message"]
    await NamespaceSchemaPolicies(topic.topics._ctx, 0.0).reconcile(POLICY)
    assert await topic.says() == WELL
    assert await topic.world.agrees()


@pytest.mark.parametrize("version", ["4.0.7", "4.1.2"])
async def test_a_refusal_is_counted_and_logged_unless_the_broker_is_of_another_version(
    topic: AskedTopic, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    topic.world.api.change("/shop/namespaceschemapolicies/orders", waits_for_topics)
    topic.world.broker.version = version
    topic.world.broker.upload_status = 409
    topic.wants(LESS)
    bugs = counted("internal_errors_total", component="broker")
    assert await topic.says() == (REFUSED if version == "4.0.7" else WAITS)
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


async def test_a_topic_s_own_strategy_is_what_the_spec_says_while_the_broker_refuses_the_schema(
    topic: AskedTopic,
) -> None:
    own = topic.world.broker.schemas.settings
    own[TOPIC] = {"strategy": Strategy.FORWARD}
    topic.world.broker.upload_status = 409
    has(topic, Strategy.FULL)
    for _ in range(2):
        topic.wants(LESS, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
        assert await topic.says() == REFUSED
        assert own[TOPIC]["strategy"] is Strategy.ALWAYS_COMPATIBLE
    topic.wants(ONE)
    assert await topic.says() == WELL
    assert own[TOPIC]["strategy"] is Strategy.FORWARD


async def test_a_refusal_stays_one_where_the_pulsar_namespace_s_settings_may_not_be_read(topic: AskedTopic) -> None:
    has(topic, Strategy.FULL)
    topic.world.broker.are_settings_shown = False
    topic.wants(LESS)
    assert await topic.says() == REFUSED


async def test_an_upgrade_of_the_broker_judges_all_again_by_its_rules(topic: AskedTopic) -> None:
    await topic.governed(brokerProfile={}, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    has(topic, Strategy.ALWAYS_COMPATIBLE)
    policies, broker = NamespaceSchemaPolicies(topic.topics._ctx, 600.0), topic.world.broker
    await policies.reconcile(POLICY)
    topic.wants(schema=DIGIT)
    assert await topic.says() == WELL  # 4.0.7 takes the namespace shop.1x
    for release, reason in (("4.2.1", "InvalidSchema"), ("4.0.8", ""), ("77.0.0", "InvalidSchema")):
        broker.version = release
        topic.topics._ctx.brokers._releases.clear()  # as some minutes later
        topic.enqueued.clear()
        await policies.reconcile(POLICY)
        assert (KEY.name, 0.0) in topic.enqueued
        assert await topic.look() == reason
    assert counted("policies_with_unknown_pulsar_version") == 1
    policy = await topic.world.ctx.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    ready = {each["type"]: each for each in policy["status"]["conditions"]}["Ready"]
    assert ready["status"] == TRUE
    assert "the broker is 77.0.0, which this operator does not know" in ready["message"]
    broker.version = "4.0.9"
    topic.topics._ctx.brokers._releases.clear()
    await policies.reconcile(POLICY)
    assert counted("policies_with_unknown_pulsar_version") == 0
