"""The review of a NamespaceSchemaPolicy."""

import json
import sys
from typing import Any

import pytest

from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, V0, World, new_policy, owner_of, record_schema
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.history import Owner

# Under FORWARD this may follow version 0, under BACKWARD it may not.
FORWARD_ONLY = record_schema(ID, NOTE)


@pytest.fixture
def shop(world: World) -> World:
    """Return a world whose namespace may claim shop/*."""
    world.namespace("shop", "elsewhere/*, shop/*")
    return world


async def test_a_namespace_may_claim_what_its_annotation_allows(shop: World) -> None:
    reply = await shop.review(new_policy())
    assert reply.is_allowed
    assert reply.warnings == []


@pytest.mark.parametrize("globs", [None, "", "shop/other", "*", "elsewhere/*", "sho/*"])
async def test_a_claim_that_the_annotation_does_not_allow_is_refused_with_the_remedy(
    world: World, globs: str | None
) -> None:
    world.namespace("shop", globs)
    reply = await world.review(new_policy())
    assert [cause["field"] for cause in reply.causes] == ["spec.pulsarNamespace"]
    message = reply.causes[0]["message"]
    assert message.startswith("ClaimNotAllowed: ")
    assert "ask a cluster admin" in message
    assert "topicschema.io/pulsar-namespaces" in message


async def test_an_annotation_removed_later_does_not_block_edits_of_the_policy(world: World) -> None:
    world.namespace("shop", None)
    reply = await world.edit(await world.policy(), schemaCompatibilityStrategy="FULL")
    assert reply.is_allowed
    assert reply.warnings[0].startswith("ClaimNotAllowed: ")


async def test_a_pulsar_namespace_that_another_team_governs_is_refused_without_their_names(shop: World) -> None:
    shop.namespace("rival", "shop/*")
    await shop.claim(owner_of(shop.api.put(NAMESPACE_SCHEMA_POLICY, "rival", "secret-name", {"spec": {}})))
    reply = await shop.review(new_policy())
    assert reply.rules == ["TopicAlreadyClaimed"]
    assert "rival" not in reply.text
    assert "secret-name" not in reply.text


DELETING = {"deletionTimestamp": "2026-11-20T00:00:00Z", "finalizers": ["alice.example/never"]}


@pytest.mark.parametrize(
    ("globs", "metadata"), [("", {}), ("rival/*", {}), (None, {}), ("shop/*", DELETING), ("shop/*", None)]
)
async def test_an_invalid_claim_of_another_team_is_free(
    shop: World, globs: str | None, metadata: dict[str, Any] | None
) -> None:
    shop.namespace("rival", globs)
    owner = Owner("rival", "secret-name", "uid")
    if metadata is not None:
        wire = {"metadata": metadata, "spec": {}}
        owner = owner_of(shop.api.put(NAMESPACE_SCHEMA_POLICY, "rival", "secret-name", wire))
    await shop.claim(owner)
    assert (await shop.review(new_policy())).is_allowed


async def test_a_second_policy_of_the_namespace_is_refused_with_the_first_one_s_name(shop: World) -> None:
    await shop.policy("first")
    reply = await shop.review(new_policy(pulsarCluster="another"))
    assert reply.rules == ["TopicAlreadyClaimed"]
    assert "policy first" in reply.causes[0]["message"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"pulsarNamespace": "a/b/c"}, "spec.pulsarNamespace"),
        ({"brokerProfile": {"pulsarVersion": "3.0"}}, "spec.brokerProfile.pulsarVersion"),
        ({"constraints": {"allowedTypes": ["AVRO", "THRIFT"]}}, "spec.constraints.allowedTypes[1]"),
    ],
)
async def test_a_policy_that_bypassed_the_crd_is_refused_at_its_field(
    shop: World, spec: dict[str, Any], field: str
) -> None:
    assert [cause["field"] for cause in (await shop.review(new_policy(**spec))).causes] == [field]


async def test_a_stricter_strategy_warns_of_topics_whose_history_would_not_pass(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="FORWARD")
    await shop.topic(V0, record_schema(ID, NOTE_WITH_DEFAULT), name="fine")
    await shop.topic(V0, FORWARD_ONLY, name="broken")
    await shop.topic(V0, FORWARD_ONLY, name="own", schemaCompatibilityStrategy="FORWARD")
    await shop.versions(V0, FORWARD_ONLY, topic="persistent://shop/orders/without-a-resource")
    constraints = {"allowedStrategies": ["FORWARD"]}
    reply = await shop.edit(old, schemaCompatibilityStrategy="BACKWARD", constraints=constraints)
    assert reply.is_allowed
    total, broken = reply.warnings
    assert total.startswith("1 of 3 topics examined would not pass (namespace strategy BACKWARD)")
    assert broken.startswith("TopicSchema broken: FIELD_WITHOUT_DEFAULT at $.fields[1] after version 0")


async def test_constraints_that_existing_topics_break_have_a_warning(shop: World) -> None:
    old = await shop.policy()
    await shop.topic(V0, name="anonymous")
    await shop.topic(V0, name="owned", properties={"owner": "team-a"})
    reply = await shop.edit(old, constraints={"requiredProperties": ["owner"]})
    assert reply.is_allowed
    _, anonymous = reply.warnings
    assert anonymous.startswith("TopicSchema anonymous: PROPERTY_MISSING at spec.properties")


async def test_topics_beyond_the_first_two_hundred_are_counted_as_not_examined(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicschema.admission.policies._MAX_SECONDS", 60.0)  # on a busy machine two are not enough
    old = await shop.policy()
    for number in range(203):
        await shop.topic(V0, name=f"t{number:03}")
    shop.api.requests.clear()
    shop.api.largest = 0
    reply = await shop.edit(old, constraints={"requiredProperties": ["owner"]})
    assert sum("/schemahistories/" in request for request in shop.api.requests) == 200
    assert shop.api.largest < 203 * 500  # of a history, its metadata has some 400 bytes
    assert reply.warnings[0].startswith("200 of 200 topics examined would not pass")
    assert reply.warnings[1].startswith("3 of 203 recorded topics were not examined")
    assert reply.warnings[-1] == "and 190 more topics"


async def test_topics_beyond_the_time_limit_are_counted_as_not_examined(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicschema.admission.policies._MAX_SECONDS", 0.0)
    old = await shop.policy()
    await shop.topic(V0)
    reply = await shop.edit(old, constraints={"requiredProperties": ["owner"]})
    assert reply.is_allowed
    assert reply.warnings == ["no topic was examined within 0 seconds; see the policy's status later"]


async def test_an_edit_that_changes_no_verdict_examines_nothing(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="FULL")
    await shop.topic(V0, FORWARD_ONLY)
    reply = await shop.edit(old, brokerProfile={"pulsarVersion": "4.0"})
    assert reply.is_allowed
    assert reply.warnings == []


async def test_a_pulsar_version_that_cannot_read_a_stored_version_has_a_warning(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="BACKWARD")
    texts = [json.dumps({"type": "record", "name": "R", "namespace": each, "fields": []}) for each in ("a.b-c", "a.b")]
    await shop.topic(*texts)
    reply = await shop.edit(old, brokerProfile={"pulsarVersion": "4.1"})
    assert reply.is_allowed
    total, reason = reply.warnings
    assert total.startswith("1 of 1 topics examined would not pass")
    assert (
        "INVALID_HISTORY at $ after version 0: version 0 was registered under Pulsar 4.0 and does not parse under 4.1: "
        "INVALID_NAME" in reason
    )


async def test_a_topic_whose_sources_cannot_be_compiled_now_has_a_warning_and_blocks_nothing(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {"message": "Order", "files": {"order.proto": 'syntax = "proto3"; message Order {}'}}
    await shop.topic(V0, type="PROTOBUF_NATIVE", schema="", protobuf=sources)
    old = await shop.policy()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    reply = await shop.edit(old, schemaCompatibilityStrategy="FORWARD")
    assert reply.is_allowed
    assert reply.warnings[1].startswith("TopicSchema created: CompilerUnavailable at $: the compiler cannot be started")
