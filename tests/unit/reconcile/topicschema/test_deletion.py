"""The schemas that a deletion deletes at a broker: the operator's, and never those of other clients alone."""

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import KEY, ORDERS, TOPIC, World, open_topic
from support.schemas.examples import record
from topicschema.api import FINALIZER, SKIP_BROKER_DELETE_ANNOTATION
from topicschema.api.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    EVENT,
    NAMESPACE,
    NAMESPACE_SCHEMA_POLICY,
    SECRET,
    TOPIC_SCHEMA,
)
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerUnauthorizedError
from topicschema.cluster.errors import ForbiddenError
from topicschema.core import formats, plan
from topicschema.core.alignment import BrokerVersions, HistoryBehind, align
from topicschema.core.errors import WaitingError
from topicschema.core.history import Flaw, History, NumberedBy, Origin, Owner
from topicschema.core.imports import entry_of
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.reconcile.topicschema.act import apply
from topicschema.reconcile.topicschema.deletion import Deletion, emit_released_event, observe_deletion
from topicschema.reconcile.topicschema.observe import judge, owner_of
from topicschema.reconcile.topicschema.observe_broker import retry_with_fresh_credentials
from topicschema.storage.protocol import Stored

pytestmark = on_both_stores

ONE, TWO, OTHER = record("id"), record("id", "a?"), record("other")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A topic in a Kubernetes namespace that exists, as does the CRD."""
    async with open_topic() as world:
        world.api.put(CUSTOM_RESOURCE_DEFINITION, "", TOPIC_SCHEMA.crd_name, {})
        world.api.put(NAMESPACE, "", "shop", {})
        yield world


def resource(world: World, schema: Schema, **spec: Any) -> dict[str, Any]:
    text = schema.info.schema.decode()
    written = {"topic": f"persistent://{KEY.topic}", "type": schema.info.type.value, "schema": text}
    return world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": {**written, "deletionPolicy": "Delete", **spec}})


async def holds(
    world: World,
    wire: dict[str, Any],
    *schemas: Schema,
    numbered_by: NumberedBy = NumberedBy.OPERATOR,
    others: int = 0,
    unconfirmed: int = 0,
) -> None:
    """The resource holds the topic, and these are on record, as registered without a broker unless it counted them.

    The first `others` of them came from elsewhere, the last `unconfirmed` since the broker counted.
    """
    history = History(KEY, numbered_by=numbered_by).claimed_by(Owner("shop", "created", wire["metadata"]["uid"]))
    for turn, schema in enumerate(schemas):
        origin = Origin.BROKER if turn < others else Origin.SPEC
        history = history.with_version(schema, origin, "2026-11-20T00:00:00Z")
    history = replace(history, unconfirmed=unconfirmed)
    await world.ctx.storage.put(Stored(History(KEY)), history, tuple(schema.info for schema in schemas))


def ready_to_go(wire: dict[str, Any]) -> TopicSchema:
    """The resource whose finalizer is there already."""
    return decode(TopicSchema, {**wire, "metadata": {**wire["metadata"], "finalizers": [FINALIZER]}})


def going(wire: dict[str, Any]) -> dict[str, Any]:
    """The resource in its deletion, which began long ago."""
    metadata = {**wire["metadata"], "finalizers": [FINALIZER], "deletionTimestamp": "2026-11-01T00:00:00Z"}
    return {**wire, "metadata": metadata}


async def first(world: World, wire: dict[str, Any]) -> plan.DeletionAction:
    """What a deletion begins with."""
    seen = await observe_deletion(world.ctx, going(wire))
    assert seen is not None
    return seen.planned


@pytest.mark.parametrize(
    ("recorded", "there", "action"),
    [
        ((ONE,), (OTHER,), plan.DeleteHistory()),
        ((ONE, TWO), (ONE,), plan.SoftDelete()),
        ((ONE,), (ONE, TWO), plan.SoftDelete()),
        ((), (OTHER,), plan.DeleteHistory()),
        ((), (ONE,), plan.SoftDelete()),
        ((ONE,), (), plan.DeleteHistory()),
    ],
    ids=["others'", "the beginning", "and more", "others' alone", "uploaded before a crash", "nothing"],
)
async def test_what_the_broker_never_counted_for_us_is_deleted_there_only_where_it_is_ours(
    world: World, recorded: tuple[Schema, ...], there: tuple[Schema, ...], action: plan.DeletionAction
) -> None:
    world.upload(*there)
    wire = resource(world, ONE)
    await holds(world, wire, *recorded)
    assert await first(world, wire) == action
    assert all(call.startswith("GET") for call in world.broker.calls)


@pytest.mark.parametrize("theirs", [OTHER, ONE], ids=["another", "the same"])
@pytest.mark.parametrize(
    ("numbered_by", "others"),
    [(NumberedBy.OPERATOR, 0), (NumberedBy.BROKER, 0), (NumberedBy.BROKER, 1)],
    ids=["", "counted", "adopted"],
)
async def test_what_others_bring_after_our_soft_delete_is_not_deleted_though_its_answer_was_lost(
    world: World, theirs: Schema, numbered_by: NumberedBy, others: int
) -> None:
    world.upload(ONE)
    wire = resource(world, ONE)
    await holds(world, wire, ONE, numbered_by=numbered_by, others=others)
    assert await first(world, wire) == plan.SoftDelete()
    world.broker.schemas.soft_delete(TOPIC)
    world.upload(theirs)
    assert await first(world, wire) == plan.DeleteHistory()


@pytest.mark.parametrize(("there", "action"), [(ONE, plan.SoftDelete()), (OTHER, plan.DeleteHistory())])
async def test_what_was_uploaded_after_a_soft_delete_of_others_and_is_not_on_record_yet_is_deleted(
    world: World, there: Schema, action: plan.DeletionAction
) -> None:
    wire = resource(world, ONE)
    claimed = History(KEY).claimed_by(Owner("shop", "created", wire["metadata"]["uid"]))
    hidden = align(claimed, BrokerVersions((0,)), "2026-11-20T00:00:00Z")
    assert isinstance(hidden, HistoryBehind)
    await world.ctx.storage.put(Stored(History(KEY)), hidden.history)
    world.broker.schemas.soft_delete(TOPIC)
    world.upload(there)
    assert await first(world, wire) == action


def is_skipped(wire: dict[str, Any]) -> dict[str, Any]:
    metadata = {**wire["metadata"], "annotations": {SKIP_BROKER_DELETE_ANNOTATION: "true"}}
    return {**wire, "metadata": metadata}


async def lets_go_of(world: World, wire: dict[str, Any]) -> str:
    """The resource goes alone: what its Event says."""
    deletion = await observe_deletion(world.ctx, going(wire))
    assert deletion is not None
    assert deletion.planned == plan.RemoveFinalizer()
    await emit_released_event(world.ctx, going(wire), deletion)
    return " ".join(event["note"] for event in await world.ctx.client.list(EVENT, "shop"))


@pytest.mark.parametrize("is_governed", [True, False], ids=["of no broker", "no policy"])
async def test_versions_of_a_broker_wait_for_a_policy_that_names_one_or_for_the_annotation(
    world: World, *, is_governed: bool
) -> None:
    world.upload(ONE)
    wire = resource(world, ONE)
    await holds(world, wire, ONE, numbered_by=NumberedBy.BROKER)
    if is_governed:
        world.api.change("/namespaceschemapolicies/orders", lambda policy: policy["spec"].pop("pulsar"))
        claim = await world.ctx.storage.get_claim(ORDERS)
        assert claim.owner is not None
        await world.ctx.storage.put_claim(claim, claim.owner)
    else:
        world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    for _ in range(2):
        with pytest.raises(WaitingError, match="skip-broker-delete") as waits:
            await observe_deletion(world.ctx, going(wire))
        assert waits.value.reason == "PolicyNotFound"
    assert "skip-broker-delete is set" in await lets_go_of(world, is_skipped(wire))


async def test_what_no_broker_counted_goes_with_a_namespace_that_ends_and_what_one_counted_stays(world: World) -> None:
    wire = resource(world, ONE)
    await holds(world, wire, ONE)
    world.api.put(NAMESPACE, "", "shop", {"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}})
    assert "namespace is being deleted" in await lets_go_of(world, wire)
    world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert await first(world, wire) == plan.DeleteHistory()


async def test_what_cannot_be_found_because_a_claim_cannot_be_read_waits_for_the_annotation(world: World) -> None:
    wire = resource(world, ONE)
    await holds(world, wire, ONE)
    world.store.damage(ORDERS)
    world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    with pytest.raises(WaitingError, match="cannot be read"):
        await observe_deletion(world.ctx, going(wire))
    assert await lets_go_of(world, is_skipped(wire)) == ""
    assert await lets_go_of(world, resource(world, ONE, deletionPolicy="Retain")) == ""


@pytest.mark.parametrize("numbered_by", [NumberedBy.BROKER, NumberedBy.OPERATOR])
@pytest.mark.parametrize("is_governed", [True, False])
async def test_a_crd_that_is_being_deleted_retains_schemas_and_history(
    world: World, numbered_by: NumberedBy, *, is_governed: bool
) -> None:
    wire = resource(world, ONE)
    world.upload(ONE)
    await holds(world, wire, ONE, numbered_by=numbered_by)
    deleted = {"deletionTimestamp": "2026-11-20T00:00:00Z"}
    world.api.change(TOPIC_SCHEMA.crd_name, lambda crd: crd["metadata"].update(deleted))
    if not is_governed:
        world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert "the CRD of TopicSchemas is being deleted" in await lets_go_of(world, wire)
    assert world.broker.calls == []


async def test_who_is_let_go_because_another_policy_governs_its_topic_is_told_so(world: World) -> None:
    wire = resource(world, ONE)
    await holds(world, wire, ONE, numbered_by=NumberedBy.BROKER)
    claims = world.ctx.storage
    await claims.put_claim(await claims.get_claim(ORDERS), Owner("other", "orders", "uid-2"), "pulsar")
    assert await lets_go_of(world, {**wire, "spec": {**wire["spec"], "deletionPolicy": "Retain"}}) == ""
    assert "another policy governs its topic now" in await lets_go_of(world, wire)


async def test_who_is_not_known_any_more_asks_again_as_the_secret_has_it_now(world: World) -> None:
    there = {"authentication": {"token": {"secretKeyRef": {"name": "admin", "key": "token"}}}}
    world.api.change("/shop/namespaceschemapolicies/orders", lambda wire: wire["spec"]["pulsar"].update(there))
    world.api.put(SECRET, "shop", "admin", {"data": {"token": "b25l"}})
    found = await world.ctx.policies.resolve("shop", "shop/orders")
    assert found is not None
    broker = await world.ctx.brokers.of(found.resource)
    assert broker is not None

    async def ask(known: Broker) -> Broker:
        if known is broker:
            raise BrokerUnauthorizedError("who is this?")
        return known

    with pytest.raises(BrokerUnauthorizedError):
        await retry_with_fresh_credentials(world.ctx, found, broker, ask)
    world.api.put(SECRET, "shop", "admin", {"data": {"token": "dHdv"}})
    assert await retry_with_fresh_credentials(world.ctx, found, broker, ask) is await world.ctx.brokers.of(
        found.resource
    )


@pytest.mark.parametrize(
    ("recorded", "unconfirmed", "there", "action"),
    [
        ((OTHER,), 0, (OTHER,), plan.DeleteHistory()),  # alone
        ((OTHER, ONE), 0, (OTHER, ONE), plan.SoftDelete()),  # then ours
        ((OTHER, TWO), 0, (OTHER, TWO), plan.SoftDelete()),
        ((ONE,), 0, (ONE,), plan.SoftDelete()),  # as the spec
        ((ONE,), 0, (ONE, OTHER), plan.SoftDelete()),
        ((OTHER,), 0, (OTHER, ONE), plan.SoftDelete()),  # ours, after a crash
        ((OTHER,), 0, (OTHER, TWO), plan.DeleteHistory()),
        ((OTHER, ONE), 1, (OTHER,), plan.DeleteHistory()),  # ours, not sent yet
        ((ONE, TWO), 1, (ONE,), plan.SoftDelete()),
    ],
)
async def test_versions_of_others_under_our_claim_are_deleted_only_with_one_of_ours(
    world: World, recorded: tuple[Schema, ...], unconfirmed: int, there: tuple[Schema, ...], action: plan.DeletionAction
) -> None:
    world.broker.schemas.strategy = Strategy.ALWAYS_COMPATIBLE
    world.upload(*there)
    wire = resource(world, ONE)
    await holds(world, wire, *recorded, numbered_by=NumberedBy.BROKER, others=1, unconfirmed=unconfirmed)
    assert await first(world, wire) == action


async def test_what_others_brought_between_our_claim_and_our_upload_stays(world: World) -> None:
    wire = resource(world, ONE)
    world.resource = ready_to_go(wire)
    seen = await world.observe()
    assert isinstance(seen.planned[0], plan.ClaimTopic)
    loaded = await apply(world.ctx, seen, seen.planned[0])
    assert loaded is not None
    claimed = await judge(world.ctx, loaded, seen)
    assert claimed.planned == (plan.Upload(),)
    world.upload(OTHER)
    assert await apply(world.ctx, claimed, claimed.planned[0]) is None
    assert await first(world, wire) == plan.DeleteHistory()
    assert await world.settle() == "Incompatible"
    assert await world.is_recorded()
    assert await first(world, wire) == plan.DeleteHistory()


async def test_a_topic_of_others_that_refused_our_schema_keeps_its_versions_until_the_spec_is_one_of_them(
    world: World,
) -> None:
    world.upload(ONE)
    wire = resource(world, TWO)
    world.resource = ready_to_go(wire)
    world.broker.upload_status = 409  # a stricter strategy was set there
    assert await world.settle() == "RefusedByBroker"
    history = await world.history()
    assert (history.claim, history.entries[0].origin) == (owner_of(world.resource.metadata), Origin.BROKER)
    assert await first(world, wire) == plan.DeleteHistory()
    wire = {**wire, "spec": resource(world, ONE)["spec"]}
    world.resource = ready_to_go(wire)
    assert await world.settle() == ""
    assert await first(world, wire) == plan.SoftDelete()


async def test_what_others_brought_after_they_deleted_ours_stays(world: World) -> None:
    wire = resource(world, ONE)
    world.resource = ready_to_go(wire)
    assert await world.settle() == ""
    world.broker.schemas.soft_delete(TOPIC)
    world.upload(OTHER)
    assert await first(world, wire) == plan.DeleteHistory()
    assert await world.settle() == "Incompatible"
    assert await first(world, wire) == plan.DeleteHistory()


async def test_sources_that_are_not_compiled_hold_no_deletion_up_where_a_version_of_ours_is_served(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    world.broker.schemas.strategy = Strategy.ALWAYS_COMPATIBLE
    sources = {"message": "Order", "files": {"order.proto": 'syntax = "proto3"; message Order {}'}}
    wire = resource(world, ONE)
    spec = {"topic": wire["spec"]["topic"], "type": "PROTOBUF_NATIVE", "protobuf": sources, "deletionPolicy": "Delete"}
    wire = world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": spec})
    world.upload(OTHER)
    await holds(world, wire, OTHER, numbered_by=NumberedBy.BROKER, others=1)
    with pytest.raises(WaitingError, match="the compiler cannot be started"):  # nobody knows what the spec stands for
        await first(world, wire)
    world.upload(ONE)
    stored = await world.ctx.storage.get_history(KEY)
    grown = stored.history.with_version(ONE, Origin.SPEC, "2026-11-20T00:00:00Z")
    await world.ctx.storage.put(stored, grown, (ONE.info,))
    assert await first(world, wire) == plan.SoftDelete()


async def test_a_version_of_others_that_the_spec_is_goes_though_another_line_s_parser_did_not_take_it(
    world: World,
) -> None:
    text = SchemaInfo(SchemaType.AVRO, b'{"type": "record", "name": "R", "namespace": "my-shop", "fields": []}')
    world.upload(formats.parse(text, PulsarVersion.V4_0))
    wire = resource(world, formats.parse(text, PulsarVersion.V4_0))
    entry = entry_of(RemoteVersion(0, text, "2026-11-20T00:00:00Z"), PulsarVersion.V4_1)
    assert entry.flaw is Flaw.UNPARSABLE
    history = History(KEY, Owner("shop", "created", wire["metadata"]["uid"]), 0, (entry,), NumberedBy.BROKER)
    await world.ctx.storage.put(Stored(History(KEY)), history, (text,))

    def forbid(method: str, *_: object) -> Exception | None:
        return ForbiddenError("no right to payloads") if method == "get" else None

    with world.storage.refusing(forbid), pytest.raises(ForbiddenError):  # it passes by itself: nothing is decided
        await first(world, wire)
    assert await first(world, wire) == plan.SoftDelete()


@pytest.mark.parametrize(
    ("revision", "released", "action"),
    [
        ("1", "", plan.DeleteHistory()),
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
