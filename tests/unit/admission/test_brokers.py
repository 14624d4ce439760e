"""Reviews under policies that name a broker: judged by its state, with warnings of the consequences."""

import base64
import json
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet

from support.kubernetes.admission import (
    ID,
    NOTE,
    NOTE_WITH_DEFAULT,
    PROFILE,
    TOPIC,
    V0,
    World,
    new_topic,
    record_schema,
)
from support.kubernetes.api_server import Object
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.history import History, NumberedBy, Owner, StoredTopicSettings
from topicschema.core.imports import entry_of
from topicschema.core.remote import RemoteVersion, TopicSettings
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.protocol import Stored

KEY = TopicKey("pulsar", Topic.parse(TOPIC))
PULSAR = {"adminURL": "https://pulsar:8443"}
BACKWARD_ONLY, FORWARD_ONLY = record_schema(), record_schema(ID, NOTE)
WRONG_DEFAULT = record_schema(ID, {**NOTE, "default": None})
WARNING_BYTES = 240
OTHER = "persistent://shop/orders/other"
RECORDING = "the broker's schemas of this topic are not recorded yet: if it has any, this resource "
UNRECORDED = f"{RECORDING}is judged again after they are adopted"


async def governed(world: World, observed: dict[str, Any] | None = None, **spec: Any) -> Object:
    """A policy in force that names a broker, of which the controller saw this."""
    there = await world.policy(**{"pulsar": PULSAR, **spec})
    if observed is not None:
        there = world.api.put(
            NAMESPACE_SCHEMA_POLICY, "shop", "orders", {"spec": there["spec"], "status": {"observed": observed}}
        )
        await world.claim(Owner("shop", "orders", there["metadata"]["uid"]))
    return there


async def adopted(world: World, *infos: SchemaInfo, claim: Owner | None = None) -> None:
    """Put on record what the topic's broker had."""
    versions = (RemoteVersion(number, each, "2026-11-21T05:30:00Z") for number, each in enumerate(infos))
    entries = tuple(entry_of(each, PulsarVersion.V4_0) for each in versions)
    await world.storage.put(Stored(History(KEY)), History(KEY, claim, 0, entries, NumberedBy.BROKER), infos)


def avro(text: str) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, text.encode())


def seen_as(old: Object, value: str, source: str) -> Object:
    strategy = {"value": value, "source": source}
    return {**old, "status": {"observedGeneration": 1, "fingerprint": "sha256:00", "effectiveStrategy": strategy}}


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        ({"schemaCompatibilityStrategy": "BACKWARD"}, "BACKWARD (the Pulsar namespace's own at the broker) demands"),
        ({"schemaAutoUpdateCompatibilityStrategy": "Backward"}, "BACKWARD (the Pulsar namespace's own at the broker)"),
        ({"broker": {"schemaCompatibilityStrategy": "BACKWARD"}}, "BACKWARD (the broker's own) demands"),
    ],
)
async def test_what_was_seen_at_the_broker_decides_where_the_policy_says_nothing(
    world: World, observed: dict[str, Any], words: str
) -> None:
    await governed(world, observed)
    await world.versions(V0)
    reply = await world.create(FORWARD_ONLY)
    assert reply.rules == ["FIELD_WITHOUT_DEFAULT"]
    assert words in reply.causes[0]["message"]
    assert (await world.create(BACKWARD_ONLY)).is_allowed


async def test_what_the_policy_says_comes_first(world: World) -> None:
    await governed(world, {"schemaCompatibilityStrategy": "BACKWARD"}, schemaCompatibilityStrategy="FORWARD")
    await world.versions(V0)
    assert (await world.create(FORWARD_ONLY)).is_allowed
    assert "(set by policy orders)" in (await world.create(BACKWARD_ONLY)).causes[0]["message"]


async def test_a_broker_that_was_not_seen_yet_is_judged_by_the_policy_with_a_warning(world: World) -> None:
    await governed(world, brokerProfile={**PROFILE["brokerProfile"], "schemaCompatibilityStrategy": "BACKWARD"})
    await adopted(world, avro(V0))
    reply = await world.create(record_schema(ID, NOTE_WITH_DEFAULT))
    assert reply.warnings == [
        "policy orders has not read its broker's settings yet: judged by BACKWARD, and again after it has"
    ]
    assert not (await world.create(FORWARD_ONLY)).is_allowed
    assert (await world.create(V0, schemaCompatibilityStrategy="FULL")).warnings == []


async def test_a_strategy_that_the_broker_keeps_for_the_topic_counts_until_it_is_unset(world: World) -> None:
    await governed(world, {}, schemaCompatibilityStrategy="BACKWARD")
    old = seen_as(world.resource(), "FORWARD", "Topic")
    await adopted(world, avro(V0), claim=Owner("shop", "created", old["metadata"]["uid"]))
    reply = await world.edit(old, schema=FORWARD_ONLY)
    assert reply.is_allowed
    assert reply.warnings == [
        "the topic keeps its own strategy FORWARD at the broker; schemaCompatibilityStrategy: UNDEFINED removes it"
    ]
    refused = await world.edit(old, schema=BACKWARD_ONLY)
    assert "FORWARD (the topic's own at the broker) demands" in refused.causes[0]["message"]
    unset = await world.edit(old, schema=FORWARD_ONLY, schemaCompatibilityStrategy="UNDEFINED")
    assert "BACKWARD (set by policy orders)" in unset.causes[0]["message"]
    await world.policy(schemaCompatibilityStrategy="BACKWARD")  # without a broker
    assert not (await world.edit(old, schema=FORWARD_ONLY)).is_allowed
    await governed(world, {}, schemaCompatibilityStrategy="BACKWARD")
    later = {**old, "metadata": {**old["metadata"], "generation": 2}}  # it may have named FORWARD until a moment ago
    assert not (await world.edit(later, schema=FORWARD_ONLY)).is_allowed


async def test_the_strategy_that_a_topic_had_counts_for_the_edit_that_drops_another_and_for_a_resource_made_anew(
    world: World,
) -> None:
    await governed(world, {}, schemaCompatibilityStrategy="BACKWARD")
    old = seen_as(world.resource(schemaCompatibilityStrategy="FULL"), "FULL", "Topic")
    await world.versions(V0, claim=Owner("shop", "created", old["metadata"]["uid"]))
    dropped = {name: value for name, value in old["spec"].items() if name != "schemaCompatibilityStrategy"}
    edited = {**old, "spec": {**dropped, "schema": FORWARD_ONLY}}
    assert not (await world.review(edited, old)).is_allowed
    stored = await world.storage.get_history(KEY)
    settings = StoredTopicSettings(TopicSettings(), TopicSettings(Strategy.FORWARD))
    freed = History(KEY, None, 0, stored.history.entries, topic_settings=settings)
    stored = await world.storage.put(stored, freed)
    assert not (await world.review(edited, old)).is_allowed  # what was written is taken back
    settings = StoredTopicSettings(TopicSettings(Strategy.FORWARD), TopicSettings(Strategy.FULL))
    await world.storage.put(stored, replace(freed, topic_settings=settings))
    assert (await world.review(edited, old)).is_allowed
    assert (await world.create(FORWARD_ONLY)).is_allowed
    judged = seen_as({**old, "spec": dropped}, "BACKWARD", "Namespace")
    assert not (await world.edit(judged, schema=FORWARD_ONLY)).is_allowed
    del judged["status"]["fingerprint"]  # as where its broker was away: the strategy is what was seen before
    assert (await world.edit(judged, schema=FORWARD_ONLY)).is_allowed


async def test_a_version_of_the_broker_that_it_cannot_read_stops_every_schema_but_not_suspending(world: World) -> None:
    old = world.resource()
    owner = Owner("shop", "created", old["metadata"]["uid"])
    await adopted(world, avro(WRONG_DEFAULT), claim=owner)
    await governed(world, {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"})
    reply = await world.edit(old, schema=FORWARD_ONLY)
    assert reply.rules == ["INVALID_HISTORY"]
    assert reply.causes[0]["field"] == "spec.topic"
    assert "version 0 has a default that does not fit its field under Pulsar 4.0: " in reply.causes[0]["message"]
    assert "strategy" not in reply.causes[0]["message"].lower()
    assert (await world.edit(old, suspend=True)).is_allowed


class TopicWarning(NamedTuple):
    """A policy's spec, the state of its broker, a topic's spec, and the warning's first words."""

    policy: dict[str, Any]
    observed: dict[str, Any]
    topic: dict[str, Any]
    words: str


_STRING = "clients send another text for STRING than this one: where they produce,"
_NOT_PYTHON = f"clients may not add schemas, and Python {_STRING} set schema: 'null' once"
_LOCKED = {"isAllowAutoUpdateSchema": False}
TOPIC_WARNINGS = [
    TopicWarning(
        {"pulsar": None}, {}, {"schemaValidationEnforced": True}, "spec.schemaValidationEnforced has no effect"
    ),
    TopicWarning(
        {"pulsar": None}, {}, {"adoptionPolicy": "Refuse"}, "spec.adoptionPolicy has no effect: policy orders names"
    ),
    TopicWarning({"pulsar": None}, {}, {"managementPolicy": "Observe"}, "spec.managementPolicy has no effect"),
    TopicWarning({"managementPolicy": "Observe"}, {}, {}, "managementPolicy is Observe: nothing is registered"),
    TopicWarning({}, {}, {"managementPolicy": "Observe"}, "managementPolicy is Observe: nothing is registered"),
    TopicWarning(
        {},
        {"broker": {"schemaValidationEnforced": True}},
        {"schemaValidationEnforced": False},
        "spec.schemaValidationEnforced: false has no effect: the broker itself demands schemas of all producers",
    ),
    TopicWarning({}, {}, {"deletionPolicy": "Delete"}, "deletionPolicy is Delete: deleting this resource soft-deletes"),
    TopicWarning(_LOCKED, {}, {"type": "STRING", "schema": ""}, _NOT_PYTHON),
    TopicWarning(
        _LOCKED,
        {},
        {"type": "STRING", "schema": "null"},
        f"clients may not add schemas, and Java {_STRING} leave schema out once",
    ),
    TopicWarning(
        {}, {**_LOCKED, "broker": {"isAllowAutoUpdateSchema": True}}, {"type": "STRING", "schema": ""}, _NOT_PYTHON
    ),
    TopicWarning({}, {"broker": _LOCKED}, {"type": "STRING", "schema": ""}, _NOT_PYTHON),
]


@pytest.mark.parametrize("expected", TOPIC_WARNINGS)
async def test_an_edit_of_a_topic_has_a_warning_of_its_consequence_at_the_broker(
    world: World, expected: TopicWarning
) -> None:
    await governed(world, expected.observed, **expected.policy)
    spec = {"topic": TOPIC, "type": "AVRO", "schema": V0, **expected.topic}
    await adopted(world, SchemaInfo(SchemaType(spec["type"]), spec["schema"].encode()))
    (warning,) = (await world.review(new_topic(spec))).warnings
    assert warning.startswith(expected.words)
    assert len(warning.encode()) <= WARNING_BYTES


async def test_an_edit_without_effects_has_no_warning(world: World) -> None:
    for observed, policy in (
        (_LOCKED, {"isAllowAutoUpdateSchema": True}),
        ({"isAllowAutoUpdateSchema": True, "broker": _LOCKED}, {}),
        ({}, {}),
    ):
        await governed(world, observed, **policy)
        assert (await world.review(new_topic({"topic": OTHER, "type": "STRING"}))).warnings == [UNRECORDED]
    await governed(world, {"broker": {"schemaValidationEnforced": False}}, isAllowAutoUpdateSchema=False)
    old = world.resource(deletionPolicy="Delete")
    await adopted(world, avro(V0), claim=Owner("shop", "created", old["metadata"]["uid"]))
    plain = {"schemaValidationEnforced": False, "adoptionPolicy": "Refuse", "managementPolicy": "Manage"}
    assert (await world.edit(old, **plain)).warnings == []


ENVELOPE = json.dumps(
    {
        "fileDescriptorSet": base64.b64encode(
            FileDescriptorSet(
                file=[FileDescriptorProto(name="m", syntax="proto3", message_type=[DescriptorProto(name="M")])]
            ).SerializeToString()
        ).decode(),
        "rootMessageTypeName": "M",
        "rootFileDescriptorName": "m",
    },
    separators=(",", ":"),
)
OF_PYTHON = json.dumps(json.loads(ENVELOPE), indent=1)


@pytest.mark.parametrize(
    ("text", "shut_out"), [(ENVELOPE, ["Python"]), (OF_PYTHON, ["Java"]), (f" {ENVELOPE}", ["Java", "Python"])]
)
async def test_a_message_is_found_by_its_clients_spelling_alone(world: World, text: str, shut_out: list[str]) -> None:
    await governed(world, {}, isAllowAutoUpdateSchema=False)
    _, *warnings = (await world.review(new_topic({"topic": TOPIC, "type": "PROTOBUF_NATIVE", "schema": text}))).warnings
    assert warnings == [
        f"clients may not add schemas, and {clients} clients send another text for PROTOBUF_NATIVE than this one: "
        "where they produce, set schema to theirs once, so that both are registered"
        for clients in shut_out
    ]


async def test_clients_whose_texts_are_all_registered_are_not_refused(world: World) -> None:
    await governed(world, {}, isAllowAutoUpdateSchema=False)
    await adopted(world, *(SchemaInfo(SchemaType.PROTOBUF_NATIVE, text.encode()) for text in (ENVELOPE, OF_PYTHON)))
    spec = {"topic": TOPIC, "type": "PROTOBUF_NATIVE", "schema": OF_PYTHON}
    assert (await world.review(new_topic(spec))).warnings == []


async def test_schemas_that_are_not_recorded_yet_may_be_at_the_broker(world: World) -> None:
    await governed(world, {})
    assert (await world.create(adoptionPolicy="Adopt")).warnings == [UNRECORDED]
    assert (await world.create(adoptionPolicy="Refuse")).warnings == [f"{RECORDING}stops with AdoptionRefused"]
    old = {**world.resource(), "status": {"versionCount": 3}}
    replaced, warning = (await world.edit(old, schema=record_schema(ID, NOTE_WITH_DEFAULT))).warnings
    assert replaced.startswith("this replaces an accepted edit that is not registered yet")
    assert warning == UNRECORDED


async def test_a_string_that_python_registered_is_the_topic_s_string(world: World) -> None:
    await governed(world, {"schemaCompatibilityStrategy": "ALWAYS_INCOMPATIBLE"})
    await adopted(world, SchemaInfo(SchemaType.STRING, b"null"))
    for _ in range(2):
        assert (await world.review(new_topic({"topic": TOPIC, "type": "STRING"}))).is_allowed
