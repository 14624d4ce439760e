"""The requests of a reconcile to a broker and their results, whatever other clients do between two of them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from support.kubernetes.topic import TOPIC, World
from support.pulsar.schema_service import Entry, PulsarSchemas, RefusedError
from support.schemas.examples import record
from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.core.alignment import HistoryBehind
from topicschema.core.history import Flaw, Origin, Owner
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.reconcile.topicschema.observe_broker import BrokerQuery, fetch

ONE, TWO, THREE, OTHER = record("id"), record("id", "a?"), record("id", "a?", "b?"), record("id", "z?")
FOUR = record("id", "a?", "b?", "c?")


def others_upload(schemas: PulsarSchemas) -> None:
    with suppress(RefusedError):
        schemas.upload(TOPIC, OTHER.info)


def others_delete(schemas: PulsarSchemas) -> None:
    schemas.soft_delete(TOPIC)


def others_lose(schemas: PulsarSchemas) -> None:
    schemas.force_delete(TOPIC)


def others_delete_and_upload(schemas: PulsarSchemas) -> None:
    others_delete(schemas)
    others_upload(schemas)


def others_begin_again(schemas: PulsarSchemas) -> None:
    others_lose(schemas)
    others_upload(schemas)


@pytest.mark.parametrize(
    "interfere",
    [others_upload, others_delete, others_lose, others_delete_and_upload, others_begin_again],
    ids=lambda each: each.__name__,
)
@pytest.mark.parametrize(
    ("there", "is_recorded"),
    [((), False), ((ONE, TWO), False), ((ONE, TWO), True)],
    ids=["nothing", "unknown", "recorded"],
)
@pytest.mark.parametrize("number", range(1, 7))
async def test_history_and_broker_agree_or_the_loss_is_reported_whatever_others_do_before_a_call(
    world: World,
    interfere: Callable[[PulsarSchemas], None],
    there: tuple[Schema, ...],
    is_recorded: bool,  # noqa: FBT001 - a parameter of the test
    number: int,
) -> None:
    world.upload(*there)
    if is_recorded and there:
        assert await world.apply(there[-1]) == ""
    known = len((await world.history()).entries)
    world.broker.calls.clear()
    world.set_schema(THREE)
    world.broker.on_call = lambda now: interfere(world.broker.schemas) if now == number else None
    reason = await world.reason()
    world.broker.on_call = lambda _: None
    before, reason = len(world.broker.calls), await world.reason() or reason
    assert all(call.startswith("GET") for call in world.broker.calls[before:]), "a second reconcile writes"
    if reason == "HistoryLost":
        assert len((await world.history()).entries) >= known
        return
    assert await world.is_recorded()
    assert reason in ("", "Incompatible")
    if reason == "":
        assert THREE.info in [version.info for version in world.broker.schemas.served(TOPIC)]


async def two_versions(world: World) -> None:
    for schema in (ONE, TWO):
        assert await world.apply(schema) == ""


@pytest.mark.parametrize("interfere", [others_delete, others_delete_and_upload], ids=lambda each: each.__name__)
@pytest.mark.parametrize("more", [(THREE,), (THREE, FOUR)], ids=["one more", "two more"])
@pytest.mark.parametrize("number", range(2, 5))
async def test_versions_that_are_hidden_while_they_are_read_are_neither_lost_nor_counted(
    world: World, interfere: Callable[[PulsarSchemas], None], more: tuple[Schema, ...], number: int
) -> None:
    await two_versions(world)
    world.upload(*more)
    world.broker.calls.clear()
    world.broker.on_call = lambda now: interfere(world.broker.schemas) if now == number else None
    assert await world.reason() == ""
    world.broker.on_call = lambda _: None
    assert await world.reason() == ""
    assert await world.is_recorded()


@pytest.mark.parametrize("more", [None, (THREE,), (THREE, FOUR)], ids=["a tombstone", "one more", "two more"])
async def test_a_broker_with_another_numbering_has_lost_the_history(
    world: World, more: tuple[Schema, ...] | None
) -> None:
    await two_versions(world)
    before = await world.history()
    world.broker.schemas.force_delete(TOPIC)
    world.upload(OTHER)
    if more is None:
        world.broker.schemas.soft_delete(TOPIC)
        world.upload(THREE)
    else:
        world.upload(TWO, *more)
    for _ in range(2):
        assert await world.reason() == "HistoryLost"
        assert await world.history() == before


async def test_the_number_of_requests(world: World) -> None:
    for schema, calls in (
        (ONE, ["GET schema", "GET metadata", "POST schema", "GET schema"]),
        (ONE, ["GET schema"]),
        (TWO, ["GET schema", "POST schema", "GET schema", "GET schema/0"]),
        (ONE, ["GET schema"]),
    ):
        world.broker.calls.clear()
        assert await world.apply(schema) == ""
        assert world.broker.calls == calls
    for _ in range(2):
        world.upload(OTHER)
        world.broker.calls.clear()
        assert await world.settle() == ""
        assert len(world.broker.calls) <= 3
        assert await world.is_recorded()


@pytest.mark.parametrize(("there", "requests"), [((ONE,), 2), ((ONE, TWO), 4), ((ONE, TWO, THREE), 4)])
async def test_adopting_costs_four_requests_at_most(world: World, there: tuple[Schema, ...], requests: int) -> None:
    world.upload(*there)
    assert await world.apply(there[-1]) == ""
    assert len(world.broker.calls) + world.broker.topic_settings_reads == requests
    assert await world.is_recorded()
    history = await world.history()
    assert (history.claim, history.entries[-1].origin) == (Owner("shop", "created", "uid-1"), Origin.SPEC)
    assert all(entry.origin is Origin.BROKER for entry in history.entries[:-1])


def put_entries(world: World, *infos: SchemaInfo) -> None:
    """Put these versions into the broker, which judges none of them."""
    entries = tuple(Entry(number, info, "2026-11-21T01:00:00Z") for number, info in enumerate(infos))
    world.broker.schemas.entries[TOPIC] = entries


def set_large(world: World, size: int) -> None:
    """Put six versions of that size into the broker, and set the resource's schema to the newest."""
    large = [record("id", f"f{number}?", doc="x" * size) for number in range(6)]
    put_entries(world, *(schema.info for schema in large))
    world.set_schema(large[-1])


async def test_a_history_too_large_for_one_answer_is_read_version_by_version(world: World) -> None:
    set_large(world, 1 << 20)
    assert await world.settle() == ""
    assert await world.is_recorded()
    assert world.broker.calls == ["GET schema", "GET metadata", "GET schemas"]
    await world.delete_history()
    world.broker.calls.clear()
    set_large(world, 2 << 20)
    assert await world.settle() == ""
    assert await world.is_recorded()
    assert world.broker.calls[:4] == ["GET schema", "GET metadata", "GET schemas", "GET metadata"]
    assert [world.broker.calls.count(f"GET schema/{number}") for number in range(6)] == [2, 2, 2, 1, 1, 1]


async def test_a_history_is_in_memory_only_in_part(world: World) -> None:
    set_large(world, 3 << 20)
    broker = await world.ctx.broker_of((await world.ctx.policies.resolve("shop", "shop/orders")).resource)
    assert broker is not None
    state = await fetch(world.ctx, broker, BrokerQuery(await world.history(), PulsarVersion.V4_0))
    assert isinstance(state.alignment, HistoryBehind)
    assert len(state.alignment.new_versions) == 6
    assert 0 < sum(len(info.schema) for info in state.payloads.values()) <= 8 << 20


@pytest.mark.parametrize("number", [11, 13])
async def test_a_version_that_changes_before_its_schema_is_stored_is_not_stored(world: World, number: int) -> None:
    set_large(world, 3 << 20)
    world.broker.on_call = lambda now: others_begin_again(world.broker.schemas) if now == number else None
    assert await world.settle() in ("", "Incompatible")
    assert world.broker.calls[number - 1].startswith("GET schema/")
    assert await world.is_recorded()


async def test_a_deleted_history_is_restored_from_the_broker_unless_that_has_none(world: World) -> None:
    world.set_schema(TWO)
    world.upload(ONE)
    assert await world.settle() == ""
    status = TopicSchemaStatus(version_count=2)
    await world.delete_history()
    world.resource = replace(world.resource, status=status)
    assert await world.settle() == ""
    assert await world.is_recorded()
    await world.delete_history()
    world.broker.schemas.force_delete(TOPIC)
    assert await world.reason() == "HistoryLost"
    assert (await world.history()).entries == ()


async def test_a_refused_version_is_uploaded_again_or_is_there_by_another_client(world: World) -> None:
    assert await world.apply(ONE) == ""
    for is_there, schema in ((False, TWO), (True, THREE)):
        world.set_schema(schema, schema_compatibility_strategy=Strategy.UNDEFINED)
        world.broker.upload_status = 409
        for _ in range(2):
            assert await world.settle() == "RefusedByBroker"
        if is_there:
            world.upload(schema)
        else:
            world.broker.upload_status = 200
        assert await world.settle() == ""
        assert await world.is_recorded()


async def test_versions_that_cannot_be_read_are_stored_with_their_flaw(world: World) -> None:
    spoilt = ONE.info.schema.replace(b'"type": "string"}', b'"type": "string", "default": null}')
    texts = ((SchemaType.AVRO, b"{}"), (SchemaType.AVRO, spoilt), (SchemaType.NONE, b"anything"))
    put_entries(world, *(SchemaInfo(kind, text) for kind, text in texts))
    world.set_schema(TWO)
    assert await world.reason() == "Incompatible"
    assert [entry.flaw for entry in (await world.history()).entries] == [
        Flaw.UNPARSABLE,
        Flaw.INVALID_DEFAULT,
        Flaw.NONE,
    ]
    assert world.broker.writes == []
