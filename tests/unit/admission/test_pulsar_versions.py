"""Reviews under policies of brokers of several Pulsar versions, each with its own parser."""

import pytest

from support.kubernetes.admission import ID, NOTE_WITH_DEFAULT, World, avro, owner_of, record_schema
from topicschema.core.schemas import PulsarVersion

PULSAR = {"adminURL": "https://pulsar:8443"}
FIRST, SECOND = record_schema(ID), record_schema(ID, NOTE_WITH_DEFAULT)
THIRD = record_schema(ID, NOTE_WITH_DEFAULT, {**NOTE_WITH_DEFAULT, "name": "total"})
DOLLAR = record_schema(ID).replace("Order", "Order$")  # a name that Avro 1.12 accepts and 1.11 does not
ONLY_SINCE_4_1 = [DOLLAR, record_schema(ID, {"name": "note", "type": ["null", "string"], "default": "x"})]
DIGIT = '{"type": "record", "name": "Order", "namespace": "shop.1x", "fields": []}'


async def govern(world: World, pulsar_version: str) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD", brokerProfile={"pulsarVersion": pulsar_version})


async def test_the_policy_s_pulsar_version_decides_for_the_very_next_review(world: World) -> None:
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
    status = {"brokerRelease": {"release": release, "address": "pulsar:8443"}}
    for profile in ({}, {"pulsarVersion": "4.0"}):  # whatever the policy names
        await world.policy(pulsar=PULSAR, brokerProfile=profile, status=status)
        reply = await world.create(DIGIT)
        assert reply.is_allowed is is_allowed
        assert is_allowed or reply.rules == ["INVALID_NAME"]


@pytest.mark.parametrize(
    ("pulsar", "words"), [(PULSAR, "has not reported its version"), (None, "names no broker that reports its version")]
)
async def test_without_a_version_nothing_is_judged_and_the_warning_has_the_remedy(
    world: World, pulsar: dict[str, str] | None, words: str
) -> None:
    await world.policy(pulsar=pulsar, brokerProfile={})
    (warning,) = (await world.create(DIGIT)).warnings
    assert warning.startswith("PulsarVersionUnknown: ")
    assert (words in warning, "set spec.brokerProfile.pulsarVersion; admitted unjudged" in warning) == (True, True)


async def test_an_edit_that_names_no_version_or_another_than_the_broker_s_has_a_warning(world: World) -> None:
    world.namespace("shop", "shop/*")
    old = await world.policy(brokerProfile={}, status={"brokerRelease": {"release": "4.2.1", "address": "pulsar:8443"}})
    (warning,) = (await world.review({**old, "status": {}})).warnings
    assert warning.startswith("PulsarVersionUnknown: policy orders names no broker")
    warnings = (await world.edit(old, pulsar=PULSAR, brokerProfile={"pulsarVersion": "4.0"})).warnings
    assert warnings[0].startswith("PulsarVersionMismatch: the broker is 4.2.1, whose rules judge")


async def test_without_a_policy_only_a_text_that_no_pulsar_version_accepts_is_refused(world: World) -> None:
    assert (await world.create(DOLLAR)).warnings[0].startswith("PolicyNotFound: ")
    assert (await world.create(DOLLAR.replace("$", "-"))).rules == ["INVALID_NAME"]


async def test_a_change_to_a_pulsar_version_that_refuses_a_topic_s_schema_has_a_warning(world: World) -> None:
    world.namespace("shop", "shop/*")
    await world.topic(DOLLAR, pulsar_version=PulsarVersion.V4_1)
    old = await world.policy(brokerProfile={"pulsarVersion": "4.1"})
    reply = await world.edit(old, brokerProfile={"pulsarVersion": "4.0"})
    assert reply.is_allowed
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
async def test_an_adopted_version_that_4_0_cannot_read_stops_nothing_after_the_policy_names_4_1(
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
async def test_a_change_to_the_pulsar_version_of_the_broker_has_no_warning_of_what_that_version_reads(
    world: World, schema: str
) -> None:
    world.namespace("shop", "shop/*")
    await world.adopt(avro(schema), avro(schema + " "), claim=owner_of(world.resource(schema=schema)))
    reply = await world.edit(await world.policy(), brokerProfile={"pulsarVersion": "4.1"})
    assert (reply.is_allowed, reply.warnings) == (True, [])
