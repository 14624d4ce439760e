"""The review of a NamespaceSchemaPolicy."""

import json
import sys
from typing import Any

import pytest

from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, PROFILE, V0, World, record_schema
from support.kubernetes.api_server import Object
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.history import Owner

# Under FORWARD this may follow version 0, under BACKWARD it may not.
FORWARD_ONLY = record_schema(ID, NOTE)


def wanted_policy(name: str = "orders", **spec: Any) -> Object:
    members = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", **PROFILE, **spec}
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "generation": 1}
    return {"kind": "NamespaceSchemaPolicy", "metadata": metadata, "spec": members}


async def topic(world: World, name: str, *texts: str, **spec: Any) -> None:
    """A TopicSchema that holds its topic, with these versions on record."""
    address = f"persistent://shop/orders/{name}"
    there = world.resource(name, topic=address, schema=texts[-1], **spec)
    await world.versions(*texts, claim=Owner("shop", name, there["metadata"]["uid"]), topic=address)


@pytest.fixture
def shop(world: World) -> World:
    """The namespace may claim shop/*."""
    world.namespace("shop", "elsewhere/*, shop/*")
    return world


async def test_a_namespace_may_claim_what_its_annotation_allows(shop: World) -> None:
    reply = await shop.review(wanted_policy())
    assert reply.is_allowed
    assert reply.warnings == []


@pytest.mark.parametrize("globs", [None, "", "shop/other", "*", "elsewhere/*", "sho/*"])
async def test_what_the_annotation_does_not_allow_is_refused_in_words_that_tell_whom_to_ask(
    world: World, globs: str | None
) -> None:
    world.namespace("shop", globs)
    reply = await world.review(wanted_policy())
    assert [cause["field"] for cause in reply.causes] == ["spec.pulsarNamespace"]
    message = reply.causes[0]["message"]
    assert message.startswith("ClaimNotAllowed: ")
    assert "ask a cluster admin" in message
    assert "topicschema.io/pulsar-namespaces" in message


async def test_an_annotation_taken_away_later_does_not_block_edits_of_the_policy(world: World) -> None:
    world.namespace("shop", None)
    old = await world.policy()
    reply = await world.edit(old, schemaCompatibilityStrategy="FULL")
    assert reply.is_allowed
    assert reply.warnings[0].startswith("ClaimNotAllowed: ")


async def test_a_pulsar_namespace_that_another_team_governs_is_refused_without_their_names(shop: World) -> None:
    shop.namespace("rival", "shop/*")
    there = shop.api.put(NAMESPACE_SCHEMA_POLICY, "rival", "secret-name", {"spec": {}})
    await shop.claim(Owner("rival", "secret-name", there["metadata"]["uid"]))
    reply = await shop.review(wanted_policy())
    assert reply.rules == ["TopicAlreadyClaimed"]
    assert "rival" not in reply.text
    assert "secret-name" not in reply.text


LEAVING = {"deletionTimestamp": "2026-11-20T00:00:00Z", "finalizers": ["alice.example/never"]}


@pytest.mark.parametrize(
    ("globs", "metadata"), [("", {}), ("rival/*", {}), (None, {}), ("shop/*", LEAVING), ("shop/*", None)]
)
async def test_an_invalid_claim_of_another_team_is_free(
    shop: World, globs: str | None, metadata: dict[str, Any] | None
) -> None:
    shop.namespace("rival", globs)
    uid = "uid"
    if metadata is not None:
        wire = {"metadata": metadata, "spec": {}}
        uid = shop.api.put(NAMESPACE_SCHEMA_POLICY, "rival", "secret-name", wire)["metadata"]["uid"]
    await shop.claim(Owner("rival", "secret-name", uid))
    assert (await shop.review(wanted_policy())).is_allowed


async def test_a_second_policy_of_the_namespace_is_refused_with_the_first_one_s_name(shop: World) -> None:
    await shop.policy("first")
    reply = await shop.review(wanted_policy(pulsarCluster="another"))
    assert reply.rules == ["TopicAlreadyClaimed"]
    assert "policy first" in reply.causes[0]["message"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"pulsarNamespace": "shop"}, "spec.pulsarNamespace"),
        ({"pulsarNamespace": "a/b/c"}, "spec.pulsarNamespace"),
        ({"pulsarCluster": 7}, "spec.pulsarCluster"),
        ({"schemaCompatibilityStrategy": "full"}, "spec.schemaCompatibilityStrategy"),
        ({"brokerProfile": {"pulsarVersion": "3.0"}}, "spec.brokerProfile.pulsarVersion"),
        ({"constraints": {"maxSchemaBytes": "many"}}, "spec.constraints.maxSchemaBytes"),
        ({"constraints": {"allowedTypes": ["AVRO", "THRIFT"]}}, "spec.constraints.allowedTypes[1]"),
    ],
)
async def test_a_policy_that_bypassed_the_crd_is_refused_at_its_field(
    shop: World, spec: dict[str, Any], field: str
) -> None:
    reply = await shop.review(wanted_policy(**spec))
    assert [cause["field"] for cause in reply.causes] == [field]


async def test_a_stricter_strategy_warns_of_topics_whose_history_would_not_pass(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="FORWARD")
    await topic(shop, "fine", V0, record_schema(ID, NOTE_WITH_DEFAULT))
    await topic(shop, "broken", V0, FORWARD_ONLY)
    reply = await shop.edit(old, schemaCompatibilityStrategy="BACKWARD")
    assert reply.is_allowed
    assert reply.warnings[0].startswith("1 of 2 topics examined would not pass (namespace strategy BACKWARD)")
    assert reply.warnings[1].startswith("TopicSchema broken: FIELD_WITHOUT_DEFAULT at $.fields[1] after version 0")
    assert len(reply.warnings) == 2


async def test_a_topic_with_a_strategy_of_its_own_is_judged_by_that(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="FORWARD")
    await topic(shop, "own", V0, FORWARD_ONLY, schemaCompatibilityStrategy="FORWARD")
    assert (await shop.edit(old, schemaCompatibilityStrategy="BACKWARD")).warnings == []


async def test_constraints_that_existing_topics_break_are_warned_of(shop: World) -> None:
    old = await shop.policy()
    await topic(shop, "anonymous", V0)
    await topic(shop, "owned", V0, properties={"owner": "team-a"})
    reply = await shop.edit(old, constraints={"requiredProperties": ["owner"]})
    assert reply.is_allowed
    assert reply.warnings[1].startswith("TopicSchema anonymous: PROPERTY_MISSING at spec.properties")
    assert len(reply.warnings) == 2


async def test_histories_that_no_resource_holds_any_more_are_nobody_s_concern(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="FORWARD")
    await shop.versions(V0, FORWARD_ONLY)
    assert (await shop.edit(old, schemaCompatibilityStrategy="BACKWARD")).warnings == []


async def test_topics_beyond_the_first_two_hundred_are_counted_as_not_examined(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicschema.admission.policies._MAX_SECONDS", 60.0)  # on a busy machine two are not enough
    old = await shop.policy()
    for number in range(203):
        await topic(shop, f"t{number:03}", V0)
    shop.api.requests.clear()
    shop.api.largest = 0
    reply = await shop.edit(old, constraints={"requiredProperties": ["owner"]})
    assert sum("/schemahistories/" in request for request in shop.api.requests) == 200
    assert shop.api.largest < 203 * 500  # of a history, its metadata has some 400 bytes
    assert reply.warnings[0].startswith("200 of 200 topics examined would not pass")
    assert reply.warnings[1].startswith("3 of 203 recorded topics were not examined")
    assert reply.warnings[-1] == "and 190 more topics"


async def test_topics_that_there_is_no_time_for_are_counted_as_not_examined(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicschema.admission.policies._MAX_SECONDS", 0.0)
    old = await shop.policy()
    await topic(shop, "created", V0)
    reply = await shop.edit(old, constraints={"requiredProperties": ["owner"]})
    assert reply.is_allowed
    assert reply.warnings == ["no topic was examined within 0 seconds; see the policy's status later"]


async def test_an_edit_that_changes_no_judgement_examines_nothing(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="FULL")
    await topic(shop, "broken", V0, FORWARD_ONLY)
    reply = await shop.edit(old, brokerProfile={"pulsarVersion": "4.0"})
    assert reply.is_allowed
    assert reply.warnings == []


async def test_a_line_that_cannot_read_a_version_on_record_is_warned_of(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="BACKWARD")
    texts = [json.dumps({"type": "record", "name": "R", "namespace": each, "fields": []}) for each in ("a.b-c", "a.b")]
    await topic(shop, "created", *texts)
    reply = await shop.review({**old, "spec": {**old["spec"], "brokerProfile": {"pulsarVersion": "4.1"}}}, old)
    assert reply.is_allowed
    assert reply.warnings[0].startswith("1 of 1 topics examined would not pass")
    assert (
        "INVALID_HISTORY at $ after version 0: version 0 was registered under Pulsar 4.0 and does not parse under 4.1: "
        "INVALID_NAME" in reply.warnings[1]
    )


async def test_a_topic_whose_sources_cannot_be_compiled_now_is_told_of_and_blocks_nothing(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {"message": "Order", "files": {"order.proto": 'syntax = "proto3"; message Order {}'}}
    there = shop.resource("created", type="PROTOBUF_NATIVE", schema="", protobuf=sources)
    await shop.versions(V0, claim=Owner("shop", "created", there["metadata"]["uid"]))
    old = await shop.policy()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    reply = await shop.edit(old, schemaCompatibilityStrategy="FORWARD")
    assert reply.is_allowed
    assert reply.warnings[1].startswith("TopicSchema created: CompilerUnavailable at $: the compiler cannot be started")
