"""The review of a NamespaceSchemaPolicy."""

import json
import sys
from typing import Any

import pytest

from support.kubernetes.admission import (
    ID,
    NOTE,
    NOTE_WITH_DEFAULT,
    PULSAR,
    V0,
    World,
    new_policy,
    owner_of,
    record_schema,
)
from topicschema.api.kinds import NAMESPACE, NAMESPACE_SCHEMA_POLICY
from topicschema.core.history import Owner
from topicschema.core.schemas import PulsarVersion

# Under FORWARD this may follow version 0, under BACKWARD it may not.
FORWARD_ONLY = record_schema(ID, NOTE)


SHOP, ANY = {"matchNames": ["shop"]}, {"matchExpressions": [{"key": "no-tenant", "operator": "DoesNotExist"}]}
"""Selectors of the Kubernetes namespace `shop`, and of every one."""


def allowed(selector: dict[str, Any], *globs: str) -> dict[str, Any]:
    """Return the registry's allowedNamespaces: these Kubernetes namespaces, these Pulsar namespaces."""
    return {"allowedNamespaces": [{"namespaceSelector": selector, "pulsarNamespaces": list(globs)}]}


@pytest.fixture
def shop(world: World) -> World:
    """Return a world whose registry lets the namespace `shop` govern shop/*."""
    world.registry(**allowed(SHOP, "elsewhere/*", "shop/*"))
    return world


async def test_a_namespace_may_claim_what_the_registry_allows(shop: World) -> None:
    reply = await shop.review(new_policy())
    assert reply.is_allowed
    assert reply.warnings == []


@pytest.mark.parametrize(
    "members",
    [
        {"allowedNamespaces": []},
        *(allowed(SHOP, glob) for glob in ("shop/other", "elsewhere/*", "sho/*")),
        allowed({"matchNames": ["store"]}, "shop/*"),
        allowed({"matchLabels": {"team": "shop"}}, "shop/*"),
        allowed({**SHOP, "matchLabels": {"team": "shop"}}, "shop/*"),
    ],
)
async def test_a_claim_that_the_registry_does_not_allow_is_refused_with_the_remedy(
    world: World, members: dict[str, Any]
) -> None:
    world.registry(**members)
    reply = await world.review(new_policy())
    assert [cause["field"] for cause in reply.causes] == ["spec.pulsarNamespace"]
    message = reply.causes[0]["message"]
    assert message.startswith("ClaimNotAllowed: registry pulsar does not allow Kubernetes namespace shop to govern")
    assert "ask the platform team" in message
    assert "spec.allowedNamespaces" in message


async def test_a_namespace_with_the_labels_of_the_registry_may_claim(world: World) -> None:
    world.registry(**allowed({"matchLabels": {"team": "shop"}}, "shop/*"))
    assert not (await world.review(new_policy())).is_allowed
    world.api.put(NAMESPACE, "", "shop", {"metadata": {"labels": {"team": "shop"}}})
    assert (await world.review(new_policy())).is_allowed


async def test_a_right_that_the_registry_takes_back_does_not_block_edits_of_the_policy(world: World) -> None:
    old = await world.policy()
    world.registry(allowedNamespaces=[])
    reply = await world.edit(old, schemaCompatibilityStrategy="FULL")
    assert reply.is_allowed
    assert reply.warnings[0].startswith("ClaimNotAllowed: ")


async def test_a_policy_of_an_unknown_registry_is_admitted_with_a_warning(world: World) -> None:
    (warning,) = (await world.review(new_policy(registry="another"))).warnings
    assert warning.startswith("RegistryNotFound: there is no SchemaRegistry another; the platform team creates it")
    assert warning.endswith("until then the policy does not apply")


async def test_a_pulsar_namespace_that_another_team_governs_is_refused_without_their_names(world: World) -> None:
    world.registry(**allowed(ANY, "shop/*"))
    await world.claim(owner_of(world.api.put(NAMESPACE_SCHEMA_POLICY, "rival", "secret-name", {"spec": {}})))
    world.api.put(NAMESPACE, "", "rival", {})
    reply = await world.review(new_policy())
    assert reply.rules == ["TopicAlreadyClaimed"]
    assert "rival" not in reply.text
    assert "secret-name" not in reply.text


DELETING = {"deletionTimestamp": "2026-11-20T00:00:00Z", "finalizers": ["alice.example/never"]}


@pytest.mark.parametrize(("selector", "metadata"), [(SHOP, {}), (ANY, DELETING), (ANY, None)])
async def test_an_invalid_claim_of_another_team_is_free(
    world: World, selector: dict[str, Any], metadata: dict[str, Any] | None
) -> None:
    world.registry(**allowed(selector, "shop/*"))
    world.api.put(NAMESPACE, "", "rival", {})
    owner = Owner("rival", "secret-name", "uid")
    if metadata is not None:
        wire = {"metadata": metadata, "spec": {}}
        owner = owner_of(world.api.put(NAMESPACE_SCHEMA_POLICY, "rival", "secret-name", wire))
    await world.claim(owner)
    assert (await world.review(new_policy())).is_allowed


async def test_a_second_policy_of_the_namespace_is_refused_with_the_first_one_s_name(shop: World) -> None:
    await shop.policy("first")
    shop.registry("another", **allowed(SHOP, "shop/*"))
    reply = await shop.review(new_policy(registry="another"))
    assert reply.rules == ["TopicAlreadyClaimed"]
    assert "policy first" in reply.causes[0]["message"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"pulsarNamespace": "a/b/c"}, "spec.pulsarNamespace"),
        ({"strictness": "Lax"}, "spec.strictness"),
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
    reply = await shop.edit(old, unmanagedTopics={"exempt": ["*"]})
    assert reply.is_allowed
    assert reply.warnings == []


async def test_a_pulsar_version_that_cannot_read_a_stored_version_has_a_warning(shop: World) -> None:
    old = await shop.policy(schemaCompatibilityStrategy="BACKWARD")
    shop.registry(pulsar=PULSAR, version="4.1.3")
    texts = [json.dumps({"type": "record", "name": "R", "namespace": each, "fields": []}) for each in ("a.b-c", "a.b")]
    await shop.topic(*texts, pulsar_version=PulsarVersion.V4_0)
    reply = await shop.edit(old, schemaCompatibilityStrategy="FORWARD")
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
