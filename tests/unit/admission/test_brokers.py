"""Reviews under policies that name a broker: judged by its settings, with warnings of the consequences."""

import json
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from support.kubernetes.admission import (
    ID,
    KEY,
    NOTE,
    NOTE_WITH_DEFAULT,
    OWN_STORE,
    TOPIC,
    V0,
    World,
    at_broker,
    avro,
    new_topic,
    owner_of,
    record_schema,
)
from support.kubernetes.api_server import Object
from topicschema.core.history import History, StoredTopicSettings
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

BACKWARD_ONLY, FORWARD_ONLY = record_schema(), record_schema(ID, NOTE)
WRONG_DEFAULT = record_schema(ID, {**NOTE, "default": None})
WARNING_BYTES = 240
OTHER = "persistent://shop/orders/other"
UNRECORDED = (
    "the broker's schemas of this topic are not recorded yet: if it has any, this resource is judged again after they "
    "are adopted"
)


async def govern(world: World, observed: dict[str, Any] | None = None, **spec: Any) -> None:
    """Store a policy whose broker has these settings, unless the controller has not read them yet."""
    await world.policy(**{"status": at_broker(observed), **spec})


def with_strategy(old: Object, value: str, source: str) -> Object:
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
async def test_the_broker_s_strategy_decides_if_the_policy_has_none(
    world: World, observed: dict[str, Any], words: str
) -> None:
    await govern(world, observed)
    await world.versions(V0)
    reply = await world.create(FORWARD_ONLY)
    assert reply.rules == ["FIELD_WITHOUT_DEFAULT"]
    assert words in reply.causes[0]["message"]
    assert (await world.create(BACKWARD_ONLY)).is_allowed


async def test_the_policy_s_strategy_comes_before_the_broker_s(world: World) -> None:
    await govern(world, {"schemaCompatibilityStrategy": "BACKWARD"}, schemaCompatibilityStrategy="FORWARD")
    await world.versions(V0)
    assert (await world.create(FORWARD_ONLY)).is_allowed
    assert "(set by policy orders)" in (await world.create(BACKWARD_ONLY)).causes[0]["message"]


async def test_before_the_broker_s_settings_are_read_the_policy_decides_with_a_warning(world: World) -> None:
    await govern(world, schemaCompatibilityStrategy="BACKWARD")
    await world.adopt(avro(V0))
    reply = await world.create(record_schema(ID, NOTE_WITH_DEFAULT))
    assert reply.warnings == [
        "policy orders has not read its broker's settings yet: judged by BACKWARD, and again after it has"
    ]
    assert not (await world.create(FORWARD_ONLY)).is_allowed
    assert (await world.create(V0, schemaCompatibilityStrategy="FULL")).warnings == []


async def test_a_strategy_that_the_broker_keeps_for_the_topic_counts_until_it_is_unset(world: World) -> None:
    await govern(world, {}, schemaCompatibilityStrategy="BACKWARD")
    old = with_strategy(world.resource(), "FORWARD", "Topic")
    await world.adopt(avro(V0), claim=owner_of(old))
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
    await govern(world, {}, schemaCompatibilityStrategy="BACKWARD")
    later = {**old, "metadata": {**old["metadata"], "generation": 2}}  # it may have named FORWARD until a moment ago
    assert not (await world.edit(later, schema=FORWARD_ONLY)).is_allowed


async def test_a_topic_s_original_strategy_counts_for_an_edit_that_removes_the_field_and_for_a_new_resource(
    world: World,
) -> None:
    await govern(world, {}, schemaCompatibilityStrategy="BACKWARD")
    old = with_strategy(world.resource(schemaCompatibilityStrategy="FULL"), "FULL", "Topic")
    await world.versions(V0, claim=owner_of(old))
    spec = {name: value for name, value in old["spec"].items() if name != "schemaCompatibilityStrategy"}
    edited = {**old, "spec": {**spec, "schema": FORWARD_ONLY}}
    assert not (await world.review(edited, old)).is_allowed
    stored = await world.storage.get_history(KEY)
    settings = StoredTopicSettings(TopicSettings(), TopicSettings(Strategy.FORWARD))
    unclaimed = History(KEY, None, 0, stored.history.entries, topic_settings=settings)
    stored = await world.storage.put(stored, unclaimed)
    assert not (await world.review(edited, old)).is_allowed  # the operator removes the strategy that it wrote
    settings = StoredTopicSettings(TopicSettings(Strategy.FORWARD), TopicSettings(Strategy.FULL))
    await world.storage.put(stored, replace(unclaimed, topic_settings=settings))
    assert (await world.review(edited, old)).is_allowed
    assert (await world.create(FORWARD_ONLY)).is_allowed
    judged = with_strategy({**old, "spec": spec}, "BACKWARD", "Namespace")
    assert not (await world.edit(judged, schema=FORWARD_ONLY)).is_allowed
    del judged["status"]["fingerprint"]  # as if its broker was down: the strategy is the last one that it had
    assert (await world.edit(judged, schema=FORWARD_ONLY)).is_allowed


async def test_a_version_of_the_broker_that_it_cannot_read_stops_every_schema_but_not_suspending(world: World) -> None:
    old = world.resource()
    await world.adopt(avro(WRONG_DEFAULT), claim=owner_of(old))
    await govern(world, {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"})
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
_NO_BROKER = {"status": OWN_STORE}
_OF_JAVA, _OF_PYTHON = ({"type": "STRING", "schema": text} for text in ("", "null"))
_DELETING = {"constraints": {"allowedDeletionPolicies": ["Delete"]}}
TOPIC_WARNINGS = [
    TopicWarning(_NO_BROKER, {}, {"schemaValidationEnforced": True}, "spec.schemaValidationEnforced has no effect"),
    TopicWarning({"managementPolicy": "Observe"}, {}, {}, "managementPolicy is Observe: nothing is registered"),
    TopicWarning(
        {},
        {"broker": {"schemaValidationEnforced": True}},
        {"schemaValidationEnforced": False},
        "spec.schemaValidationEnforced: false has no effect: the broker itself demands schemas of all producers",
    ),
    TopicWarning(
        _DELETING, {}, {"deletionPolicy": "Delete"}, "deletionPolicy is Delete: deleting this resource soft-deletes"
    ),
    TopicWarning(_LOCKED, {}, _OF_JAVA, _NOT_PYTHON),
    TopicWarning(_LOCKED, {}, _OF_PYTHON, f"clients may not add schemas, and Java {_STRING} leave schema out once"),
    TopicWarning({}, {**_LOCKED, "broker": {"isAllowAutoUpdateSchema": True}}, _OF_JAVA, _NOT_PYTHON),
    TopicWarning({}, {"broker": _LOCKED}, _OF_JAVA, _NOT_PYTHON),
]


@pytest.mark.parametrize("expected", TOPIC_WARNINGS)
async def test_an_edit_of_a_topic_has_a_warning_of_its_consequence_at_the_broker(
    world: World, expected: TopicWarning
) -> None:
    await govern(world, expected.observed, **expected.policy)
    spec = {"topic": TOPIC, "type": "AVRO", "schema": V0, **expected.topic}
    await world.adopt(SchemaInfo(SchemaType(spec["type"]), spec["schema"].encode()))
    (warning,) = (await world.review(new_topic(spec))).warnings
    assert warning.startswith(expected.words)
    assert len(warning.encode()) <= WARNING_BYTES


async def test_an_edit_without_effects_has_no_warning(world: World) -> None:
    for observed, policy in (
        (_LOCKED, {"isAllowAutoUpdateSchema": True}),
        ({"isAllowAutoUpdateSchema": True, "broker": _LOCKED}, {}),
        ({}, {}),
    ):
        await govern(world, observed, **policy)
        assert (await world.review(new_topic({"topic": OTHER, "type": "STRING"}))).warnings == [UNRECORDED]
    await govern(world, {"broker": {"schemaValidationEnforced": False}}, isAllowAutoUpdateSchema=False, **_DELETING)
    old = world.resource(deletionPolicy="Delete")
    await world.adopt(avro(V0), claim=owner_of(old))
    assert (await world.edit(old, schemaValidationEnforced=False)).warnings == []


# The message M of the file m, as a Java client writes it.
ENVELOPE = '{"fileDescriptorSet":"ChAKAW0iAwoBTWIGcHJvdG8z","rootMessageTypeName":"M","rootFileDescriptorName":"m"}'
OF_PYTHON = json.dumps(json.loads(ENVELOPE), indent=1)


@pytest.mark.parametrize(
    ("text", "refused"), [(ENVELOPE, ["Python"]), (OF_PYTHON, ["Java"]), (f" {ENVELOPE}", ["Java", "Python"])]
)
async def test_clients_that_send_another_text_of_the_same_message_are_named(
    world: World, text: str, refused: list[str]
) -> None:
    await govern(world, {}, isAllowAutoUpdateSchema=False)
    _, *warnings = (await world.review(new_topic({"topic": TOPIC, "type": "PROTOBUF_NATIVE", "schema": text}))).warnings
    assert warnings == [
        f"clients may not add schemas, and {clients} clients send another text for PROTOBUF_NATIVE than this one: "
        "where they produce, set schema to theirs once, so that both are registered"
        for clients in refused
    ]


async def test_clients_whose_texts_are_all_registered_are_not_named(world: World) -> None:
    await govern(world, {}, isAllowAutoUpdateSchema=False)
    await world.adopt(*(SchemaInfo(SchemaType.PROTOBUF_NATIVE, text.encode()) for text in (ENVELOPE, OF_PYTHON)))
    spec = {"topic": TOPIC, "type": "PROTOBUF_NATIVE", "schema": OF_PYTHON}
    assert (await world.review(new_topic(spec))).warnings == []


async def test_schemas_that_are_not_recorded_yet_may_be_at_the_broker(world: World) -> None:
    await govern(world, {})
    assert (await world.create()).warnings == [UNRECORDED]
    old = {**world.resource(), "status": {"versionCount": 3}}
    replaced, warning = (await world.edit(old, schema=record_schema(ID, NOTE_WITH_DEFAULT))).warnings
    assert replaced.startswith("this replaces an accepted edit that is not registered yet")
    assert warning == UNRECORDED


async def test_a_string_that_python_registered_is_the_topic_s_string(world: World) -> None:
    await govern(world, {"schemaCompatibilityStrategy": "ALWAYS_INCOMPATIBLE"})
    await world.adopt(SchemaInfo(SchemaType.STRING, b"null"))
    for _ in range(2):
        assert (await world.review(new_topic({"topic": TOPIC, "type": "STRING"}))).is_allowed
