"""A topic's own strategy at its broker: what others gave it is judged by, what an edit gave it goes with the edit."""

from collections.abc import AsyncIterator

import pytest

from specimens import record
from topic_world import TOPIC, World, opened
from topicschema.core.history import TopicSettingsRecord
from topicschema.core.overrides import NoteSettings, WriteSettings
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.reconcile.act import act

ONE, TWO = record("id"), record("id", "a?")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        yield world


@pytest.mark.parametrize("there", [(), (ONE,)], ids=["none", "one"])
async def test_a_strategy_that_others_gave_the_topic_is_what_it_is_judged_by(
    world: World, there: tuple[Schema, ...]
) -> None:
    world.there(*there)
    world.broker.schemas.settings[TOPIC] = {"strategy": Strategy.ALWAYS_COMPATIBLE}
    for schema in (ONE, record("other")):
        world.wants(schema)
        assert await world.settle() == ""
    assert await world.agrees()
    noted = (await world.history()).topic_settings
    assert noted == TopicSettingsRecord(TopicSettings(Strategy.ALWAYS_COMPATIBLE))


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_a_topic_is_adopted_where_its_own_strategy_is_not_told(world: World, status: int) -> None:
    world.there(ONE)
    world.broker.own_status = status
    world.wants(TWO)
    assert await world.settle() == ""
    assert await world.agrees()
    assert (await world.history()).topic_settings is None


async def test_a_topic_s_own_strategy_is_looked_for_once_where_there_is_none(world: World) -> None:
    for schema in (ONE, TWO, TWO, ONE):
        world.wants(schema)
        assert await world.settle() == ""
    assert world.broker.asked_for_own == 1


@pytest.mark.parametrize(
    ("then", "reason"), [(ONE, ""), (TWO, ""), (record("other"), "Incompatible")], ids=["of before", "fits", "does not"]
)
async def test_a_strategy_that_was_written_for_an_edit_is_put_back_when_the_edit_is_withdrawn(
    world: World, then: Schema, reason: str
) -> None:
    world.wants(ONE)
    assert await world.settle() == ""
    world.wants(record("other"), schema_compatibility_strategy=Strategy.ALWAYS_COMPATIBLE)
    for action in (NoteSettings, WriteSettings):
        seen = await world.seen()
        assert isinstance(seen.planned[0], action)
        await act(world.around, seen, seen.planned[0])
    assert world.broker.schemas.settings[TOPIC] == {"strategy": Strategy.ALWAYS_COMPATIBLE}
    world.wants(then)
    for _ in range(2):
        assert await world.settle() == reason
        assert world.broker.schemas.settings[TOPIC] == {"strategy": None}
        assert world.broker.calls.count("POST schema") == 1 + (then is TWO)
    noted = (await world.history()).topic_settings
    assert noted == TopicSettingsRecord(TopicSettings(), TopicSettings(Strategy.UNDEFINED))
    assert await world.agrees()


async def test_a_strategy_that_was_there_before_a_field_named_it_is_known_once_none_does(world: World) -> None:
    world.wants(ONE)
    assert await world.settle() == ""
    own = Strategy.ALWAYS_INCOMPATIBLE
    world.broker.schemas.settings[TOPIC] = {"strategy": own}
    world.wants(ONE, schema_compatibility_strategy=own)
    for _ in range(2):
        assert await world.settle() == ""
        assert (await world.history()).topic_settings == TopicSettingsRecord(TopicSettings(own))
    world.wants(ONE)
    assert await world.settle() == ""
    assert (await world.seen()).policy.left is own
    world.wants(TWO)
    assert await world.settle() == "Incompatible"
    assert world.broker.calls.count("POST schema") == 1
