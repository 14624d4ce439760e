"""A version that was uploaded and not stored, because the controller was killed, is the operator's own."""

from contextlib import suppress

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import World
from support.schemas.examples import record
from topicschema.cluster.errors import ApiUnavailableError
from topicschema.core.errors import WaitingError
from topicschema.core.history import Origin
from topicschema.core.schemas import Schema
from topicschema.storage.protocol import Stored

pytestmark = on_both_stores

ONE, TWO, THREE, OTHER = record("id"), record("id", "a?"), record("id", "a?", "b?"), record("id", "z?")
OURS, THEIRS = Origin.SPEC, Origin.BROKER


async def reconcile_until_killed(world: World) -> None:
    """Reconcile, but store nothing of what the broker has."""
    with world.storage.refusing(_refuse_history), suppress(WaitingError):
        await world.settle()


def _refuse_history(method: str, stored: object = None, *_: object) -> Exception | None:
    """Let no history that exists be written."""
    is_refused = method == "put" and isinstance(stored, Stored) and stored.revision != ""
    return ApiUnavailableError("no answer in time") if is_refused else None


async def origins(world: World) -> list[Origin]:
    """Settle the topic, and return the origins of its versions."""
    assert await world.settle() == ""
    assert await world.is_recorded()
    return [entry.origin for entry in (await world.history()).entries]


@pytest.mark.parametrize("edited", [ONE, TWO, THREE], ids=["rolled back", "unchanged", "edited"])
async def test_it_is_from_the_spec_even_if_that_was_edited_meanwhile(world: World, edited: Schema) -> None:
    world.set_schema(ONE)
    assert await origins(world) == [OURS]
    assert world.store.payload_writes == 1, "written once, before its upload"
    world.set_schema(TWO)
    await reconcile_until_killed(world)
    world.set_schema(edited)
    assert set(await origins(world)) == {OURS}
    assert len((await world.history()).entries) == (3 if edited is THREE else 2)


async def test_a_first_version_of_our_own_is_no_adoption(world: World) -> None:
    world.set_schema(ONE)
    await reconcile_until_killed(world)
    world.set_schema(TWO)
    assert await origins(world) == [OURS, OURS]


@pytest.mark.parametrize("is_beside_ours", [False, True])
async def test_a_version_of_another_client_is_theirs(world: World, *, is_beside_ours: bool) -> None:
    world.set_schema(ONE)
    assert await origins(world) == [OURS]
    if is_beside_ours:
        world.set_schema(TWO)
        await reconcile_until_killed(world)
        world.set_schema(ONE)
    world.upload(record("id", "a?", "z?") if is_beside_ours else OTHER)
    await reconcile_until_killed(world)
    assert await origins(world) == ([OURS, OURS, THEIRS] if is_beside_ours else [OURS, THEIRS])


async def test_a_payload_is_written_again_if_the_broker_accepts_it_later(world: World) -> None:
    world.set_schema(ONE)
    world.broker.upload_status = 403
    with pytest.raises(WaitingError):
        await world.settle()
    world.broker.upload_status = 200
    assert await origins(world) == [OURS]
    assert world.store.payload_writes == 2
