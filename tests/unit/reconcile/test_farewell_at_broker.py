"""What a farewell may take along from a broker: what is ours, and never what others have there."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from specimens import record
from topic_world import TOPIC, World, opened
from topicschema.api import FINALIZER
from topicschema.api.kinds import NAMESPACE, TOPIC_SCHEMA
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.core import plan
from topicschema.core.history import History, Origin, Owner
from topicschema.core.schemas import Schema
from topicschema.core.topics import Topic, TopicKey
from topicschema.reconcile.farewell import observe_farewell
from topicschema.reconcile.observe import observe
from topicschema.storage.protocol import Stored

KEY = TopicKey("pulsar", Topic("shop", "orders", TOPIC))
ONE, TWO, OTHER = record("id"), record("id", "a?"), record("other")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        world.api.put(NAMESPACE, "", "shop", {})
        yield world


def resource(world: World, schema: Schema, **spec: str) -> dict[str, Any]:
    text = schema.info.schema.decode()
    written = {"topic": f"persistent://{KEY.topic}", "type": schema.info.type.value, "schema": text}
    return world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": {**written, "deletionPolicy": "Delete", **spec}})


async def holds(world: World, wire: dict[str, Any], *schemas: Schema) -> None:
    """The resource holds the topic, and these are on record as registered without a broker."""
    history = History(KEY).claimed_by(Owner("shop", "created", wire["metadata"]["uid"]))
    for schema in schemas:
        history = history.with_version(schema, Origin.SPEC, "2026-11-20T00:00:00Z")
    await world.around.storage.put(Stored(History(KEY)), history, tuple(schema.info for schema in schemas))


async def first(world: World, wire: dict[str, Any]) -> plan.Action:
    """What a farewell begins with."""
    metadata = {**wire["metadata"], "finalizers": [FINALIZER], "deletionTimestamp": "2026-11-21T00:00:00Z"}
    seen = await observe_farewell(world.around, {**wire, "metadata": metadata})
    assert seen is not None
    return seen.planned[0]


@pytest.mark.parametrize(
    ("recorded", "there", "action"),
    [
        ((ONE,), (OTHER,), plan.DeleteRecord()),
        ((ONE, TWO), (ONE,), plan.SoftDelete()),
        ((ONE,), (ONE, TWO), plan.SoftDelete()),
        ((), (OTHER,), plan.DeleteRecord()),
        ((), (ONE,), plan.SoftDelete()),
        ((ONE,), (), plan.DeleteRecord()),
    ],
    ids=["others'", "the beginning", "and more", "others' alone", "uploaded before a crash", "nothing"],
)
async def test_what_the_broker_never_counted_for_us_is_deleted_there_only_where_it_is_ours(
    world: World, recorded: tuple[Schema, ...], there: tuple[Schema, ...], action: plan.Action
) -> None:
    world.there(*there)
    wire = resource(world, ONE)
    await holds(world, wire, *recorded)
    assert await first(world, wire) == action
    assert all(call.startswith("GET") for call in world.broker.calls)


async def test_what_is_on_record_and_not_at_an_observed_broker_is_seen_to_be_lacking(world: World) -> None:
    wire = resource(world, ONE, managementPolicy="Observe")
    await holds(world, wire, ONE)
    seen = await observe(world.around, decode(TopicSchema, wire))
    assert seen.view is not None
    assert seen.view.lacks == 0
