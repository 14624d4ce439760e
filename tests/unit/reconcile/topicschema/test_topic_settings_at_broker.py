"""A topic's own strategy at its broker: what others gave it is judged by, what an edit gave it goes with the edit."""

import pytest

from support.kubernetes.topic import TOPIC, World
from support.schemas.examples import record
from topicschema.broker.errors import BrokerForbiddenError, RefusedByBrokerError
from topicschema.core.history import StoredTopicSettings
from topicschema.core.plan import Upload
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import StoreSettings, WriteSettings
from topicschema.reconcile.topicschema.act import apply

ONE, TWO = record("id"), record("id", "a?")


async def _done(world: World, steps: int) -> list[type]:
    """What a controller does before it is killed."""
    done: list[type] = []
    for _ in range(steps):
        seen = await world.observe()
        await apply(world.ctx, seen, seen.planned[0])
        done.append(type(seen.planned[0]))
    return done


@pytest.mark.parametrize("there", [(), (ONE,)], ids=["none", "one"])
async def test_a_strategy_that_others_gave_the_topic_is_what_it_is_judged_by(
    world: World, there: tuple[Schema, ...]
) -> None:
    world.upload(*there)
    world.broker.schemas.settings[TOPIC] = {"strategy": Strategy.ALWAYS_COMPATIBLE}
    for schema in (ONE, record("other")):
        world.set_schema(schema)
        assert await world.settle() == ""
    assert await world.is_recorded()
    noted = (await world.history()).topic_settings
    assert noted == StoredTopicSettings(TopicSettings(Strategy.ALWAYS_COMPATIBLE))


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_a_topic_is_adopted_where_its_own_strategy_is_not_told(world: World, status: int) -> None:
    world.upload(ONE)
    world.broker.topic_settings_status = status
    world.set_schema(TWO)
    assert await world.settle() == ""
    assert await world.is_recorded()
    assert (await world.history()).topic_settings is None


async def test_a_topic_s_own_strategy_is_looked_for_once_where_there_is_none(world: World) -> None:
    for schema in (ONE, TWO, TWO, ONE):
        world.set_schema(schema)
        assert await world.settle() == ""
    assert world.broker.topic_settings_reads == 1


async def strategy_of_a_withdrawn_edit(world: World) -> None:
    """A version is registered, and a strategy is written for an edit."""
    world.set_schema(ONE)
    assert await world.settle() == ""
    world.set_schema(record("other"), schema_compatibility_strategy=Strategy.ALWAYS_COMPATIBLE)
    assert await _done(world, 2) == [StoreSettings, WriteSettings]
    assert world.broker.schemas.settings[TOPIC] == {"strategy": Strategy.ALWAYS_COMPATIBLE}


@pytest.mark.parametrize("is_switched_off", [False, True])
@pytest.mark.parametrize(
    ("then", "reason"), [(ONE, ""), (TWO, ""), (record("other"), "Incompatible")], ids=["of before", "fits", "does not"]
)
async def test_a_strategy_that_was_written_for_an_edit_is_restored_when_the_edit_is_withdrawn(
    world: World, then: Schema, reason: str, *, is_switched_off: bool
) -> None:
    await strategy_of_a_withdrawn_edit(world)
    world.set_schema(then)
    if is_switched_off:
        before = await _switched_off(world)
        assert await world.reason() == reason
        world.broker.topic_settings_status, world.broker.schemas.settings[TOPIC] = 200, before
    for _ in range(2):
        assert await world.settle() == reason
        assert world.broker.schemas.settings[TOPIC] == {"strategy": None}
        assert world.broker.calls.count("POST schema") == 1 + (then is TWO)
    assert (await world.history()).topic_settings == StoredTopicSettings(TopicSettings())
    assert await world.is_recorded()


@pytest.mark.parametrize("steps", range(6))
async def test_of_two_edits_that_came_to_nothing_neither_one_s_strategy_stays(world: World, steps: int) -> None:
    await strategy_of_a_withdrawn_edit(world)
    world.set_schema(TWO, schema_compatibility_strategy=Strategy.BACKWARD)
    planned = [WriteSettings, StoreSettings, StoreSettings, WriteSettings, Upload]
    assert await _done(world, steps) == planned[:steps]
    world.set_schema(record("third"))
    assert await world.settle() == "Incompatible"
    assert world.broker.schemas.settings[TOPIC] == {"strategy": None}
    assert world.broker.calls.count("POST schema") == 1 + (Upload in planned[:steps])
    assert (await world.history()).topic_settings == StoredTopicSettings(TopicSettings())


async def test_a_strategy_that_was_there_before_a_field_named_it_is_known_once_none_does(world: World) -> None:
    world.set_schema(ONE)
    assert await world.settle() == ""
    own = Strategy.ALWAYS_INCOMPATIBLE
    world.broker.schemas.settings[TOPIC] = {"strategy": own}
    world.set_schema(ONE, schema_compatibility_strategy=own)
    for _ in range(2):
        assert await world.settle() == ""
        assert (await world.history()).topic_settings == StoredTopicSettings(TopicSettings(own))
    world.set_schema(ONE)
    assert await world.settle() == ""
    assert (await world.observe()).loaded.policy.unmanaged_strategy is own
    world.set_schema(TWO)
    assert await world.settle() == "Incompatible"
    assert world.broker.calls.count("POST schema") == 1


async def _switched_off(world: World) -> dict[str, object]:
    """The broker has no settings of topics any more, and judges by none; what they were."""
    world.broker.topic_settings_status = 405
    return world.broker.schemas.settings.pop(TOPIC)


@pytest.mark.parametrize("there", [(), (ONE,)], ids=["written here", "found there"])
async def test_what_is_on_record_of_settings_holds_no_topic_up_once_the_broker_has_switched_them_off(
    world: World, there: tuple[Schema, ...]
) -> None:
    own = Strategy.ALWAYS_COMPATIBLE
    world.upload(*there)
    if there:
        world.broker.schemas.settings[TOPIC] = {"strategy": own}
    world.set_schema(ONE, schema_compatibility_strategy=None if there else own)
    assert await world.settle() == ""
    noted, before = (await world.history()).topic_settings, await _switched_off(world)
    assert noted is not None
    world.set_schema(ONE, schema_compatibility_strategy=own)
    assert await world.reason() == "RefusedByBroker"
    for schema, reason in ((ONE, ""), (TWO, ""), (record("other"), "Incompatible")):
        world.set_schema(schema)
        assert await world.reason() == reason
    assert await world.is_recorded()
    assert (await world.history()).topic_settings == noted
    world.broker.topic_settings_status, world.broker.schemas.settings[TOPIC] = 200, before
    assert await world.settle() == ("" if there else "Incompatible")
    assert world.broker.schemas.settings[TOPIC] == {"strategy": own if there else None}


@pytest.mark.parametrize(("status", "error"), [(403, BrokerForbiddenError), (412, RefusedByBrokerError)])
async def test_a_strategy_that_the_broker_does_not_tell_of_for_another_reason_may_be_in_force(
    world: World, status: int, error: type[Exception]
) -> None:
    world.set_schema(ONE, schema_compatibility_strategy=Strategy.ALWAYS_COMPATIBLE)
    assert await world.settle() == ""
    world.broker.topic_settings_status = status
    world.set_schema(TWO)
    with pytest.raises(error):
        await world.settle()
