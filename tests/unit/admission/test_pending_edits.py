"""An accepted spec that is not on record yet counts as history for the next edit."""

from typing import Any

import pytest

from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, TOPIC, V0, World, record_schema

A = record_schema(ID, NOTE_WITH_DEFAULT)
# Reads V0 but not A, whose `note` it takes for a number.
CLASHES_WITH_A = record_schema(ID, {"name": "note", "type": "int", "default": 0})
FOLLOWS_BOTH = record_schema(ID, NOTE_WITH_DEFAULT, {"name": "more", "type": "int", "default": 0})
REPLACED = "this replaces an accepted edit that is not registered yet; that one may never become a version"
REFUSALS = ["AdoptionRefused", "Incompatible", "InvalidSchema", "RefusedByBroker", "ValidationFailed"]
PULSAR = {"adminURL": "https://pulsar:8443"}


@pytest.fixture(params=["BACKWARD", "BACKWARD_TRANSITIVE"])
async def judged(world: World, request: pytest.FixtureRequest) -> World:
    """Version 0 is on record."""
    await world.policy(schemaCompatibilityStrategy=request.param)
    await world.versions(V0)
    return world


async def test_the_next_edit_must_also_follow_the_pending_one(judged: World) -> None:
    reply = await judged.edit(judged.resource(schema=A), schema=CLASHES_WITH_A)
    assert reply.rules == ["TYPE_MISMATCH"]
    assert "the accepted edit that is not registered yet" in reply.causes[0]["message"]


async def test_an_edit_that_passes_in_both_worlds_is_told_that_it_replaces_the_pending_one(judged: World) -> None:
    reply = await judged.edit(judged.resource(schema=A), schema=FOLLOWS_BOTH)
    assert reply.is_allowed
    assert reply.warnings == [REPLACED]


async def test_an_edit_must_follow_the_history_as_well_as_the_pending_one(judged: World) -> None:
    # It reads messages of A, but not those of version 0.
    reply = await judged.edit(judged.resource(schema=A), schema=record_schema(ID, NOTE))
    assert not reply.is_allowed
    assert "version 0" in reply.causes[0]["message"]


async def test_going_back_to_a_registered_version_passes_and_replaces_the_pending_edit(judged: World) -> None:
    reply = await judged.edit(judged.resource(schema=A), schema=V0)
    assert reply.is_allowed
    assert reply.warnings[0] == REPLACED


async def test_a_pending_edit_whose_docs_change_is_not_replaced(judged: World) -> None:
    reply = await judged.edit(judged.resource(schema=A), schema=record_schema(ID, {**NOTE_WITH_DEFAULT, "doc": "x"}))
    assert reply.is_allowed
    assert reply.warnings == []


async def test_a_registered_spec_is_not_pending(judged: World) -> None:
    await judged.versions(A)
    reply = await judged.edit(judged.resource(schema=A), schema=FOLLOWS_BOTH)
    assert reply.is_allowed
    assert reply.warnings == []


async def test_a_spec_under_suspend_is_not_pending(judged: World) -> None:
    reply = await judged.edit(judged.resource(schema=A, suspend=True), schema=CLASHES_WITH_A)
    assert reply.is_allowed
    assert reply.warnings == []


@pytest.mark.parametrize("who", ["policy", "resource"])
async def test_a_spec_is_not_pending_where_its_broker_is_only_observed(world: World, who: str) -> None:
    wishes = {each: {"managementPolicy": "Observe"} if each == who else {} for each in ("policy", "resource")}
    await world.policy(pulsar=PULSAR, **wishes["policy"])
    await world.versions(V0)
    reply = await world.edit(world.resource(schema=A, **wishes["resource"]), schema=CLASHES_WITH_A)
    assert reply.is_allowed
    assert REPLACED not in reply.warnings


async def test_without_a_broker_a_spec_is_registered_and_pending_though_it_says_observe(judged: World) -> None:
    reply = await judged.edit(judged.resource(schema=A, managementPolicy="Observe"), schema=CLASHES_WITH_A)
    assert reply.rules == ["TYPE_MISMATCH"]


def refused(reason: str, generation: int, kind: str = "Stalled") -> dict[str, Any]:
    ready = {"type": "Ready", "status": "False", "reason": reason, "observedGeneration": generation}
    return {"observedGeneration": generation, "conditions": [ready, {**ready, "type": kind, "status": "True"}]}


@pytest.mark.parametrize("reason", REFUSALS)
async def test_a_spec_that_the_controller_refused_is_not_pending(judged: World, reason: str) -> None:
    old = {**judged.resource(schema=A), "status": refused(reason, 1)}
    assert (await judged.edit(old, schema=CLASHES_WITH_A)).is_allowed


async def test_a_spec_whose_history_was_lost_is_pending_for_it_comes_back_with_the_record(judged: World) -> None:
    old = {**judged.resource(schema=A), "status": refused("HistoryLost", 1)}
    assert not (await judged.edit(old, schema=CLASHES_WITH_A)).is_allowed


async def test_a_refusal_of_an_earlier_generation_says_nothing_of_this_one(judged: World) -> None:
    old = {**judged.resource(schema=A), "status": refused("Incompatible", 0)}
    assert not (await judged.edit(old, schema=CLASHES_WITH_A)).is_allowed


@pytest.mark.parametrize("reason", ["PolicyNotFound", "RefusedByBroker"])
async def test_waiting_is_not_a_refusal(judged: World, reason: str) -> None:
    old = {**judged.resource(schema=A), "status": refused(reason, 1, "Reconciling")}
    assert not (await judged.edit(old, schema=CLASHES_WITH_A)).is_allowed


@pytest.mark.parametrize("schema", ["not a schema", record_schema(ID, NOTE)])
async def test_a_stored_spec_that_could_never_be_registered_is_not_pending(judged: World, schema: str) -> None:
    # Stored while the webhook was away.
    reply = await judged.edit(judged.resource(schema=schema), schema=CLASHES_WITH_A)
    assert reply.is_allowed
    assert reply.warnings == []


async def test_a_status_that_cannot_be_read_changes_nothing(judged: World) -> None:
    old = {**judged.resource(schema=A), "status": {"conditions": 7}}
    assert not (await judged.edit(old, schema=CLASHES_WITH_A)).is_allowed


async def test_a_first_edit_that_is_pending_counts_on_an_empty_history(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="FULL")
    reply = await world.edit(world.resource(schema=V0), schema=record_schema(ID, NOTE))
    assert reply.rules == ["FIELD_WITHOUT_DEFAULT"]


async def test_what_was_stored_for_another_topic_past_the_crd_is_not_pending_for_this_one(judged: World) -> None:
    old = judged.resource(schema=A, topic="persistent://shop/orders/another")
    reply = await judged.edit(old, schema=CLASHES_WITH_A, topic=TOPIC)
    assert reply.is_allowed
    assert reply.warnings == []
