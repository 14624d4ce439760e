"""A record that tells of less than the status does: nothing is registered under numbers that were given before."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import ORDERS, TOPIC, World, open_topic
from support.schemas.examples import record
from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Origin
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey

pytestmark = on_both_stores

ONE, TWO, THREE = record("id"), record("id", "a?"), record("id", "a?", "b?")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Without a broker, and with two versions on record."""
    async with open_topic() as world:
        world.api.change("/shop/namespaceschemapolicies/orders", lambda wire: wire["spec"].pop("pulsar"))
        claim = await world.ctx.storage.get_claim(ORDERS)
        assert claim.owner is not None
        await world.ctx.storage.put_claim(claim, claim.owner)
        for schema in (ONE, TWO):
            world.set_schema(schema)
            assert await world.settle() == ""
        world.set_schema(THREE)
        yield world


def set_versions_in_status(world: World, incarnation: int, count: int) -> None:
    """Set the versions of the resource's status."""
    status = TopicSchemaStatus(incarnation=incarnation, version_count=count)
    world.resource = replace(world.resource, status=status)


async def of_incarnation_1(world: World) -> History:
    """The record, as if a broker had begun anew once."""
    key = (await world.history()).key
    stored = await world.ctx.storage.get_history(key)
    payloads = [await world.ctx.storage.get(key, 0, entry) for entry in stored.history.entries]
    history = replace(stored.history, incarnation=1)
    return (await world.ctx.storage.put(stored, history, tuple(payloads))).history


async def test_a_record_that_is_older_than_the_status_takes_no_version(world: World) -> None:
    for incarnation, count in ((0, 3), (1, 0), (1, 2)):
        set_versions_in_status(world, incarnation, count)
        for _ in range(2):
            assert await world.reason() == "HistoryLost"
            assert len((await world.history()).entries) == 2


async def test_a_status_that_is_older_than_the_record_or_as_old_loses_nothing(world: World) -> None:
    set_versions_in_status(world, 0, 2)
    assert await world.reason() == ""
    await of_incarnation_1(world)
    for count in (1, 3, 5):  # of an incarnation that is over
        set_versions_in_status(world, 0, count)
        assert await world.reason() == ""
    assert len((await world.history()).entries) == 3


async def test_an_older_record_is_not_uploaded_to_an_empty_broker() -> None:
    async with open_topic() as world:
        stored = await world.ctx.storage.get_history(TopicKey("pulsar", Topic("shop", "orders", TOPIC)))
        history = stored.history.with_version(ONE, Origin.SPEC, "2026-11-21T05:30:00Z")
        await world.ctx.storage.put(stored, history, (ONE.info,))
        world.set_schema(THREE)
        for incarnation, count in ((0, 6), (1, 1)):
            set_versions_in_status(world, incarnation, count)
            for _ in range(2):
                assert await world.reason() == "HistoryLost"
        assert not world.broker.schemas.served(TOPIC)
        set_versions_in_status(world, 0, 1)
        assert await world.reason() == ""
        assert await world.is_recorded()


async def test_who_moves_to_an_empty_broker_of_another_name_is_sent_to_the_record_of_the_old_one() -> None:
    async with open_topic() as world:
        world.set_schema(ONE)
        assert await world.settle() == ""
        world.broker.schemas.force_delete(TOPIC)
        world.api.change("/shop/namespaceschemapolicies/orders", lambda wire: wire["spec"].update(pulsarCluster="new"))
        before = await world.ctx.storage.get_claim(ORDERS)
        moved = await world.ctx.storage.get_claim(PulsarNamespaceKey("new", ORDERS.tenant, ORDERS.namespace))
        assert before.owner is not None
        await world.ctx.storage.put_claim(moved, before.owner, before.address)
        set_versions_in_status(world, 0, 1)
        for _ in range(2):
            with pytest.raises(
                StalledError, match=r"cluster new has neither the history .* another name before"
            ) as told:
                await world.settle()
            assert told.value.reason == "HistoryLost"
        assert not world.broker.schemas.served(TOPIC)
