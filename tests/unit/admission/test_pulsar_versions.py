"""Reviews under policies of brokers of other Pulsar versions: what is a schema there need be none elsewhere."""

import pytest

from support.kubernetes.admission import ID, NOTE_WITH_DEFAULT, TOPIC, World, record_schema
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core import formats
from topicschema.core.history import Flaw, History, NumberedBy, Origin, Owner
from topicschema.core.imports import entry_of
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.protocol import Stored

FIRST, SECOND = record_schema(ID), record_schema(ID, NOTE_WITH_DEFAULT)
THIRD = record_schema(ID, NOTE_WITH_DEFAULT, {**NOTE_WITH_DEFAULT, "name": "total"})
DOLLAR = record_schema(ID).replace("Order", "Order$")  # a name that Avro 1.12 takes and 1.11 does not
ONLY_SINCE_4_1 = [DOLLAR, record_schema(ID, {"name": "note", "type": ["null", "string"], "default": "x"})]


async def govern(world: World, pulsar_version: str) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD", brokerProfile={"pulsarVersion": pulsar_version})


async def test_the_policy_s_line_decides_for_the_very_next_review(world: World) -> None:
    for pulsar_version in ("4.1", "4.0", "4.2"):
        await govern(world, pulsar_version)
        for _ in range(2):
            assert (await world.create(DOLLAR)).is_allowed is (pulsar_version != "4.0")


PULSAR = {"adminURL": "https://pulsar:8443"}
DIGIT = '{"type": "record", "name": "Order", "namespace": "shop.1x", "fields": []}'


@pytest.mark.parametrize(("release", "is_allowed"), [("4.0.7", True), ("4.1.3", False), ("77.0.0-M1", False)])
async def test_the_release_that_the_controller_observed_decides(
    world: World,
    release: str,
    is_allowed: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    for profile in ({}, {"pulsarVersion": "4.0"}):  # whatever the policy names
        wire = await world.policy(pulsar=PULSAR, brokerProfile=profile)
        seen = {"release": release, "address": "pulsar:8443"}
        members = {"spec": wire["spec"], "status": {"brokerRelease": seen}}
        there = world.api.put(NAMESPACE_SCHEMA_POLICY, "shop", "orders", members)
        await world.claim(Owner("shop", "orders", there["metadata"]["uid"]))
        reply = await world.create(DIGIT)
        assert reply.is_allowed is is_allowed
        assert is_allowed or reply.rules == ["INVALID_NAME"]


@pytest.mark.parametrize(
    ("pulsar", "words"), [(PULSAR, "has not reported its version"), (None, "names no broker that reports its version")]
)
async def test_without_a_version_nothing_is_judged_and_the_warning_says_what_to_set(
    world: World, pulsar: dict[str, str] | None, words: str
) -> None:
    await world.policy(**({} if pulsar is None else {"pulsar": pulsar}), brokerProfile={})
    (warning,) = (await world.create(DIGIT)).warnings
    assert warning.startswith("PulsarVersionUnknown: ")
    assert (words in warning, "set spec.brokerProfile.pulsarVersion; admitted unjudged" in warning) == (True, True)


async def test_an_edit_that_names_no_version_or_another_than_the_broker_s_is_warned_of(world: World) -> None:
    world.namespace("shop", "shop/*")
    wire = await world.policy(brokerProfile={})
    (warning,) = (await world.review(wire, None)).warnings
    assert warning.startswith("PulsarVersionUnknown: policy orders names no broker")
    status = {"brokerRelease": {"release": "4.2.1", "address": "pulsar:8443"}}
    spec = {**wire["spec"], "pulsar": PULSAR, "brokerProfile": {"pulsarVersion": "4.0"}}
    new = {**wire, "spec": spec, "status": status}
    warnings = (await world.review(new, {**wire, "status": status})).warnings
    assert warnings[0].startswith("PulsarVersionMismatch: the broker is 4.2.1, whose rules judge")


async def test_without_a_policy_only_what_no_line_takes_is_refused(world: World) -> None:
    assert (await world.create(DOLLAR)).warnings[0].startswith("PolicyNotFound: ")
    assert (await world.create(DOLLAR.replace("$", "-"))).rules == ["INVALID_NAME"]


async def test_a_policy_that_moves_to_a_line_that_does_not_take_a_topic_is_warned_of(world: World) -> None:
    world.namespace("shop", "shop/*")
    await govern(world, "4.1")
    resource = world.resource(schema=DOLLAR)
    stored = await world.storage.get_history(TopicKey("pulsar", Topic.parse(TOPIC)))
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, DOLLAR.encode()), PulsarVersion.V4_1)
    history = stored.history.with_version(schema, Origin.SPEC, "2026-11-21T05:30:00Z")
    await world.storage.put(
        stored, history.claimed_by(Owner("shop", "created", resource["metadata"]["uid"])), (schema.info,)
    )
    old = await world.policy(brokerProfile={"pulsarVersion": "4.1"})
    reply = await world.review({**old, "spec": {**old["spec"], "brokerProfile": {"pulsarVersion": "4.0"}}}, old)
    assert reply.is_allowed
    assert reply.warnings[0].startswith("1 of 1 topics examined would not pass")
    assert reply.warnings[1].startswith("TopicSchema created: INVALID_NAME at $.name: ")


async def test_a_version_that_the_line_cannot_read_stops_its_topic(world: World) -> None:
    stored = await world.storage.get_history(TopicKey("pulsar", Topic.parse(TOPIC)))
    for text in (DOLLAR, FIRST, SECOND):
        schema = formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()), PulsarVersion.V4_1)
        history = stored.history.with_version(schema, Origin.SPEC, "2026-11-21T05:30:00Z").parsed_by(PulsarVersion.V4_1)
        stored = await world.storage.put(stored, history, (schema.info,))
    await govern(world, "4.2")
    assert (await world.create(THIRD)).is_allowed
    await govern(world, "4.0")  # its dedupe parses all versions, though BACKWARD compares with the latest alone
    (cause,) = (await world.create(THIRD)).causes
    assert "version 0 was registered under Pulsar 4.1 and does not parse under 4.0: INVALID_NAME" in cause["message"]


async def adopted(world: World, *texts: str, claim: Owner | None = None) -> None:
    """Put on record what the topic's broker had, as a policy of 4.0 reads it."""
    key, infos = TopicKey("pulsar", Topic.parse(TOPIC)), [SchemaInfo(SchemaType.AVRO, text.encode()) for text in texts]
    versions = (RemoteVersion(number, each, "2026-11-21T05:30:00Z") for number, each in enumerate(infos))
    entries = tuple(entry_of(each, PulsarVersion.V4_0) for each in versions)
    assert all(entry.flaw is not Flaw.NONE for entry in entries)
    await world.storage.put(Stored(History(key)), History(key, claim, 0, entries, NumberedBy.BROKER), infos)


@pytest.mark.parametrize("left", ONLY_SINCE_4_1)
async def test_what_an_earlier_line_could_not_read_stops_nothing_once_the_policy_names_the_broker_s(
    world: World, left: str
) -> None:
    await govern(world, "4.0")
    await adopted(world, left)
    assert (await world.create(FIRST)).rules == ["INVALID_HISTORY"]
    await govern(world, "4.1")
    for _ in range(2):
        same = await world.create(left)
        assert (same.is_allowed, same.warnings) == (True, [])  # it is there already, letter by letter
        assert (await world.create(left.replace('"string"', '"int"', 1))).rules == ["TYPE_MISMATCH"]


@pytest.mark.parametrize("left", ONLY_SINCE_4_1)
async def test_a_policy_that_moves_to_the_line_of_its_broker_is_not_warned_of_what_that_line_reads(
    world: World, left: str
) -> None:
    world.namespace("shop", "shop/*")
    resource = world.resource(schema=left)
    await adopted(world, left, left + " ", claim=Owner("shop", "created", resource["metadata"]["uid"]))
    old = await world.policy()
    reply = await world.review({**old, "spec": {**old["spec"], "brokerProfile": {"pulsarVersion": "4.1"}}}, old)
    assert (reply.is_allowed, reply.warnings) == (True, [])
