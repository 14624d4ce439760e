"""A version that was uploaded and not put on record, because the controller was killed, is the operator's own."""

from contextlib import suppress

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import World
from support.schemas.examples import record
from topicschema.api.brokers import AdoptionPolicy
from topicschema.cluster.errors import ApiUnavailableError
from topicschema.core.errors import WaitingError
from topicschema.core.history import Origin
from topicschema.core.schemas import Schema
from topicschema.storage.protocol import Stored

pytestmark = on_both_stores

ONE, TWO, THREE, OTHER = record("id"), record("id", "a?"), record("id", "a?", "b?"), record("id", "z?")
OURS, THEIRS = Origin.SPEC, Origin.BROKER


async def killed(world: World) -> None:
    """Passes end before they put on record what the broker has."""
    with world.storage.refusing(_away), suppress(WaitingError):
        await world.settle()


def _away(method: str, stored: object = None, *_: object) -> Exception | None:
    """Let no history that exists be written."""
    is_refused = method == "put" and isinstance(stored, Stored) and stored.revision != ""
    return ApiUnavailableError("no answer in time") if is_refused else None


async def origins(world: World) -> list[Origin]:
    """Origins of the stored versions, once the topic is settled."""
    assert await world.settle() == ""
    assert await world.agrees()
    return [entry.origin for entry in (await world.history()).entries]


@pytest.mark.parametrize("edited", [ONE, TWO, THREE], ids=["rolled back", "unchanged", "edited"])
async def test_it_is_from_the_spec_even_if_that_was_edited_meanwhile(world: World, edited: Schema) -> None:
    world.wants(ONE)
    assert await origins(world) == [OURS]
    world.wants(TWO)
    await killed(world)
    world.wants(edited)
    assert set(await origins(world)) == {OURS}
    assert len((await world.history()).entries) == (3 if edited is THREE else 2)


async def test_a_first_version_of_our_own_is_no_adoption(world: World) -> None:
    world.wants(ONE, adoption_policy=AdoptionPolicy.REFUSE)
    await killed(world)
    world.wants(TWO, adoption_policy=AdoptionPolicy.REFUSE)
    assert await origins(world) == [OURS, OURS]


@pytest.mark.parametrize("is_beside_ours", [False, True])
async def test_a_version_of_another_client_is_theirs(world: World, *, is_beside_ours: bool) -> None:
    world.wants(ONE)
    assert await origins(world) == [OURS]
    if is_beside_ours:
        world.wants(TWO)
        await killed(world)
        world.wants(ONE)
    world.there(record("id", "a?", "z?") if is_beside_ours else OTHER)
    await killed(world)
    assert await origins(world) == ([OURS, OURS, THEIRS] if is_beside_ours else [OURS, THEIRS])


async def test_a_payload_is_written_once_before_its_upload(world: World) -> None:
    world.wants(ONE)
    assert await origins(world) == [OURS]
    assert world.store.payload_writes == 1


async def test_what_was_left_behind_is_put_again_if_the_broker_takes_it_later(world: World) -> None:
    world.wants(ONE)
    world.broker.upload_status = 403
    with pytest.raises(WaitingError):
        await world.settle()
    world.broker.upload_status = 200
    assert await origins(world) == [OURS]
    assert world.store.payload_writes == 2
