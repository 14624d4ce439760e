"""A resource after the one that deleted its topic's history: with a broker, and without one."""

import pytest

from support.kubernetes.topic import KEY as TOPIC_KEY
from support.schemas.examples import record
from support.validation.validated_topic import WELL, ValidatedTopic
from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA

ONE, TWO, CLASHING = record("id"), record("id", "a?"), record("other")
ANY = {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}


@pytest.fixture(name="topic", params=[True, False], ids=["with a broker", "without a broker"])
async def deleted(topic: ValidatedTopic, request: pytest.FixtureRequest) -> ValidatedTopic:
    """Return the topic whose resource registered two versions and deleted them. A new resource has CLASHING."""
    topic.put_namespace()
    await topic.world.change_policy(
        schemaCompatibilityStrategy="FULL_TRANSITIVE", **({} if request.param else {"pulsar": None})
    )
    topic.set_metadata(finalizers=[FINALIZER])
    for schema in (ONE, TWO):
        topic.set_topic(schema, deletionPolicy="Delete")
        assert await topic.settled_statuses() == WELL
    topic.begin_deletion()
    assert await topic.reconcile() == ""
    topic.api.delete(TOPIC_SCHEMA, "shop", "created")
    topic.set_topic(CLASHING)
    return topic


async def test_the_next_resource_is_judged_against_the_deleted_history(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    ready = (await topic.conditions())["Ready"]
    assert ready["reason"] == "Incompatible"
    assert "this version was deleted with its TopicSchema, and still counts" in ready["message"]
    assert [each["schemaVersion"] for each in (await topic.status())["incompatibilities"]][:2] == [1, 1]
    topic.set_topic(TWO)
    assert await topic.settled_statuses() == WELL
    topic.set_topic(CLASHING)
    await topic.reconcile()
    assert (await topic.conditions())["Ready"]["reason"] == "Incompatible"


async def test_an_exception_lets_the_next_resource_begin_again(topic: ValidatedTopic) -> None:
    exception = {"topic": "created", "allowedStrategies": ["ALWAYS_COMPATIBLE"], "until": "2999-12-31", "reason": "new"}
    topic.world.set_policy(constraints={"exceptions": [exception]})
    topic.set_topic(CLASHING, **ANY)
    assert await topic.settled_statuses() == WELL


async def test_another_deletion_keeps_the_deleted_versions(topic: ValidatedTopic) -> None:
    topic.set_topic(record("id", "b?"), deletionPolicy="Delete")
    topic.set_metadata(finalizers=[FINALIZER])
    assert await topic.settled_statuses() == WELL
    topic.begin_deletion()
    assert await topic.reconcile() == ""
    history = await topic.world.history()
    assert (history.claim, history.entries) == (None, ())
    assert [len(each.entries) for each in history.deleted] == [2, 1]
    for block in history.deleted:
        for entry in block.entries:
            payload = await topic.world.ctx.storage.get(TOPIC_KEY, block.incarnation, entry)
            assert payload.content_hash == entry.content_hash
