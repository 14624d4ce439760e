"""A topic's own strategy at its broker: that of another client judges, that of an edit ends with the edit."""

import pytest

from support.kubernetes.topic import TOPIC, World
from support.schemas.examples import record
from topicschema.broker.errors import BrokerForbiddenError, RefusedByBrokerError
from topicschema.core.history import StoredTopicSettings
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import StoreSettings, WriteSettings
from topicschema.reconcile.topicschema.act import apply

ONE, TWO = record("id"), record("id", "a?")


@pytest.mark.parametrize("there", [(), (ONE,)], ids=["none", "one"])
async def test_a_topic_is_judged_by_the_strategy_that_another_client_set_for_it(
    world: World, there: tuple[Schema, ...]
) -> None:
    world.upload(*there)
    world.broker.schemas.settings[TOPIC] = {"strategy": Strategy.ALWAYS_COMPATIBLE}
    for schema in (ONE, record("other")):
        assert await world.apply(schema) == ""
    assert await world.is_recorded()
    assert (await world.history()).topic_settings == StoredTopicSettings(TopicSettings(Strategy.ALWAYS_COMPATIBLE))


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_a_topic_is_adopted_where_its_own_strategy_may_not_be_read(world: World, status: int) -> None:
    world.upload(ONE)
    world.broker.topic_settings_status = status
    assert await world.apply(TWO) == ""
    assert await world.is_recorded()
    assert (await world.history()).topic_settings is None


async def test_a_topic_s_own_strategy_is_read_once_where_there_is_none(world: World) -> None:
    for schema in (ONE, TWO, TWO, ONE):
        assert await world.apply(schema) == ""
    assert world.broker.topic_settings_reads == 1


@pytest.mark.parametrize("is_switched_off", [False, True])
@pytest.mark.parametrize(
    ("then", "reason"),
    [(ONE, ""), (TWO, ""), (record("other"), "Incompatible")],
    ids=["the previous", "compatible", "incompatible"],
)
async def test_a_strategy_that_was_written_for_an_edit_is_restored_when_the_edit_is_withdrawn(
    world: World, then: Schema, reason: str, *, is_switched_off: bool
) -> None:
    assert await world.apply(ONE) == ""
    world.set_schema(record("other"), schema_compatibility_strategy=Strategy.ALWAYS_COMPATIBLE)
    for action in (StoreSettings, WriteSettings):
        judged = await world.observe()
        assert isinstance(judged.planned[0], action)
        await apply(world.ctx, judged, judged.planned[0])
    assert world.broker.schemas.settings[TOPIC] == {"strategy": Strategy.ALWAYS_COMPATIBLE}
    world.set_schema(then)
    if is_switched_off:
        before = await switch_off(world)
        assert await world.reason() == reason
        world.broker.topic_settings_status, world.broker.schemas.settings[TOPIC] = 200, before
    for _ in range(2):
        assert await world.settle() == reason
        assert world.broker.schemas.settings[TOPIC] == {"strategy": None}
        assert world.broker.calls.count("POST schema") == 1 + (then is TWO)
    assert (await world.history()).topic_settings == StoredTopicSettings(TopicSettings())
    assert await world.is_recorded()


async def test_a_strategy_that_was_set_before_the_field_judges_again_when_the_field_is_removed(world: World) -> None:
    assert await world.apply(ONE) == ""
    own = Strategy.ALWAYS_INCOMPATIBLE
    world.broker.schemas.settings[TOPIC] = {"strategy": own}
    world.set_schema(ONE, schema_compatibility_strategy=own)
    for _ in range(2):
        assert await world.settle() == ""
        assert (await world.history()).topic_settings == StoredTopicSettings(TopicSettings(own))
    assert await world.apply(ONE) == ""
    assert (await world.observe()).loaded.policy.unmanaged_strategy is own
    assert await world.apply(TWO) == "Incompatible"
    assert world.broker.calls.count("POST schema") == 1


async def switch_off(world: World) -> dict[str, object]:
    """Switch off the settings of topics at the broker. Return what they were."""
    world.broker.topic_settings_status = 405
    return world.broker.schemas.settings.pop(TOPIC)


@pytest.mark.parametrize("there", [(), (ONE,)], ids=["written here", "of another client"])
async def test_stored_settings_block_no_topic_once_the_broker_has_switched_them_off(
    world: World, there: tuple[Schema, ...]
) -> None:
    own = Strategy.ALWAYS_COMPATIBLE
    world.upload(*there)
    if there:
        world.broker.schemas.settings[TOPIC] = {"strategy": own}
    assert await world.apply(ONE, schema_compatibility_strategy=None if there else own) == ""
    stored, before = (await world.history()).topic_settings, await switch_off(world)
    assert stored is not None
    world.set_schema(ONE, schema_compatibility_strategy=own)
    assert await world.reason() == "RefusedByBroker"
    for schema, reason in ((ONE, ""), (TWO, ""), (record("other"), "Incompatible")):
        world.set_schema(schema)
        assert await world.reason() == reason
    assert await world.is_recorded()
    assert (await world.history()).topic_settings == stored
    world.broker.topic_settings_status, world.broker.schemas.settings[TOPIC] = 200, before
    assert await world.settle() == ("" if there else "Incompatible")
    assert world.broker.schemas.settings[TOPIC] == {"strategy": own if there else None}


@pytest.mark.parametrize(("status", "error"), [(403, BrokerForbiddenError), (412, RefusedByBrokerError)])
async def test_a_strategy_that_cannot_be_read_for_another_reason_may_be_effective(
    world: World, status: int, error: type[Exception]
) -> None:
    assert await world.apply(ONE, schema_compatibility_strategy=Strategy.ALWAYS_COMPATIBLE) == ""
    world.broker.topic_settings_status = status
    world.set_schema(TWO)
    with pytest.raises(error):
        await world.settle()
