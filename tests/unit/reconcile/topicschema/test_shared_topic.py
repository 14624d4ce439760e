"""Of two TopicSchemas with one topic, one holds it and the other reports that, whatever the broker may do."""

from contextlib import suppress

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import KEY, ValidatedTopic
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.errors import StalledError
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult

SECOND = Key(TOPIC_SCHEMA.plural, "shop", "second")


def put_second(topic: ValidatedTopic) -> None:
    """Create another resource with the topic."""
    text = record("id", "a?").info.schema.decode()
    spec = {"topic": "persistent://shop/orders/created", "type": "AVRO", "schema": text}
    topic.api.put(TOPIC_SCHEMA, "shop", "second", {"spec": spec})


async def settled(topic: ValidatedTopic, key: Key) -> tuple[str, str]:
    """Return status and reason of Ready, after reconciles that end with one that writes nothing."""
    for is_last in (False, True):
        before = topic.api.writes
        with suppress(StalledError):
            while await topic.topics.reconcile(key) is ReconcileResult.REQUEUE:
                pass
        assert not is_last or topic.api.writes == before
    wire = await topic.world.ctx.client.get(TOPIC_SCHEMA, key.namespace, key.name)
    ready = next(each for each in wire["status"]["conditions"] if each["type"] == "Ready")
    return ready["status"], ready["reason"]


def lost_claim(topic: ValidatedTopic, key: Key) -> bool:
    summary = topic.world.ctx.index.summary(key)
    return summary is not None and summary.lost_claim


@pytest.mark.parametrize("is_there", [True, False])
async def test_where_the_broker_is_only_observed_the_second_resource_of_a_topic_is_stalled(
    topic: ValidatedTopic, *, is_there: bool
) -> None:
    topic.world.set_policy(managementPolicy="Observe")
    if is_there:
        topic.world.upload(record("id"))
    topic.set_topic(record("id", "b?"))
    put_second(topic)
    assert await settled(topic, KEY) == ("True", "Observed")
    assert await settled(topic, SECOND) == ("False", "TopicAlreadyClaimed")
    assert await settled(topic, KEY) == ("True", "Observed")
    assert [lost_claim(topic, key) for key in (KEY, SECOND)] == [False, True]
    topic.api.delete(TOPIC_SCHEMA, "shop", "created")
    assert await settled(topic, SECOND) == ("True", "Observed")
    assert len(topic.broker.schemas.served("created")) == int(is_there)


async def test_the_second_resource_is_reconciled_when_the_first_is_being_deleted_and_has_another_finalizer(
    topic: ValidatedTopic,
) -> None:
    put_second(topic)
    assert await settled(topic, KEY) == ("True", "Registered")
    assert await settled(topic, SECOND) == ("False", "TopicAlreadyClaimed")
    topic.set_metadata(finalizers=["shop.example/never"])
    topic.begin_deletion()
    for enqueued in ([("second", 0.0)], []):
        topic.enqueued.clear()
        assert await topic.topics.reconcile(KEY) is ReconcileResult.DONE
        assert topic.enqueued == enqueued
        assert await settled(topic, SECOND) == ("True", "Registered")
