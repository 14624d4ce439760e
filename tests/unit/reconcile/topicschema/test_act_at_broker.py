"""Registering at a broker that does not keep what it takes, or does not take what was judged to pass."""

from itertools import cycle

import pytest

from support.kubernetes.topic import TOPIC, World, open_topic
from support.schemas.examples import record
from topicschema.broker.errors import BrokerInconsistentError
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Origin, Owner
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.reconcile.topicschema.observe import blocking_error
from topicschema.storage.protocol import Stored

IN_FORCE = {"conditions": [{"type": "Ready", "status": "True", "reason": "Active", "observedGeneration": 1}]}
SCHEMAS = (record("id"), record("id", "a?"), record("id", "a?", "b?"))
_REQUESTS = 40


async def test_a_pass_ends_at_a_broker_that_forgets_now_more_and_now_less_of_what_it_took() -> None:
    key = TopicKey("pulsar", Topic("shop", "orders", TOPIC))
    async with open_topic() as world:
        history = History(key).claimed_by(Owner("shop", "created", "uid-1"))
        for schema in SCHEMAS:
            history = history.with_version(schema, Origin.SPEC, "2026-11-20T00:00:00Z")
        await world.ctx.storage.put(Stored(History(key)), history, tuple(each.info for each in SCHEMAS))
        world.set_schema(SCHEMAS[-1])
        kept, entries, calls = cycle((1, 0)), world.broker.schemas.entries, world.broker.calls

        def drop_versions(number: int) -> None:
            assert number < _REQUESTS, "it never ends"
            if calls[-2:-1] == ["POST schema"] and calls[-1] == "GET schema":
                entries[TOPIC] = entries[TOPIC][: next(kept)]

        world.broker.on_call = drop_versions
        with pytest.raises(BrokerInconsistentError):
            await world.apply_actions()
    assert calls.count("POST schema") == 5


async def refused_by_a_topic_s_own_strategy(world: World, own_status: int) -> str:
    """What is told when the broker refuses by a strategy that was set there."""
    world.set_schema(SCHEMAS[0])
    assert await world.settle() == ""
    world.broker.calls.clear()
    world.broker.schemas.settings[TOPIC] = {"strategy": Strategy.ALWAYS_INCOMPATIBLE}
    world.broker.topic_settings_status = own_status
    world.api.change("/shop/namespaceschemapolicies/orders", lambda wire: wire.update(status=IN_FORCE))
    world.set_schema(SCHEMAS[1])
    seen = await world.apply_actions()
    assert seen is not None
    refused = blocking_error(seen)
    assert isinstance(refused, StalledError)
    assert refused.reason == "RefusedByBroker"
    return refused.message


async def test_a_topic_s_own_strategy_is_named_when_the_broker_refuses_by_it() -> None:
    async with open_topic() as world:
        assert "ALWAYS_INCOMPATIBLE, which the operator did not set" in await refused_by_a_topic_s_own_strategy(
            world, 200
        )


@pytest.mark.parametrize("own_status", [401, 403, 405])
async def test_a_refusal_stays_one_where_the_topic_s_own_settings_may_not_be_read(own_status: int) -> None:
    async with open_topic() as world:
        assert "passes the operator's check" in await refused_by_a_topic_s_own_strategy(world, own_status)
        assert world.broker.calls.count("POST schema") == 1
