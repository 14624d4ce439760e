"""The review of a TopicSchema: its refusals, its warnings, and its reads."""

from collections.abc import Mapping
from typing import Any

import pytest

from support.kubernetes.admission import (
    ID,
    NOTE,
    NOTE_WITH_DEFAULT,
    TOPIC,
    V0,
    World,
    at_broker,
    new_topic,
    owner_of,
    record_schema,
)
from support.manifest_repository import UNJUDGED
from topicschema.api import FINALIZER
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.core.history import Owner
from topicschema.core.topics import PulsarNamespaceKey

COMPATIBLE = record_schema(ID, NOTE_WITH_DEFAULT)
INCOMPATIBLE = record_schema(ID, NOTE)
TWICE_INCOMPATIBLE = record_schema(ID, NOTE, {"name": "count", "type": "int"})
BACKWARD, TRANSITIVE, FORWARD, FULL = (
    {"schemaCompatibilityStrategy": name} for name in ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FULL")
)
IGNORED = "what Pulsar does not compare (docs, aliases, properties, spacing)"


@pytest.mark.parametrize(
    ("policy", "versions", "spec", "warnings"),
    [
        (BACKWARD, [], {}, []),
        (TRANSITIVE, [V0], {"schema": COMPATIBLE}, []),
        (
            BACKWARD,
            [V0, COMPATIBLE],
            {},
            ["this is version 0 again: no version is added, and version 1 stays the topic's latest"],
        ),
        (
            BACKWARD,
            [V0],
            {"schema": record_schema({**ID, "doc": "the order's number"})},
            [f"the schema equals version 0 but for {IGNORED}: what is stored stays as it was"],
        ),
        (
            {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"},
            [V0],
            {"schema": INCOMPATIBLE},
            ["nothing was checked: the strategy is ALWAYS_COMPATIBLE (set by policy orders)"],
        ),
    ],
)
async def test_an_edit_that_passes_is_allowed_with_its_warnings(
    world: World, policy: Mapping[str, Any], versions: list[str], spec: Mapping[str, Any], warnings: list[str]
) -> None:
    await world.policy(**policy)
    await world.versions(*versions)
    reply = await world.create(**spec)
    assert reply.is_allowed
    assert reply.warnings == warnings


@pytest.mark.parametrize(
    ("policy", "spec", "words"),
    [
        (FORWARD, {"schema": INCOMPATIBLE, **FULL}, "FULL (set by spec.schemaCompatibilityStrategy)"),
        (
            {"status": at_broker({"broker": BACKWARD})},
            {"schema": INCOMPATIBLE},
            "BACKWARD (the broker's own)",
        ),
        (FULL, {"type": "STRING", "schema": ""}, "TYPE_CHANGED: version 0 has type AVRO"),
    ],
)
async def test_a_refusal_names_the_strategy_and_its_source(
    world: World, policy: Mapping[str, Any], spec: Mapping[str, Any], words: str
) -> None:
    await world.policy(**policy)
    await world.versions(V0)
    assert words in (await world.create(**spec)).causes[0]["message"]


NULLABLE, NUMBERED = ({**NOTE, "type": ["null", each]} for each in ("string", "int"))


@pytest.mark.parametrize(
    ("strategy", "earlier", "field", "advice"),
    [
        (BACKWARD, NULLABLE, NOTE, "keep a union that has that branch"),
        (FORWARD, NOTE, NULLABLE, "leave that branch out of the union"),
    ],
)
async def test_the_advice_is_to_change_the_candidate(
    world: World, strategy: Mapping[str, Any], earlier: Mapping[str, Any], field: Mapping[str, Any], advice: str
) -> None:
    await world.policy(**strategy)
    await world.versions(record_schema(earlier))
    assert (await world.create(record_schema(field))).causes[0]["message"].endswith(f"; {advice}")


async def test_message_and_every_cause_stand_alone(world: World) -> None:
    await world.policy(**BACKWARD)
    await world.versions(V0)
    refusal = (await world.create(TWICE_INCOMPATIBLE)).refusal
    details = refusal["details"]
    assert (refusal["code"], refusal["reason"]) == (422, "Invalid")
    assert (details["name"], details["kind"], details["group"]) == ("created", "TopicSchema", "topicschema.io")
    assert {cause["field"] for cause in details["causes"]} == {"spec.schema"}
    places = [cause["message"].split(":")[0] for cause in details["causes"]]
    assert places == [f"FIELD_WITHOUT_DEFAULT at $.fields[{number}]" for number in (1, 2)]
    assert all(place in refusal["message"] for place in places)
    words = ("BACKWARD (set by policy orders)", "version 0", "consumers with this schema read", "give it a default")
    for text in (refusal["message"], *(cause["message"] for cause in details["causes"])):
        assert all(word in text for word in words)


async def test_every_broken_constraint_is_a_cause_at_its_field(world: World) -> None:
    limits = {"allowedTypes": ["JSON"], "requiredProperties": ["owner"], "allowedStrategies": ["FULL"]}
    await world.policy(constraints={**limits, "maxSchemaBytes": 10})
    reply = await world.create(**BACKWARD)
    assert [(cause["field"], rule) for cause, rule in zip(reply.causes, reply.rules, strict=True)] == [
        ("spec.type", "TYPE_NOT_ALLOWED"),
        ("spec.schemaCompatibilityStrategy", "STRATEGY_NOT_ALLOWED"),
        ("spec.properties", "PROPERTY_MISSING"),
        ("spec.schema", "SCHEMA_TOO_LARGE"),
    ]
    assert all("policy orders" in cause["message"] for cause in reply.causes)


async def test_a_topic_that_relaxes_its_policy_is_refused_with_the_policys_value(world: World) -> None:
    validation = {"mode": "Gate", "sample": {"percent": 50}}
    relaxed = {"mode": "Report", "tolerance": {"maxInvalidPerMillion": 5}, "sample": {"percent": 10}}
    await world.policy(**TRANSITIVE, validation=validation)
    reply = await world.create(**BACKWARD, validation=relaxed)
    assert [(cause["field"], rule) for cause, rule in zip(reply.causes, reply.rules, strict=True)] == [
        ("spec.schemaCompatibilityStrategy", "STRATEGY_NOT_ALLOWED"),
        ("spec.validation.mode", "VALIDATION_MODE_RELAXED"),
        ("spec.validation.tolerance.maxInvalidPerMillion", "VALIDATION_TOLERANCE_RELAXED"),
        ("spec.validation.sample.percent", "VALIDATION_SAMPLE_RELAXED"),
    ]
    for cause, value in zip(reply.causes, ("BACKWARD_TRANSITIVE", "Gate", "0", "50"), strict=True):
        assert value in cause["message"]
    await world.policy(**TRANSITIVE, validation=validation, constraints={"mayRelaxValidation": True})
    assert (await world.create(validation=relaxed)).is_allowed


async def test_a_topic_may_have_the_deletion_policy_delete_only_if_its_policy_lists_it(world: World) -> None:
    await world.policy()
    retained, deleted = world.resource(), world.resource(deletionPolicy="Delete")
    for reply in (await world.create(deletionPolicy="Delete"), await world.edit(retained, deletionPolicy="Delete")):
        assert [(cause["field"], rule) for cause, rule in zip(reply.causes, reply.rules, strict=True)] == [
            ("spec.deletionPolicy", "DELETION_POLICY_NOT_ALLOWED")
        ]
    assert (await world.edit(deleted, deletionPolicy="Retain")).warnings == []
    assert "DELETION_POLICY_NOT_ALLOWED" in (await world.edit(deleted, suspend=True)).warnings[0]
    await world.policy(constraints={"allowedDeletionPolicies": ["Retain", "Delete"]})
    assert (await world.edit(retained, deletionPolicy="Delete")).is_allowed


@pytest.mark.parametrize(("candidate", "reads"), [(INCOMPATIBLE, 1), (COMPATIBLE, 0)])
async def test_a_strategy_of_the_latest_version_reads_at_most_one_payload(
    world: World, candidate: str, reads: int
) -> None:
    await world.policy(**BACKWARD)
    await world.versions(V0, COMPATIBLE)
    world.api.requests.clear()
    assert (await world.create(candidate)).is_allowed
    assert sum("/schemaversions/" in request for request in world.api.requests) == reads
    await world.policy(**TRANSITIVE)
    assert (await world.create(candidate)).is_allowed is (candidate == COMPATIBLE)


async def test_without_a_policy_that_applies_an_edit_is_only_parsed(world: World) -> None:
    assert (await world.create("{")).rules == ["SYNTAX"]
    assert (await world.create()).warnings[0].startswith("PolicyNotFound: ")
    await world.policy(**BACKWARD)
    await world.versions(V0)
    await world.claim(None)
    assert "has not claimed shop/orders yet" in (await world.create(INCOMPATIBLE)).warnings[0]
    await world.claim(Owner("rival", "secret-name", "u"))
    (warning,) = (await world.create(INCOMPATIBLE)).warnings
    assert warning.startswith("TopicAlreadyClaimed: ")
    assert "rival" not in warning
    assert "secret-name" not in warning


async def test_an_edit_that_needs_no_judgment_is_admitted_by_itself_alone(world: World) -> None:
    constraints = {"requiredProperties": ["owner"], "allowedDeletionPolicies": ["Delete"]}
    await world.policy(**BACKWARD, constraints=constraints)
    await world.versions(V0)
    old = world.resource()
    for edit in UNJUDGED:
        assert not (await world.edit(old, schema=INCOMPATIBLE, **edit)).is_allowed
        reply = await world.edit(old, **edit)
        assert reply.is_allowed
        assert "PROPERTY_MISSING" in reply.warnings[0]


async def test_deletions_and_an_unchanged_spec_are_not_judged(world: World) -> None:
    old = world.resource(schema="not a schema")
    world.api.requests.clear()
    assert (await world.edit(old)).is_allowed
    assert (await world.review(None, old, "DELETE")).is_allowed
    deleting = {**old, "metadata": {**old["metadata"], "deletionTimestamp": "2026-11-21T05:30:00Z"}}
    assert (await world.edit(deleting, schema="no schema either")).is_allowed
    assert world.api.requests == []


async def test_a_new_policy_and_a_new_version_count_for_the_very_next_review(world: World) -> None:
    await world.policy("first", **BACKWARD)
    assert (await world.create(INCOMPATIBLE)).is_allowed
    await world.versions(V0)
    assert not (await world.create(INCOMPATIBLE)).is_allowed
    await world.policy("first", **FORWARD)
    assert (await world.create(INCOMPATIBLE)).is_allowed
    world.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "first")
    await world.policy("second", **BACKWARD)
    assert "set by policy second" in (await world.create(INCOMPATIBLE)).causes[0]["message"]


async def test_a_damaged_history_refuses_the_edit(world: World) -> None:
    await world.policy()
    await world.versions(V0)
    (key,) = await world.storage.list_topics(PulsarNamespaceKey("pulsar", "shop", "orders"))
    world.api.change(
        f"schemahistories/{world.storage.name_of(key)}", lambda wire: wire["spec"].update(versions=["rubbish"])
    )
    assert (await world.create()).rules == ["HistoryDamaged"]


async def test_one_mistake_for_several_versions_has_one_cause(world: World) -> None:
    await world.policy(**TRANSITIVE)
    numbered = {**ID, "type": "int"}
    await world.versions(*(record_schema(numbered, each) for each in (NULLABLE, NOTE_WITH_DEFAULT, NUMBERED)))
    (cause,) = (await world.create(record_schema({**ID, "type": "string"}))).causes
    assert cause["message"].startswith("TYPE_MISMATCH at $.fields[0].type: field 'id': version 2 has int where")
    assert (
        "demands that consumers with this schema read messages of versions 0 to 2; keep the earlier" in cause["message"]
    )


async def test_many_incompatibilities_are_capped_and_counted(world: World) -> None:
    await world.policy(**BACKWARD)
    await world.versions(V0)
    reply = await world.create(record_schema(ID, *({"name": f"f{number}", "type": "int"} for number in range(300))))
    assert len(reply.causes) == 101
    assert reply.causes[-1]["message"] == "and 200 more like these"
    assert len(reply.refusal["message"]) < 10_000
    assert " more" in reply.refusal["message"]


async def test_a_generated_name_is_judged_alike(world: World) -> None:
    await world.policy(**BACKWARD)
    await world.versions(V0)
    new = new_topic({"topic": TOPIC, "type": "AVRO", "schema": INCOMPATIBLE}, "created-x7k2p")
    assert (await world.review(new)).rules == ["FIELD_WITHOUT_DEFAULT"]


async def test_an_edit_of_a_topic_with_a_lost_or_older_history_has_a_warning(world: World) -> None:
    await world.policy()
    old = {**world.resource(), "status": {"observedGeneration": 1, "incarnation": 0, "versionCount": 3}}
    (warning, _) = (await world.edit(old, schema=COMPATIBLE)).warnings
    assert warning.startswith("HistoryLost: the status has 3 versions, the history none; admitted unjudged")
    await world.versions(V0, claim=owner_of(old))
    (warning,) = (await world.edit(old, schema=COMPATIBLE)).warnings
    assert warning.startswith("HistoryLost: the status has 3 versions, the history 1; admitted judged by those alone")
    restored = {**old, "status": {**old["status"], "versionCount": 1}}
    assert (await world.edit(restored, schema=COMPATIBLE)).warnings == []


async def test_an_edit_of_a_topic_that_its_broker_lost_is_answered_with_that_first(world: World) -> None:
    await world.policy(status=at_broker({}))
    lost = "the broker has no schema of it any more, which topic shop/orders/created had"
    stalled = {"type": "Stalled", "status": "True", "reason": "HistoryLost", "message": lost}
    old = {**world.resource(), "status": {"observedGeneration": 1, "conditions": [stalled]}}
    await world.versions(V0, claim=owner_of(old))
    refused = await world.edit(old, type="STRING", schema="")
    assert refused.rules == ["HistoryLost", "TYPE_CHANGED"]
    assert refused.causes[0]["message"] == f"HistoryLost: {lost}"
    assert (await world.edit(old, schema=COMPATIBLE)).warnings[0] == f"HistoryLost: {lost}"


def deleting(finalizer: str) -> dict[str, Any]:
    return {"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z", "finalizers": [finalizer]}}


@pytest.mark.parametrize(
    ("namespace", "members", "uid", "is_allowed"),
    [
        ("shop", {}, None, False),
        ("rival", {}, None, True),  # its namespace does not govern the topic
        ("shop", deleting("alice.example/never"), None, True),
        ("shop", deleting(FINALIZER), None, False),
        ("shop", {}, "uid-of-the-deleted-one", True),
        ("shop", None, "uid-of-the-deleted-one", True),
    ],
)
async def test_another_holder_of_the_topic_refuses_the_edit(
    world: World, namespace: str, members: dict[str, Any] | None, uid: str | None, *, is_allowed: bool
) -> None:
    await world.policy()
    holder = None if members is None else world.api.put(TOPIC_SCHEMA, namespace, "first", members)
    await world.versions(V0, claim=Owner(namespace, "first", uid or (holder or {})["metadata"]["uid"]))
    reply = await world.create()
    assert reply.is_allowed is is_allowed
    if not is_allowed:
        assert reply.causes[0]["field"] == "spec.topic"
        assert "TopicSchema first already holds this topic" in reply.causes[0]["message"]


async def test_the_holder_itself_may_edit(world: World) -> None:
    await world.policy(**BACKWARD)
    assert (await world.edit(await world.topic(V0), schema=COMPATIBLE)).is_allowed
