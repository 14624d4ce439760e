"""The schemas that a deletion deletes at a broker: the operator's, and never those of other clients alone."""

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import KEY, ORDERS, TOPIC, World, open_topic
from support.schemas.examples import record
from testbed.product import NAMESPACE as SYSTEM
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
    """Yield a topic in a Kubernetes namespace that exists, as does the CRD."""
    async with open_topic() as world:
        world.api.put(CUSTOM_RESOURCE_DEFINITION, "", TOPIC_SCHEMA.crd_name, {})
        world.api.put(NAMESPACE, "", "shop", {})
        yield world


def resource(world: World, schema: Schema, **spec: Any) -> dict[str, Any]:
    """Put the resource, with the finalizer, and return it."""
    text = schema.info.schema.decode()
    written = {"topic": f"persistent://{KEY.topic}", "type": schema.info.type.value, "schema": text}
    members = {"spec": {**written, "deletionPolicy": "Delete", **spec}, "metadata": {"finalizers": [FINALIZER]}}
    return world.api.put(TOPIC_SCHEMA, "shop", "created", members)


async def store(world: World, wire: dict[str, Any], *schemas: Schema, **members: Any) -> None:
    """Store these versions with the claim of the resource, as `World.store_versions` does."""
    await world.store_versions(*schemas, claim=Owner("shop", "created", wire["metadata"]["uid"]), **members)


def deleting(wire: dict[str, Any]) -> dict[str, Any]:
    """Return the resource in its deletion, which began long ago."""
    return {**wire, "metadata": {**wire["metadata"], "deletionTimestamp": "2026-11-01T00:00:00Z"}}


async def first_action(world: World, wire: dict[str, Any]) -> plan.DeletionAction:
    """Return the first action of the resource's deletion."""
    deletion = await observe_deletion(world.ctx, deleting(wire))
    assert deletion is not None
    return deletion.planned


async def released(world: World, wire: dict[str, Any]) -> str:
    """Release the resource, and return the notes of the Events."""
    deletion = await observe_deletion(world.ctx, deleting(wire))
    assert deletion is not None
    assert deletion.planned == plan.RemoveFinalizer()
    await emit_released_event(world.ctx, deleting(wire), deletion)
    return " ".join(event["note"] for event in await world.ctx.client.list(EVENT, "shop"))


def is_skipped(wire: dict[str, Any]) -> dict[str, Any]:
    """Return the resource with the annotation to skip the broker."""
    metadata = {**wire["metadata"], "annotations": {SKIP_BROKER_DELETE_ANNOTATION: "true"}}
    return {**wire, "metadata": metadata}


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
    ids=["others'", "the beginning", "and more", "only others'", "uploaded before a crash", "nothing"],
)
async def test_a_history_that_no_broker_numbered_deletes_at_a_broker_only_its_own_versions(
    world: World, recorded: tuple[Schema, ...], there: tuple[Schema, ...], action: plan.DeletionAction
) -> None:
    world.upload(*there)
    wire = resource(world, ONE)
    await store(world, wire, *recorded)
    assert await first_action(world, wire) == action
    assert world.broker.writes == []


@pytest.mark.parametrize("theirs", [OTHER, ONE], ids=["another", "the same"])
@pytest.mark.parametrize(
    ("numbered_by", "others"),
    [(NumberedBy.OPERATOR, 0), (NumberedBy.BROKER, 0), (NumberedBy.BROKER, 1)],
    ids=["", "numbered", "adopted"],
)
async def test_a_version_of_another_client_after_the_soft_delete_is_not_deleted_though_its_response_was_lost(
    world: World, theirs: Schema, numbered_by: NumberedBy, others: int
) -> None:
    world.upload(ONE)
    wire = resource(world, ONE)
    await store(world, wire, ONE, numbered_by=numbered_by, others=others)
    assert await first_action(world, wire) == plan.SoftDelete()
    world.broker.schemas.soft_delete(TOPIC)
    world.upload(theirs)
    assert await first_action(world, wire) == plan.DeleteHistory()


@pytest.mark.parametrize(("there", "action"), [(ONE, plan.SoftDelete()), (OTHER, plan.DeleteHistory())])
async def test_a_version_that_was_uploaded_after_a_soft_delete_and_is_not_stored_yet_is_deleted(
    world: World, there: Schema, action: plan.DeletionAction
) -> None:
    wire = resource(world, ONE)
    hidden = align(History(KEY), BrokerVersions((0,)), "2026-11-20T00:00:00Z")
    assert isinstance(hidden, HistoryBehind)
    await store(world, wire, entries=hidden.history.entries, numbered_by=NumberedBy.BROKER)
    world.broker.schemas.soft_delete(TOPIC)
    world.upload(there)
    assert await first_action(world, wire) == action


@pytest.mark.parametrize("is_governed", [True, False], ids=["of no broker", "no policy"])
async def test_versions_of_a_broker_wait_for_a_policy_that_names_one_or_for_the_annotation(
    world: World, *, is_governed: bool
) -> None:
    world.upload(ONE)
    wire = resource(world, ONE)
    await store(world, wire, ONE, numbered_by=NumberedBy.BROKER)
    if is_governed:
        await world.change_registry(pulsar=None)
    else:
        world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    for _ in range(2):
        with pytest.raises(WaitingError, match="skip-broker-delete") as waits:
            await observe_deletion(world.ctx, deleting(wire))
        assert waits.value.reason == "PolicyNotFound"
    assert "skip-broker-delete is set" in await released(world, is_skipped(wire))


async def test_a_history_that_no_broker_numbered_is_deleted_with_its_namespace_unless_its_policy_names_a_broker(
    world: World,
) -> None:
    wire = resource(world, ONE)
    await store(world, wire, ONE)
    world.api.put(NAMESPACE, "", "shop", {"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}})
    assert "namespace is being deleted" in await released(world, wire)
    world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert await first_action(world, wire) == plan.DeleteHistory()


async def test_a_deletion_whose_claim_cannot_be_read_waits_for_the_annotation(world: World) -> None:
    wire = resource(world, ONE)
    await store(world, wire, ONE)
    world.store.damage(ORDERS)
    world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    with pytest.raises(WaitingError, match="cannot be read"):
        await observe_deletion(world.ctx, deleting(wire))
    assert await released(world, is_skipped(wire)) == ""
    assert await released(world, resource(world, ONE, deletionPolicy="Retain")) == ""


@pytest.mark.parametrize("numbered_by", [NumberedBy.BROKER, NumberedBy.OPERATOR])
@pytest.mark.parametrize("is_governed", [True, False])
async def test_a_crd_that_is_being_deleted_retains_schemas_and_history(
    world: World, numbered_by: NumberedBy, *, is_governed: bool
) -> None:
    wire = resource(world, ONE)
    world.upload(ONE)
    await store(world, wire, ONE, numbered_by=numbered_by)
    deleted = {"deletionTimestamp": "2026-11-20T00:00:00Z"}
    world.api.change(TOPIC_SCHEMA.crd_name, lambda crd: crd["metadata"].update(deleted))
    if not is_governed:
        world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    assert "the CRD of TopicSchemas is being deleted" in await released(world, wire)
    assert world.broker.calls == []


async def test_a_resource_whose_topic_another_policy_governs_is_released_with_an_event(world: World) -> None:
    wire = resource(world, ONE)
    await store(world, wire, ONE, numbered_by=NumberedBy.BROKER)
    storage = world.ctx.storage
    await storage.put_claim(await storage.get_claim(ORDERS), Owner("other", "orders", "uid-2"), "pulsar")
    assert await released(world, {**wire, "spec": {**wire["spec"], "deletionPolicy": "Retain"}}) == ""
    assert "another policy governs its topic now" in await released(world, wire)


async def test_an_unauthorized_request_is_repeated_with_the_current_secret(world: World) -> None:
    token = {"token": {"secretRef": {"name": "admin", "key": "token"}}}
    world.set_registry(pulsar={**world.pulsar, "authentication": token})
    world.api.put(SECRET, SYSTEM, "admin", {"data": {"token": "b25l"}})
    active = await world.ctx.policies.resolve("shop", "shop/orders")
    broker = await world.ctx.broker_of(active.resource)
    assert broker is not None

    async def request(known: Broker) -> Broker:
        if known is broker:
            raise BrokerUnauthorizedError("who is this?")
        return known

    with pytest.raises(BrokerUnauthorizedError):
        await retry_with_fresh_credentials(world.ctx, active, broker, request)
    world.api.put(SECRET, SYSTEM, "admin", {"data": {"token": "dHdv"}})
    after = await retry_with_fresh_credentials(world.ctx, active, broker, request)
    assert after is await world.ctx.broker_of(active.resource)


@pytest.mark.parametrize(
    ("recorded", "unconfirmed", "there", "action"),
    [
        ((OTHER,), 0, (OTHER,), plan.DeleteHistory()),
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
    await store(world, wire, *recorded, numbered_by=NumberedBy.BROKER, others=1, unconfirmed=unconfirmed)
    assert await first_action(world, wire) == action


async def test_a_version_of_another_client_between_claim_and_upload_stays(world: World) -> None:
    wire = resource(world, ONE)
    world.resource = decode(TopicSchema, wire)
    judged = await world.observe()
    assert isinstance(judged.planned[0], plan.ClaimTopic)
    loaded = await apply(world.ctx, judged, judged.planned[0])
    assert loaded is not None
    claimed = await judge(world.ctx, loaded, judged)
    assert claimed.planned == (plan.Upload(),)
    world.upload(OTHER)
    assert await apply(world.ctx, claimed, claimed.planned[0]) is None
    assert await first_action(world, wire) == plan.DeleteHistory()
    assert await world.settle() == "Incompatible"
    assert await world.is_recorded()
    assert await first_action(world, wire) == plan.DeleteHistory()


async def test_a_topic_that_refused_our_schema_retains_its_versions_until_the_spec_is_one_of_them(world: World) -> None:
    world.upload(ONE)
    wire = resource(world, TWO)
    world.resource = decode(TopicSchema, wire)
    world.broker.upload_status = 409  # a stricter strategy was set there
    assert await world.settle() == "RefusedByBroker"
    history = await world.history()
    assert (history.claim, history.entries[0].origin) == (owner_of(world.resource.metadata), Origin.BROKER)
    assert await first_action(world, wire) == plan.DeleteHistory()
    wire = {**wire, "spec": resource(world, ONE)["spec"]}
    world.resource = decode(TopicSchema, wire)
    assert await world.settle() == ""
    assert await first_action(world, wire) == plan.SoftDelete()


async def test_a_version_of_a_client_that_deleted_ours_stays(world: World) -> None:
    wire = resource(world, ONE)
    world.resource = decode(TopicSchema, wire)
    assert await world.settle() == ""
    world.broker.schemas.soft_delete(TOPIC)
    world.upload(OTHER)
    assert await first_action(world, wire) == plan.DeleteHistory()
    assert await world.settle() == "Incompatible"
    assert await first_action(world, wire) == plan.DeleteHistory()


async def test_sources_that_do_not_compile_delay_no_deletion_if_a_version_of_ours_is_served(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    world.broker.schemas.strategy = Strategy.ALWAYS_COMPATIBLE
    sources = {"message": "Order", "files": {"order.proto": 'syntax = "proto3"; message Order {}'}}
    wire = resource(world, ONE, type="PROTOBUF_NATIVE", protobuf=sources)
    del wire["spec"]["schema"]
    world.upload(OTHER)
    await store(world, wire, OTHER, numbered_by=NumberedBy.BROKER, others=1)
    with pytest.raises(WaitingError, match="the compiler cannot be started"):  # the versions of the spec are unknown
        await first_action(world, wire)
    world.upload(ONE)
    await world.store_versions(ONE)
    assert await first_action(world, wire) == plan.SoftDelete()


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

    with world.storage.refusing(forbid), pytest.raises(ForbiddenError):  # which ends: nothing is decided
        await first_action(world, wire)
    assert await first_action(world, wire) == plan.SoftDelete()


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
    await store(world, wire, ONE)
    assert await first_action(world, wire) == plan.RemoveFinalizer()


@pytest.mark.parametrize("constraints", [None, {"allowedDeletionPolicies": ["Retain"]}])
async def test_a_policy_that_does_not_allow_delete_retains_the_schemas(
    world: World, constraints: dict[str, list[str]] | None
) -> None:
    wire = resource(world, ONE)
    await store(world, wire, ONE)
    world.set_policy(constraints=constraints)
    assert "policy orders allows no deletionPolicy Delete" in await released(world, wire)
