"""A history with fewer versions than the status: nothing is registered under numbers that were used before."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import TOPIC, World, open_topic
from support.schemas.examples import record
from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.core.errors import StalledError

pytestmark = on_both_stores

ONE, TWO, THREE = record("id"), record("id", "a?"), record("id", "a?", "b?")


@pytest.fixture
async def topic() -> AsyncIterator[World]:
    """Yield a topic without a broker, with two stored versions."""
    async with open_topic() as world:
        await world.change_registry(pulsar=None)
        for schema in (ONE, TWO):
            assert await world.apply(schema) == ""
        world.set_schema(THREE)
        yield world


def set_versions_in_status(world: World, incarnation: int, count: int) -> None:
    """Set the versions of the resource's status."""
    status = TopicSchemaStatus(incarnation=incarnation, version_count=count)
    world.resource = replace(world.resource, status=status)


async def assert_lost(world: World) -> None:
    for _ in range(2):
        assert await world.reason() == "HistoryLost"


async def test_a_history_that_is_older_than_the_status_takes_no_version(topic: World) -> None:
    for incarnation, count in ((0, 3), (1, 0), (1, 2)):
        set_versions_in_status(topic, incarnation, count)
        await assert_lost(topic)
        assert len((await topic.history()).entries) == 2


async def test_a_status_that_is_older_than_the_history_or_as_old_loses_nothing(topic: World) -> None:
    set_versions_in_status(topic, 0, 2)
    assert await topic.reason() == ""
    history = await topic.history()
    payloads = [await topic.ctx.storage.get(history.key, 0, entry) for entry in history.entries]
    stored = await topic.ctx.storage.get_history(history.key)
    await topic.ctx.storage.put(stored, replace(history, incarnation=1), payloads)  # as if a broker had begun again
    for count in (1, 3, 5):  # of an incarnation that is over
        set_versions_in_status(topic, 0, count)
        assert await topic.reason() == ""
    assert len((await topic.history()).entries) == 3


async def test_an_older_history_is_not_uploaded_to_an_empty_broker(world: World) -> None:
    await world.store_versions(ONE)
    world.set_schema(THREE)
    for incarnation, count in ((0, 6), (1, 1)):
        set_versions_in_status(world, incarnation, count)
        await assert_lost(world)
    assert not world.broker.schemas.served(TOPIC)
    set_versions_in_status(world, 0, 1)
    assert await world.reason() == ""
    assert await world.is_recorded()


async def test_a_topic_that_moves_to_an_empty_broker_of_another_name_names_the_history_of_the_old_one(
    world: World,
) -> None:
    assert await world.apply(ONE) == ""
    world.broker.schemas.force_delete(TOPIC)
    world.set_registry("new", pulsar=world.pulsar)
    await world.change_policy(registry="new")
    set_versions_in_status(world, 0, 1)
    for _ in range(2):
        with pytest.raises(StalledError, match=r"registry new has neither the history .* another name before") as lost:
            await world.settle()
        assert lost.value.reason == "HistoryLost"
    assert not world.broker.schemas.served(TOPIC)
