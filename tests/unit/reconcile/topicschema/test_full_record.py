"""Topics of a policy whose histories take all the bytes that its registry allows: nothing more is written."""

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import ORDERS
from support.metrics import counted
from support.schemas.examples import record
from support.validation.validated_topic import POLICY, ValidatedTopic, open_validated_topic
from topicschema.api import FINALIZER
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.core.errors import TopicSchemaError
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies

ONE, TWO, THREE = (record("id", *(f"f{number}?" for number in range(count))) for count in range(3))
_OF_ONE_VERSION = 2 * 1024  # a history and its payload, without their texts


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    """Yield a topic in the operator's own store, whose policy may have about two versions."""
    async with open_validated_topic("Off") as topic:
        topic.put_namespace()
        limit(topic, _OF_ONE_VERSION + 1024)
        await topic.world.claim()
        yield topic


def limit(topic: ValidatedTopic, number: int, *, has_broker: bool = False) -> None:
    pulsar = topic.world.pulsar if has_broker else None
    topic.world.set_registry(pulsar=pulsar, limits={"bytes": number})
    topic.topics._ctx.registries.forget("pulsar")


async def policy_status(topic: ValidatedTopic) -> dict[str, object]:
    """Reconcile the policy, and return its status."""
    with suppress(TopicSchemaError):
        await NamespaceSchemaPolicies(topic.topics._ctx, 600.0).reconcile(POLICY)
    wire = await topic.world.ctx.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    return dict(wire["status"])


@on_both_stores
async def test_a_version_beyond_the_limit_is_refused_until_the_limit_is_raised(topic: ValidatedTopic) -> None:
    assert await topic.apply(ONE) == ""
    assert await topic.apply(TWO) == ""
    assert await topic.apply(THREE) == "RecordFull"
    ready = (await topic.conditions())["Ready"]
    assert "the histories of policy orders take 3," in ready["message"]
    assert "bytes of 3,072 (spec.limits.bytes of registry pulsar)" in ready["message"]
    assert len((await topic.world.history()).entries) == 2
    assert await topic.apply(ONE) == "", "an earlier version still passes"
    limit(topic, 1 << 20)
    assert await topic.apply(THREE) == ""


@on_both_stores
async def test_a_tenant_that_creates_registers_and_deletes_meets_the_limit(topic: ValidatedTopic) -> None:
    await topic.world.change_policy(schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    reasons = []
    for number in range(4):
        topic.set_topic(record(f"id{number}"), deletionPolicy="Delete")
        topic.set_metadata(finalizers=[FINALIZER])  # which the fake API server cannot apply
        reasons.append(await topic.reconcile())
        topic.begin_deletion()
        await topic.reconcile()
        topic.api.delete(TOPIC_SCHEMA, "shop", "created")
    assert reasons == ["", "", "RecordFull", "RecordFull"]


async def test_versions_of_a_broker_are_not_adopted_beyond_the_limit(topic: ValidatedTopic) -> None:
    limit(topic, 100, has_broker=True)
    await topic.world.claim()
    topic.world.upload(ONE, TWO)
    assert await topic.apply(TWO) == ""
    topic.world.upload(THREE)
    assert await topic.apply(TWO) == "RecordFull"
    assert topic.broker.writes == []
    assert len((await topic.world.history()).entries) == 2


async def test_the_policy_reports_its_bytes_and_enqueues_its_topics_when_there_is_space_again(
    topic: ValidatedTopic,
) -> None:
    assert (await policy_status(topic))["recordBytes"] == 0
    await topic.apply(ONE)
    status = await policy_status(topic)
    assert status["registry"] == {"address": "", "limitBytes": _OF_ONE_VERSION + 1024}
    assert 2 * 1024 < int(str(status["recordBytes"])) < _OF_ONE_VERSION + 1024
    await topic.apply(TWO)
    await policy_status(topic)
    assert counted("record_use_ratio", registry="pulsar") > 1
    topic.world.store.lose(topic_key := (await topic.world.history()).key)
    assert topic_key.namespace_key == ORDERS
    topic.enqueued.clear()
    assert (await policy_status(topic))["recordBytes"] == 0
    assert [name for name, _ in topic.enqueued] == ["created"]


async def test_without_a_limit_nothing_is_counted(topic: ValidatedTopic) -> None:
    topic.world.set_registry(pulsar=None)
    topic.topics._ctx.registries.forget("pulsar")
    topic.world.storage.calls.clear()
    assert await topic.apply(ONE) == ""
    assert "recordBytes" not in await policy_status(topic)
    assert "used_bytes" not in topic.world.storage.calls
