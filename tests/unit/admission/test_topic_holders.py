"""The holders of a topic that keep another TopicSchema from it."""

import pytest

from support.kubernetes.admission import ID, NOTE_WITH_DEFAULT, V0, World, record_schema
from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.history import Owner


async def test_a_topic_that_a_neighbour_holds_is_refused_with_its_name(world: World) -> None:
    await world.policy()
    holder = world.resource("first")
    await world.versions(V0, claim=Owner("shop", "first", holder["metadata"]["uid"]))
    reply = await world.create()
    assert reply.causes[0]["field"] == "spec.topic"
    assert "TopicSchema first already holds this topic" in reply.causes[0]["message"]


async def test_a_holder_whose_namespace_does_not_govern_the_topic_any_more_holds_nothing(world: World) -> None:
    await world.policy()
    holder = world.api.put(TOPIC_SCHEMA, "rival", "secret-name", {})
    await world.versions(V0, claim=Owner("rival", "secret-name", holder["metadata"]["uid"]))
    assert (await world.create()).is_allowed


@pytest.mark.parametrize(("finalizer", "is_allowed"), [("alice.example/never", True), (FINALIZER, False)])
async def test_a_holder_that_is_being_deleted_holds_a_topic_until_the_operator_has_let_it_go(
    world: World, finalizer: str, *, is_allowed: bool
) -> None:
    await world.policy()
    leaving = {"deletionTimestamp": "2026-11-20T00:00:00Z", "finalizers": [finalizer]}
    holder = world.api.put(TOPIC_SCHEMA, "shop", "first", {"metadata": leaving})
    await world.versions(V0, claim=Owner("shop", "first", holder["metadata"]["uid"]))
    assert (await world.create()).is_allowed is is_allowed


@pytest.mark.parametrize("successor", [False, True])
async def test_a_holder_that_is_gone_holds_nothing(world: World, *, successor: bool) -> None:
    await world.policy()
    if successor:
        world.resource("first")
    await world.versions(V0, claim=Owner("shop", "first", "uid-of-the-deleted-one"))
    assert (await world.create()).is_allowed


async def test_the_holder_itself_may_edit(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    old = world.resource()
    await world.versions(V0, claim=Owner("shop", "created", old["metadata"]["uid"]))
    assert (await world.edit(old, schema=record_schema(ID, NOTE_WITH_DEFAULT))).is_allowed
