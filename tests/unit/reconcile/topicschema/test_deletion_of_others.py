"""A deletion under deletionPolicy Delete from a topic where others have versions: alone they stay, whoever holds it."""

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.admission import SYSTEM
from support.kubernetes.topic import TOPIC, World
from support.pulsar.deleted_topic import KEY, ONE, OTHER, TWO, first, holds, in_a_namespace, ready_to_go, resource
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.cluster.errors import ForbiddenError
from topicschema.core import formats, plan
from topicschema.core.errors import WaitingError
from topicschema.core.history import Counter, Flaw, History, Origin, Owner
from topicschema.core.imports import entry_of
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.judging.judge import Judge
from topicschema.reconcile.topicschema.actions import apply
from topicschema.reconcile.topicschema.deletion import Deletion
from topicschema.reconcile.topicschema.gather import judge, owner_of
from topicschema.storage.protocol import Stored
from topicschema.storage.record import RecordStorage


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with in_a_namespace() as world:
        yield world


@pytest.mark.parametrize(
    ("recorded", "uncounted", "there", "action"),
    [
        ((OTHER,), 0, (OTHER,), plan.DeleteRecord()),  # alone
        ((OTHER, ONE), 0, (OTHER, ONE), plan.SoftDelete()),  # then ours
        ((OTHER, TWO), 0, (OTHER, TWO), plan.SoftDelete()),
        ((ONE,), 0, (ONE,), plan.SoftDelete()),  # as the spec
        ((ONE,), 0, (ONE, OTHER), plan.SoftDelete()),
        ((OTHER,), 0, (OTHER, ONE), plan.SoftDelete()),  # ours, after a crash
        ((OTHER,), 0, (OTHER, TWO), plan.DeleteRecord()),
        ((OTHER, ONE), 1, (OTHER,), plan.DeleteRecord()),  # ours, not sent yet
        ((ONE, TWO), 1, (ONE,), plan.SoftDelete()),
    ],
)
async def test_versions_of_others_under_our_claim_are_deleted_only_with_one_of_ours(
    world: World, recorded: tuple[Schema, ...], uncounted: int, there: tuple[Schema, ...], action: plan.DeletionAction
) -> None:
    world.broker.schemas.strategy = Strategy.ALWAYS_COMPATIBLE
    world.there(*there)
    wire = resource(world, ONE)
    await holds(world, wire, *recorded, counted_by=Counter.BROKER, others=1, uncounted=uncounted)
    assert await first(world, wire) == action


async def test_what_others_brought_between_our_claim_and_our_upload_stays(world: World) -> None:
    wire = resource(world, ONE)
    world.resource = ready_to_go(wire)
    seen = await world.seen()
    assert isinstance(seen.planned[0], plan.Claim)
    loaded = await apply(world.ctx, seen, seen.planned[0])
    assert loaded is not None
    claimed = await judge(world.ctx, loaded, seen)
    assert claimed.planned == (plan.Upload(),)
    world.there(OTHER)
    assert await apply(world.ctx, claimed, claimed.planned[0]) is None
    assert await first(world, wire) == plan.DeleteRecord()
    assert await world.settle() == "Incompatible"
    assert await world.agrees()
    assert await first(world, wire) == plan.DeleteRecord()


async def test_a_topic_of_others_that_refused_our_schema_keeps_its_versions_until_the_spec_is_one_of_them(
    world: World,
) -> None:
    world.there(ONE)
    wire = resource(world, TWO)
    world.resource = ready_to_go(wire)
    world.broker.upload_status = 409  # a stricter strategy was set there
    assert await world.settle() == "RefusedByBroker"
    history = await world.history()
    assert (history.claim, history.entries[0].origin) == (owner_of(world.resource.metadata), Origin.BROKER)
    assert await first(world, wire) == plan.DeleteRecord()
    wire = {**wire, "spec": resource(world, ONE)["spec"]}
    world.resource = ready_to_go(wire)
    assert await world.settle() == ""
    assert await first(world, wire) == plan.SoftDelete()


async def test_what_others_brought_after_they_deleted_ours_stays(world: World) -> None:
    wire = resource(world, ONE)
    world.resource = ready_to_go(wire)
    assert await world.settle() == ""
    world.broker.schemas.soft_delete(TOPIC)
    world.there(OTHER)
    assert await first(world, wire) == plan.DeleteRecord()
    assert await world.settle() == "Incompatible"
    assert await first(world, wire) == plan.DeleteRecord()


async def test_sources_that_are_not_compiled_hold_no_deletion_up_where_a_version_of_ours_is_served(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    world.broker.schemas.strategy = Strategy.ALWAYS_COMPATIBLE
    sources = {"message": "Order", "files": {"order.proto": 'syntax = "proto3"; message Order {}'}}
    wire = resource(world, ONE)
    spec = {"topic": wire["spec"]["topic"], "type": "PROTOBUF_NATIVE", "protobuf": sources, "deletionPolicy": "Delete"}
    wire = world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": spec})
    world.there(OTHER)
    await holds(world, wire, OTHER, counted_by=Counter.BROKER, others=1)
    with pytest.raises(WaitingError, match="the compiler cannot be started"):  # nobody knows what the spec stands for
        await first(world, wire)
    world.there(ONE)
    stored = await world.ctx.storage.get_history(KEY)
    grown = stored.history.with_version(ONE, Origin.SPEC, "2026-11-20T00:00:00Z")
    await world.ctx.storage.put(stored, grown, (ONE.info,))
    assert await first(world, wire) == plan.SoftDelete()


async def test_a_version_of_others_that_the_spec_is_goes_though_another_line_s_parser_did_not_take_it(
    world: World,
) -> None:
    text = SchemaInfo(SchemaType.AVRO, b'{"type": "record", "name": "R", "namespace": "my-shop", "fields": []}')
    world.there(formats.parse(text, PulsarLine.V4_0))
    wire = resource(world, formats.parse(text, PulsarLine.V4_0))
    entry = entry_of(RemoteVersion(0, text, "2026-11-20T00:00:00Z"), PulsarLine.V4_1)
    assert entry.flaw is Flaw.UNPARSABLE
    history = History(KEY, Owner("shop", "created", wire["metadata"]["uid"]), 0, (entry,), Counter.BROKER)
    await world.ctx.storage.put(Stored(History(KEY)), history, (text,))
    storage = RecordStorage(world.ctx.client, SYSTEM)  # as after a restart: nothing is remembered
    world.ctx = replace(world.ctx, storage=storage, judge=Judge(storage))
    world.api.refusals = {f"GET /apis/topicschema.io/v1alpha1/namespaces/{SYSTEM}/schemaversions": 403}
    with pytest.raises(ForbiddenError):  # it passes by itself: nothing is decided meanwhile
        await first(world, wire)
    world.api.refusals = {}
    assert await first(world, wire) == plan.SoftDelete()
    world.ctx.judge.close()


@pytest.mark.parametrize(
    ("revision", "released", "action"),
    [
        ("1", "", plan.DeleteRecord()),
        ("1", "managementPolicy is Observe", plan.RemoveFinalizer()),
        ("", "", plan.RemoveFinalizer()),
    ],
    ids=["deleted", "released", "never stored"],
)
async def test_a_history_is_deleted_if_it_was_stored_and_is_not_retained(
    world: World, revision: str, released: str, action: plan.DeletionAction
) -> None:
    deletion = Deletion(decode(TopicSchema, resource(world, ONE)), Stored(History(KEY), revision), released)
    assert deletion.planned == action


@pytest.mark.parametrize("spec", [{"suspend": True}, {"deletionPolicy": "Retain"}], ids=["suspended", "retained"])
async def test_a_resource_that_deletes_nothing_is_released_alone(world: World, spec: dict[str, Any]) -> None:
    wire = resource(world, ONE, **spec)
    await holds(world, wire, ONE)
    assert await first(world, wire) == plan.RemoveFinalizer()
