"""Reviews of policies of a registry with a broker: warnings of what the edit means for it."""

from typing import Any

import pytest

from support.kubernetes.admission import (
    ID,
    NOTE,
    PULSAR,
    V0,
    Reply,
    World,
    at_broker,
    new_policy,
    owner_of,
    record_schema,
)
from topicschema.api.kinds import NAMESPACE

LOCKED = {"isAllowAutoUpdateSchema": False}
AT_ONCE = {"unmanagedTopics": {"exempt": ["*"]}}
FORWARD, BACKWARD, FULL = ({"schemaCompatibilityStrategy": name} for name in ("FORWARD", "BACKWARD", "FULL"))
FORWARD_ONLY = record_schema(ID, NOTE)
WARNING_BYTES = 240
LOCK = "clients may no longer add schemas to any topic of shop/orders: where there is no TopicSchema"


@pytest.fixture
async def shop(world: World) -> World:
    world.registry(pulsar=PULSAR)
    return world


async def review(
    world: World, before: dict[str, Any] | None, after: dict[str, Any], observed: dict[str, Any] | None = None
) -> Reply:
    """Review an edit of a policy whose broker has these settings, or a new policy."""
    old, new = ({**new_policy(**spec), "status": at_broker(observed)} for spec in (before or {}, after))
    return await world.review(new, None if before is None else old)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, {}, []),
        (None, {"isAllowAutoUpdateSchema": True}, []),
        (
            None,
            LOCKED,
            [
                "clients may add schemas until every topic of shop/orders has a TopicSchema or is exempt (spec.unmana",
            ],
        ),
        (None, {**LOCKED, **AT_ONCE}, [LOCK]),
        (LOCKED, {**LOCKED, **AT_ONCE}, [LOCK]),
        ({**LOCKED, **AT_ONCE}, {**LOCKED, **AT_ONCE, "strictness": "Strict"}, []),
        (
            {**LOCKED, **FULL, "schemaValidationEnforced": True},
            {},
            [
                "spec.schemaCompatibilityStrategy is not managed any more: the broker keeps what it has",
                "spec.isAllowAutoUpdateSchema is not managed any more",
                "spec.schemaValidationEnforced is not managed any more",
            ],
        ),
    ],
)
async def test_an_edit_has_a_warning_of_each_consequence_at_the_broker(
    shop: World, before: dict[str, Any] | None, after: dict[str, Any], expected: list[str]
) -> None:
    warnings = (await review(shop, before, after)).warnings
    assert len(warnings) == len(expected)
    assert all(warning.startswith(words) for warning, words in zip(warnings, expected, strict=True))
    assert all(len(warning.encode()) <= WARNING_BYTES for warning in warnings)


@pytest.mark.parametrize("field", ["isAllowAutoUpdateSchema", "schemaValidationEnforced"])
async def test_a_setting_of_a_broker_has_no_effect_in_the_operator_s_own_store(world: World, field: str) -> None:
    (warning,) = (await review(world, None, {field: False})).warnings
    assert warning == f"spec.{field} has no effect: the policy has a registry without Pulsar"
    (warning,) = (await review(world, None, {"managementPolicy": "Observe"})).warnings
    assert warning.startswith("spec.managementPolicy has no effect")


async def test_a_policy_that_only_observes_has_a_warning_of_each_setting_that_the_broker_has_not(shop: World) -> None:
    before = {"managementPolicy": "Observe", **BACKWARD}
    after = {**before, "strictness": "Strict"}
    (warning,) = (await review(shop, before, after, FULL)).warnings
    assert warning == (
        "managementPolicy is Observe: topics are judged by BACKWARD, and the broker applies FULL; remove "
        "schemaCompatibilityStrategy to judge by the broker's strategy"
    )
    assert (await review(shop, before, after, BACKWARD)).warnings == []
    enforced = {"broker": {"schemaValidationEnforced": True}}
    disabled: dict[str, Any] = {"schemaValidationEnforced": False}
    (warning,) = (await review(shop, {}, disabled, enforced)).warnings
    assert warning.startswith("spec.schemaValidationEnforced: false has no effect")


async def test_the_observed_strategy_decides_which_topics_would_not_pass(shop: World) -> None:
    await shop.topic(V0, FORWARD_ONLY)
    warnings = (await review(shop, FORWARD, {}, BACKWARD)).warnings
    assert warnings[1].startswith("1 of 1 topics examined would not pass (namespace strategy BACKWARD)")


@pytest.mark.parametrize("source", ["Topic", "Namespace"])
async def test_a_topic_whose_own_strategy_the_broker_has_passes_still(shop: World, source: str) -> None:
    strategy = {"value": "FORWARD", "source": source}
    status = {"observedGeneration": 1, "fingerprint": "sha256:00", "effectiveStrategy": strategy}
    await shop.topic(V0, FORWARD_ONLY, status=status)
    reply = await review(shop, FORWARD, BACKWARD)
    assert len(reply.warnings) == (0 if source == "Topic" else 2)


async def test_a_second_policy_for_a_broker_by_another_registry_of_its_cluster_is_refused(shop: World) -> None:
    shop.api.put(NAMESPACE, "", "store", {})
    await shop.claim(owner_of(await shop.policy("theirs", "store", status=at_broker())), "pulsar:8443")
    shop.registry("elsewhere", {"adminURL": "https://other:8443"})
    assert (await shop.review(new_policy(registry="elsewhere"))).is_allowed
    shop.registry("main", {"adminURL": "https://PULSAR:8443/"})
    (cause,) = (await shop.review(new_policy(registry="main"))).causes
    assert cause["message"].startswith("TopicAlreadyClaimed: a policy of another team already governs shop/orders")
    assert "theirs" not in cause["message"]


@pytest.mark.parametrize(
    ("clusters", "version", "is_warned"),
    [(["east", "west"], "4.2.4", True), (["east"], "4.2.4", False), (["east", "west"], "5.0.0-M1", False)],
)
async def test_a_lock_that_can_stop_replication_has_one_warning(
    shop: World, clusters: list[str], version: str, *, is_warned: bool
) -> None:
    status = at_broker({"replicationClusters": clusters}, version)
    shop.registry(pulsar=PULSAR, version=version)
    old, locked = ({**new_policy(**spec), "status": status} for spec in ({}, LOCKED))
    for before, expected in ((old, is_warned), (locked, False)):
        warnings = (await shop.review({**locked, "status": status}, before)).warnings
        assert any("shop/orders is replicated: under the lock" in each for each in warnings) is expected


@pytest.mark.parametrize(("version", "is_warned"), [("4.2.4", True), ("5.0.0-M1", False)])
async def test_a_setting_that_the_broker_does_not_have_has_a_warning(
    shop: World, version: str, *, is_warned: bool
) -> None:
    shop.registry(pulsar=PULSAR, version=version)
    policy = {**new_policy(**LOCKED, isAllowAutoUpdateSchemaWithReplicator=False), "status": at_broker({}, version)}
    warnings = (await shop.review(policy)).warnings
    expected = f"spec.isAllowAutoUpdateSchemaWithReplicator has no effect: the broker is {version}"
    assert any(each.startswith(expected) for each in warnings) is is_warned
