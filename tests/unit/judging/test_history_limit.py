"""Topics whose record has no room for another version: nothing is written, and what the message advises helps."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.kubernetes.topic import ORDERS, TOPIC
from support.schemas.examples import record
from support.validation.validated_topic import AskedTopic, asked
from topicschema.api import FINALIZER
from topicschema.api.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, TOPIC_SCHEMA
from topicschema.core.schemas import Schema

SCHEMAS = [record("id", *(f"f{number}?" for number in range(count))) for count in range(5)]
MOST = 3
FULL, BEYOND = SCHEMAS[:MOST], SCHEMAS[MOST]


@pytest.fixture
async def topic(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AskedTopic]:
    """Its record takes three versions."""
    monkeypatch.setattr("topicschema.core.history.MAX_VERSIONS", MOST)
    async with asked("Off") as topic:
        topic.world.api.put(CUSTOM_RESOURCE_DEFINITION, "", TOPIC_SCHEMA.crd_name, {})
        topic.world.api.put(NAMESPACE, "", "shop", {})
        yield topic


async def governed_without_broker(topic: AskedTopic) -> None:
    world = topic.world
    world.api.change("/namespaceschemapolicies/orders", lambda wire: wire["spec"].pop("pulsar"))
    claim = await world.ctx.storage.get_claim(ORDERS)
    assert claim.owner is not None
    await world.ctx.storage.put_claim(claim, claim.owner)


async def fill(topic: AskedTopic, count: int = MOST) -> None:
    for schema in FULL[:count]:
        topic.wants(schema)
        assert await topic.look() == ""
    assert len((await topic.world.history()).entries) == count


async def refusal(topic: AskedTopic) -> str:
    """Reconcile, expect that only the status was written, and return the message of `Ready`."""
    topic.world.api.requests.clear()
    topic.world.broker.calls.clear()
    assert await topic.look() == "HistoryFull"
    assert not [each for each in topic.world.api.requests if not each.startswith("GET") and "/schema" in each]
    assert not [each for each in topic.world.broker.calls if not each.startswith("GET")]
    ready = (await topic.conditions())["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "HistoryFull")
    return str(ready["message"])


def hold(wire: dict[str, Any]) -> None:
    """Add the finalizer, which the played API server cannot apply."""
    wire["metadata"]["finalizers"] = [FINALIZER]


@pytest.mark.parametrize("has_broker", [True, False])
async def test_a_version_beyond_the_maximum_is_refused(topic: AskedTopic, *, has_broker: bool) -> None:
    if not has_broker:
        await governed_without_broker(topic)
    await fill(topic)
    topic.wants(BEYOND)
    assert "has 3 versions, which is the maximum; use another topic" in await refusal(topic)
    topic.wants(FULL[0])
    assert await topic.look() == ""


async def test_versions_of_other_clients_beyond_the_maximum_are_not_recorded(topic: AskedTopic) -> None:
    await fill(topic)
    topic.world.there(BEYOND)
    assert "would have 4 versions, 1 more than the maximum; use another topic" in await refusal(topic)


async def test_an_upload_beside_which_others_take_the_last_place_leaves_the_record_as_it_is(topic: AskedTopic) -> None:
    await fill(topic, MOST - 1)
    world, before = topic.world, await topic.world.history()
    world.broker.happens = lambda _: world.there(SCHEMAS[-1]) if world.broker.calls[-1] == "POST schema" else None
    topic.wants(BEYOND)
    assert await topic.look() == "HistoryFull"
    assert "would have 4 versions" in (await topic.conditions())["Ready"]["message"]
    assert await world.history() == before


async def test_a_topic_with_too_many_versions_is_adopted_after_they_are_deleted_at_the_broker(
    topic: AskedTopic,
) -> None:
    topic.world.there(*SCHEMAS)
    topic.wants(SCHEMAS[-1])
    assert (await refusal(topic)).endswith("delete the topic's schemas at the broker")
    topic.world.broker.schemas.soft_delete(TOPIC)
    assert await topic.look() == ""
    assert [entry.schema_version for entry in (await topic.world.history()).entries] == [5, 6]


@pytest.mark.parametrize(("has_broker", "others"), [(False, ()), (True, ()), (True, (SCHEMAS[-1],))])
async def test_a_resource_that_is_deleted_with_its_record_and_made_anew_begins_a_new_history(
    topic: AskedTopic, *, has_broker: bool, others: tuple[Schema, ...]
) -> None:
    if not has_broker:
        await governed_without_broker(topic)
    await fill(topic)
    topic.world.there(*others)
    topic.wants(BEYOND, deletionPolicy="Delete")
    topic.world.api.change("/topicschemas/created", hold)
    assert await topic.look() == "HistoryFull"
    topic.world.api.change("/topicschemas/created", lambda wire: wire["metadata"].update(deletionTimestamp=topic.clock))
    assert await topic.look() == ""
    topic.world.api.take_away(TOPIC_SCHEMA, "shop", "created")
    topic.wants(BEYOND)
    assert await topic.look() == ""
    *tombstones, entry = (await topic.world.history()).entries
    assert entry.content_hash == BEYOND.info.content_hash
    assert [each.is_tombstone for each in tombstones] == [True] * has_broker
