"""Topics whose history takes no further version: nothing is written, and the advice of the message helps."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import TOPIC
from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.schemas import Schema

SCHEMAS = [record("id", *(f"f{number}?" for number in range(count))) for count in range(5)]
MOST = 3
FULL, BEYOND = SCHEMAS[:MOST], SCHEMAS[MOST]


@pytest.fixture
async def topic(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ValidatedTopic]:
    """Yield a topic whose history takes three versions."""
    monkeypatch.setattr("topicschema.core.history.MAX_VERSIONS", MOST)
    monkeypatch.setattr("topicschema.core.history.MAX_DELETED", 1)
    async with open_validated_topic("Off") as topic:
        topic.put_namespace()
        yield topic


async def fill(topic: ValidatedTopic, count: int = MOST) -> None:
    for schema in FULL[:count]:
        assert await topic.apply(schema) == ""
    assert len((await topic.world.history()).entries) == count


async def refusal(topic: ValidatedTopic) -> str:
    """Reconcile, expect that only the status was written, and return the message of `Ready`."""
    topic.api.requests.clear()
    topic.broker.calls.clear()
    assert await topic.reconcile() == "HistoryFull"
    assert not [each for each in topic.api.requests if not each.startswith("GET") and "/schema" in each]
    assert topic.broker.writes == []
    ready = (await topic.conditions())["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "HistoryFull")
    return str(ready["message"])


@pytest.mark.parametrize("has_broker", [True, False])
async def test_a_version_beyond_the_maximum_is_refused(topic: ValidatedTopic, *, has_broker: bool) -> None:
    if not has_broker:
        await topic.world.change_registry(pulsar=None)
    await fill(topic)
    topic.set_topic(BEYOND)
    assert "has 3 versions, which is the maximum; use another topic" in await refusal(topic)
    assert await topic.apply(FULL[0]) == ""


async def test_versions_of_other_clients_beyond_the_maximum_are_not_recorded(topic: ValidatedTopic) -> None:
    await fill(topic)
    topic.world.upload(BEYOND)
    assert "would have 4 versions, 1 more than the maximum; use another topic" in await refusal(topic)


async def test_an_upload_beside_which_another_client_takes_the_last_place_leaves_the_history_unchanged(
    topic: ValidatedTopic,
) -> None:
    await fill(topic, MOST - 1)
    world, before = topic.world, await topic.world.history()
    world.broker.on_call = lambda _: world.upload(SCHEMAS[-1]) if world.broker.calls[-1] == "POST schema" else None
    assert await topic.apply(BEYOND) == "HistoryFull"
    assert "would have 4 versions" in (await topic.conditions())["Ready"]["message"]
    assert await world.history() == before


async def test_a_topic_with_too_many_versions_is_adopted_after_they_are_deleted_at_the_broker(
    topic: ValidatedTopic,
) -> None:
    topic.world.upload(*SCHEMAS)
    topic.set_topic(SCHEMAS[-1])
    assert (await refusal(topic)).endswith("delete the topic's schemas at the broker")
    topic.broker.schemas.soft_delete(TOPIC)
    assert await topic.reconcile() == ""
    assert [entry.schema_version for entry in (await topic.world.history()).entries] == [5, 6]


@pytest.mark.parametrize(("has_broker", "others"), [(False, ()), (True, ()), (True, (SCHEMAS[-1],))])
async def test_a_resource_that_is_deleted_with_its_history_and_created_again_begins_a_new_one(
    topic: ValidatedTopic, *, has_broker: bool, others: tuple[Schema, ...]
) -> None:
    if not has_broker:
        await topic.world.change_registry(pulsar=None)
    await fill(topic)
    topic.world.upload(*others)
    topic.set_topic(BEYOND, deletionPolicy="Delete")
    topic.set_metadata(finalizers=[FINALIZER])  # which the fake API server cannot apply
    assert await topic.reconcile() == "HistoryFull"
    topic.begin_deletion()
    assert await topic.reconcile() == ""
    topic.api.delete(TOPIC_SCHEMA, "shop", "created")
    assert await topic.apply(BEYOND) == ""
    *tombstones, entry = (await topic.world.history()).entries
    assert entry.content_hash == BEYOND.info.content_hash
    assert [each.is_tombstone for each in tombstones] == [True] * has_broker
