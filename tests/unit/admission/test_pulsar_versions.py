"""Reviews under policies of brokers of several Pulsar versions, each with its own parser."""

import pytest

from support.kubernetes.admission import (
    ID,
    NOTE_WITH_DEFAULT,
    PULSAR,
    World,
    at_broker,
    avro,
    owner_of,
    record_schema,
)
from topicschema.core.schemas import PulsarVersion

FIRST, SECOND = record_schema(ID), record_schema(ID, NOTE_WITH_DEFAULT)
THIRD = record_schema(ID, NOTE_WITH_DEFAULT, {**NOTE_WITH_DEFAULT, "name": "total"})
DOLLAR = record_schema(ID).replace("Order", "Order$")  # a name that Avro 1.12 accepts and 1.11 does not
ONLY_SINCE_4_1 = [DOLLAR, record_schema(ID, {"name": "note", "type": ["null", "string"], "default": "x"})]
DIGIT = '{"type": "record", "name": "Order", "namespace": "shop.1x", "fields": []}'


async def govern(world: World, pulsar_version: str) -> None:
    status = at_broker({}, f"{pulsar_version}.0")
    await world.policy(schemaCompatibilityStrategy="BACKWARD", status=status)


async def test_the_pulsar_version_of_the_policy_s_registry_decides_for_the_very_next_review(world: World) -> None:
    for pulsar_version in ("4.1", "4.0", "4.2"):
        await govern(world, pulsar_version)
        for _ in range(2):
            assert (await world.create(DOLLAR)).is_allowed is (pulsar_version != "4.0")


@pytest.mark.parametrize(("release", "is_allowed"), [("4.0.7", True), ("4.1.3", False), ("77.0.0-M1", False)])
async def test_the_release_that_the_controller_observed_decides(
    world: World,
    release: str,
    is_allowed: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    await world.policy(status=at_broker({}, release))
    reply = await world.create(DIGIT)
    assert reply.is_allowed is is_allowed
    assert is_allowed or reply.rules == ["INVALID_NAME"]


async def test_the_newest_version_judges_in_the_operator_s_own_store(world: World) -> None:
    await world.policy()
    assert (await world.create(DOLLAR)).is_allowed
    assert (await world.create(DIGIT)).rules == ["INVALID_NAME"]


async def test_without_a_version_nothing_is_judged_and_the_warning_has_the_remedy(world: World) -> None:
    await world.policy(status=at_broker({}, None))
    (warning,) = (await world.create(DIGIT)).warnings
    assert warning.startswith("PulsarVersionUnknown: the broker of registry pulsar has not reported its version")
    assert "set spec.pulsar.version of the registry; admitted unjudged" in warning


async def test_where_no_strategy_can_be_known_nothing_is_judged_and_the_warning_has_the_remedy(world: World) -> None:
    status = at_broker({"broker": None})
    await world.policy(status=status)
    (warning,) = (await world.create(DIGIT)).warnings
    assert warning.startswith("StrategyUnknown: ")
    await world.policy(status=status, schemaCompatibilityStrategy="FULL")
    assert (await world.create(DOLLAR)).rules == ["INVALID_NAME"]


async def test_without_a_policy_only_a_text_that_no_pulsar_version_accepts_is_refused(world: World) -> None:
    assert (await world.create(DOLLAR)).warnings[0].startswith("PolicyNotFound: ")
    assert (await world.create(DOLLAR.replace("$", "-"))).rules == ["INVALID_NAME"]


async def test_an_edit_s_consequences_are_judged_by_the_pulsar_version_of_the_registry(world: World) -> None:
    await world.topic(DOLLAR, pulsar_version=PulsarVersion.V4_1)
    old = await world.policy(schemaCompatibilityStrategy="FULL")
    for version, is_read in (("4.1.3", True), ("4.0.7", False)):
        world.registry(pulsar=PULSAR, version=version)
        reply = await world.edit(old, schemaCompatibilityStrategy="BACKWARD")
        assert reply.is_allowed
        assert (reply.warnings == []) is is_read
    assert reply.warnings[0].startswith("1 of 1 topics examined would not pass")
    assert reply.warnings[1].startswith("TopicSchema created: INVALID_NAME at $.name: ")


async def test_a_stored_version_that_the_pulsar_version_cannot_read_stops_its_topic(world: World) -> None:
    await world.versions(DOLLAR, FIRST, SECOND, pulsar_version=PulsarVersion.V4_1)
    await govern(world, "4.2")
    assert (await world.create(THIRD)).is_allowed
    await govern(world, "4.0")  # its dedupe parses all versions, though BACKWARD compares with the latest alone
    (cause,) = (await world.create(THIRD)).causes
    assert "version 0 was registered under Pulsar 4.1 and does not parse under 4.0: INVALID_NAME" in cause["message"]


@pytest.mark.parametrize("schema", ONLY_SINCE_4_1)
async def test_an_adopted_version_that_4_0_cannot_read_stops_nothing_after_the_broker_is_4_1(
    world: World, schema: str
) -> None:
    await govern(world, "4.0")
    await world.adopt(avro(schema))
    assert (await world.create(FIRST)).rules == ["INVALID_HISTORY"]
    await govern(world, "4.1")
    for _ in range(2):
        same = await world.create(schema)
        assert (same.is_allowed, same.warnings) == (True, [])  # it is there already, letter by letter
        assert (await world.create(schema.replace('"string"', '"int"', 1))).rules == ["TYPE_MISMATCH"]


@pytest.mark.parametrize("schema", ONLY_SINCE_4_1)
async def test_an_edit_after_a_change_of_the_broker_s_version_has_no_warning_of_what_that_version_reads(
    world: World, schema: str
) -> None:
    world.registry(pulsar=PULSAR, version="4.1.3")
    await world.adopt(avro(schema), avro(schema + " "), claim=owner_of(world.resource(schema=schema)))
    old = await world.policy(status=at_broker({}), schemaCompatibilityStrategy="FULL")
    reply = await world.edit(old, schemaCompatibilityStrategy="BACKWARD")
    assert (reply.is_allowed, reply.warnings) == (True, [])
