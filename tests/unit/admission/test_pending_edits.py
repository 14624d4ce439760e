"""An accepted spec that is not registered yet counts as history for the next edit."""

from typing import Any

import pytest

from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, TOPIC, V0, World, at_broker, record_schema

A = record_schema(ID, NOTE_WITH_DEFAULT)
# Reads V0 but not A, whose `note` it takes for a number.
CLASHES_WITH_A = record_schema(ID, {"name": "note", "type": "int", "default": 0})
FOLLOWS_BOTH = record_schema(ID, NOTE_WITH_DEFAULT, {"name": "more", "type": "int", "default": 0})
REPLACED = "this replaces an accepted edit that is not registered yet; that one may never become a version"
REFUSALS = ["Incompatible", "InvalidSchema", "RefusedByBroker", "ValidationFailed"]
ALLOWED = {"uid": "4711", "allowed": True}


@pytest.fixture(params=["BACKWARD", "BACKWARD_TRANSITIVE"])
async def judged(world: World, request: pytest.FixtureRequest) -> World:
    """Store version 0 and a policy of that strategy."""
    await world.policy(schemaCompatibilityStrategy=request.param)
    await world.versions(V0)
    return world


async def test_the_next_edit_must_also_follow_the_pending_one(judged: World) -> None:
    reply = await judged.edit(judged.resource(schema=A), schema=CLASHES_WITH_A)
    assert reply.rules == ["TYPE_MISMATCH"]
    assert "the accepted edit that is not registered yet" in reply.causes[0]["message"]


@pytest.mark.parametrize(
    ("stored", "schema", "warnings"),
    [
        ({"schema": A}, FOLLOWS_BOTH, [REPLACED]),
        ({"schema": A}, record_schema(ID, {**NOTE_WITH_DEFAULT, "doc": "x"}), []),
        ({"schema": A, "suspend": True}, CLASHES_WITH_A, []),
        ({"schema": A, "topic": "persistent://shop/orders/another"}, CLASHES_WITH_A, []),
        ({"schema": "not a schema"}, CLASHES_WITH_A, []),  # stored without the webhook
        ({"schema": record_schema(ID, NOTE)}, CLASHES_WITH_A, []),
    ],
)
async def test_only_a_pending_edit_is_compared_and_replaced(
    judged: World, stored: dict[str, Any], schema: str, warnings: list[str]
) -> None:
    reply = await judged.edit(judged.resource(**stored), schema=schema, topic=TOPIC, suspend=False)
    assert reply.is_allowed
    assert reply.warnings == warnings


async def test_an_edit_must_follow_the_history_as_well_as_the_pending_one(judged: World) -> None:
    # It reads messages of A, but not those of version 0.
    reply = await judged.edit(judged.resource(schema=A), schema=record_schema(ID, NOTE))
    assert "version 0" in reply.causes[0]["message"]
    assert (await judged.edit(judged.resource(schema=A), schema=V0)).warnings[0] == REPLACED


async def test_a_registered_spec_is_not_pending(judged: World) -> None:
    await judged.versions(A)
    assert (await judged.edit(judged.resource(schema=A), schema=FOLLOWS_BOTH)).response == ALLOWED


async def test_a_spec_is_not_pending_if_its_broker_is_only_observed(world: World) -> None:
    await world.policy(status=at_broker({}), managementPolicy="Observe")
    await world.versions(V0)
    reply = await world.edit(world.resource(schema=A), schema=CLASHES_WITH_A)
    assert reply.is_allowed
    assert REPLACED not in reply.warnings


async def test_without_a_broker_a_policy_with_observe_has_pending_specs(world: World) -> None:
    await world.policy(managementPolicy="Observe", schemaCompatibilityStrategy="BACKWARD_TRANSITIVE")
    await world.versions(V0)
    reply = await world.edit(world.resource(schema=A), schema=CLASHES_WITH_A)
    assert reply.rules == ["TYPE_MISMATCH"]


def refused(reason: str, generation: int = 1, kind: str = "Stalled") -> dict[str, Any]:
    ready = {"type": "Ready", "status": "False", "reason": reason, "observedGeneration": generation}
    return {"observedGeneration": generation, "conditions": [ready, {**ready, "type": kind, "status": "True"}]}


@pytest.mark.parametrize(
    ("status", "is_pending"),
    [
        *((refused(reason), False) for reason in REFUSALS),
        (refused("HistoryLost"), True),  # it is registered after the history is restored
        (refused("Incompatible", 0), True),
        (refused("PolicyNotFound", 1, "Reconciling"), True),
        (refused("RefusedByBroker", 1, "Reconciling"), True),
        ({"conditions": 7}, True),
    ],
)
async def test_a_spec_that_the_controller_refused_is_not_pending(
    judged: World, status: dict[str, Any], *, is_pending: bool
) -> None:
    old = {**judged.resource(schema=A), "status": status}
    assert (await judged.edit(old, schema=CLASHES_WITH_A)).is_allowed is not is_pending


async def test_a_first_edit_that_is_pending_counts_on_an_empty_history(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="FULL")
    reply = await world.edit(world.resource(schema=V0), schema=record_schema(ID, NOTE))
    assert reply.rules == ["FIELD_WITHOUT_DEFAULT"]
