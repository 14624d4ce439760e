"""Of two TopicSchemas that want one topic, one holds it and the other is told so, whatever the broker may be asked."""

from contextlib import suppress

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import KEY, ValidatedTopic, open_validated_topic
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.core.errors import StalledError
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult

SECOND = Key(TOPIC_SCHEMA.plural, "shop", "second")


async def passes(topic: ValidatedTopic, key: Key) -> tuple[str, str]:
    """Status and reason of Ready, after passes that end with one that writes nothing."""
    for is_last in (False, True):
        before = topic.world.api.writes
        with suppress(StalledError):
            while await topic.topics.reconcile(key) is ReconcileResult.REQUEUE:
                pass
        assert not is_last or topic.world.api.writes == before
    wire = await topic.world.ctx.client.get(TOPIC_SCHEMA, key.namespace, key.name)
    ready = next(each for each in wire["status"]["conditions"] if each["type"] == "Ready")
    return ready["status"], ready["reason"]


def lost_claim(topic: ValidatedTopic, key: Key) -> bool:
    summary = topic.world.ctx.index.summary(key)
    return summary is not None and summary.lost_claim


@pytest.mark.parametrize("is_there", [True, False])
async def test_where_the_broker_is_only_observed_the_second_resource_of_a_topic_is_told_of_the_first(
    *, is_there: bool
) -> None:
    async with open_validated_topic("Off") as topic:
        topic.world.api.change(
            f"/{NAMESPACE_SCHEMA_POLICY.plural}/orders", lambda there: there["spec"].update(managementPolicy="Observe")
        )
        if is_there:
            topic.world.upload(record("id"))
        text = record("id", "a?").info.schema.decode()
        topic.set_topic(record("id", "b?"))
        spec = {"topic": "persistent://shop/orders/created", "type": "AVRO", "schema": text}
        topic.world.api.put(TOPIC_SCHEMA, "shop", "second", {"spec": spec})
        assert await passes(topic, KEY) == ("True", "Observed")
        assert await passes(topic, SECOND) == ("False", "TopicAlreadyClaimed")
        assert await passes(topic, KEY) == ("True", "Observed")
        assert [lost_claim(topic, key) for key in (KEY, SECOND)] == [False, True]
        topic.world.api.delete(TOPIC_SCHEMA, "shop", "created")
        assert await passes(topic, SECOND) == ("True", "Observed")
        assert len(topic.world.broker.schemas.served("created")) == int(is_there)


async def test_the_second_is_looked_at_when_the_first_is_being_deleted_and_somebody_else_holds_it_back() -> None:
    async with open_validated_topic("Off") as topic:
        text = record("id", "a?").info.schema.decode()
        spec = {"topic": "persistent://shop/orders/created", "type": "AVRO", "schema": text}
        topic.world.api.put(TOPIC_SCHEMA, "shop", "second", {"spec": spec})
        assert await passes(topic, KEY) == ("True", "Registered")
        assert await passes(topic, SECOND) == ("False", "TopicAlreadyClaimed")
        held = {"deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": ["shop.example/never"]}
        topic.world.api.change("/topicschemas/created", lambda there: there["metadata"].update(held))
        topic.enqueued.clear()
        assert await topic.topics.reconcile(KEY) is ReconcileResult.DONE
        assert topic.enqueued == [("second", 0.0)]
        assert await passes(topic, SECOND) == ("True", "Registered")
        topic.enqueued.clear()
        assert await topic.topics.reconcile(KEY) is ReconcileResult.DONE
        assert topic.enqueued == []
