"""Reviews of policies that name a broker: warnings of what the edit means for it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.kubernetes.admission import ID, NOTE, V0, Reply, World, new_policy, owner_of, record_schema, run_webhook

PULSAR = {"adminURL": "https://pulsar:8443"}
TOKEN = {"token": {"secretKeyRef": {"name": "pulsar", "key": "token"}}}
LOCKED = {"pulsar": PULSAR, "isAllowAutoUpdateSchema": False}
FORWARD, BACKWARD, FULL = ({"schemaCompatibilityStrategy": name} for name in ("FORWARD", "BACKWARD", "FULL"))
FORWARD_ONLY = record_schema(ID, NOTE)
WARNING_BYTES = 240
LOCK = "clients may no longer add schemas to any topic of shop/orders: where there is no TopicSchema"


def oauth2(issuer: str) -> dict[str, Any]:
    members = {"issuerURL": issuer, "clientId": "a", "secretKeyRef": {"name": "pulsar", "key": "secret"}}
    return {"authentication": {"oauth2": members}}


@pytest.fixture
async def shop(world: World) -> World:
    world.namespace("shop", "shop/*")
    return world


async def review(
    world: World, before: dict[str, Any] | None, after: dict[str, Any], observed: dict[str, Any] | None = None
) -> Reply:
    """Review an edit of a policy whose broker has these settings, or a new policy."""
    status = {} if observed is None else {"observed": observed}
    old, new = ({**new_policy(**spec), "status": status} for spec in (before or {}, after))
    return await world.review(new, None if before is None else old)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, {"pulsar": PULSAR}, []),
        (
            None,
            {"isAllowAutoUpdateSchema": True},
            ["spec.isAllowAutoUpdateSchema has no effect: the policy names no broke"],
        ),
        (None, {"schemaValidationEnforced": False}, ["spec.schemaValidationEnforced has no effect"]),
        (None, {"managementPolicy": "Observe"}, ["spec.managementPolicy has no effect"]),
        ({"pulsar": PULSAR}, {}, ["the operator no longer reads or writes the broker"]),
        (None, {"pulsar": PULSAR, "isAllowAutoUpdateSchema": True}, []),
        (
            None,
            LOCKED,
            ["clients may add schemas until every topic of shop/orders has a TopicSchema; status.undeclaredTopics"],
        ),
        (None, {**LOCKED, "lockUndeclared": True}, [LOCK]),
        (LOCKED, {**LOCKED, "lockUndeclared": True}, [LOCK]),
        ({**LOCKED, "lockUndeclared": True}, {**LOCKED, "lockUndeclared": True, "strictness": "Strict"}, []),
        (
            {**LOCKED, **FULL, "schemaValidationEnforced": True},
            {"pulsar": PULSAR},
            [
                "spec.schemaCompatibilityStrategy is not managed any more: the broker keeps what it has",
                "spec.isAllowAutoUpdateSchema is not managed any more",
                "spec.schemaValidationEnforced is not managed any more",
            ],
        ),
        (FULL, {"pulsar": PULSAR}, ["the broker numbers versions from now on: a topic"]),
        (None, {"pulsar": {"adminURL": "http://pulsar:8080"}}, []),
        (
            None,
            {"pulsar": {"adminURL": "http://pulsar:8080", "authentication": TOKEN}},
            ["spec.pulsar.adminURL is http: the credentials go over the network as they are; use https"],
        ),
        (
            None,
            {"pulsar": {**PULSAR, **oauth2("http://login")}},
            ["spec.pulsar.authentication.oauth2.issuerURL is http: the client's secret goes over the network as it is"],
        ),
        (
            {"pulsar": PULSAR},
            {"pulsar": {"adminURL": "https://elsewhere:8443"}},
            ["spec.pulsar.adminURL changes: it must be the same Pulsar cluster"],
        ),
        ({"pulsar": PULSAR}, {"pulsar": {"adminURL": "https://pulsar:8443/"}}, []),
    ],
)
async def test_an_edit_has_a_warning_of_each_consequence_at_the_broker(
    shop: World, before: dict[str, Any] | None, after: dict[str, Any], expected: list[str]
) -> None:
    warnings = (await review(shop, before, after)).warnings
    assert len(warnings) == len(expected)
    assert all(warning.startswith(words) for warning, words in zip(warnings, expected, strict=True))
    assert all(len(warning.encode()) <= WARNING_BYTES for warning in warnings)


async def test_a_policy_that_only_observes_has_a_warning_of_each_setting_that_the_broker_has_not(shop: World) -> None:
    before = {"pulsar": PULSAR, "managementPolicy": "Observe", **BACKWARD}
    after = {**before, "strictness": "Strict"}
    (warning,) = (await review(shop, before, after, FULL)).warnings
    assert warning == (
        "managementPolicy is Observe: topics are judged by BACKWARD, and the broker applies FULL; remove "
        "schemaCompatibilityStrategy to judge by the broker's strategy"
    )
    assert (await review(shop, before, after, BACKWARD)).warnings == []
    enforced = {"broker": {"schemaValidationEnforced": True}}
    disabled: dict[str, Any] = {"pulsar": PULSAR, "schemaValidationEnforced": False}
    (warning,) = (await review(shop, {"pulsar": PULSAR}, disabled, enforced)).warnings
    assert warning.startswith("spec.schemaValidationEnforced: false has no effect")


async def test_the_observed_strategy_decides_which_topics_would_not_pass(shop: World) -> None:
    await shop.topic(V0, FORWARD_ONLY)
    warnings = (await review(shop, {"pulsar": PULSAR, **FORWARD}, {"pulsar": PULSAR}, BACKWARD)).warnings
    assert warnings[1].startswith("1 of 1 topics examined would not pass (namespace strategy BACKWARD)")


@pytest.mark.parametrize("source", ["Topic", "Namespace"])
async def test_a_topic_whose_own_strategy_the_broker_has_passes_still(shop: World, source: str) -> None:
    strategy = {"value": "FORWARD", "source": source}
    status = {"observedGeneration": 1, "fingerprint": "sha256:00", "effectiveStrategy": strategy}
    await shop.topic(V0, FORWARD_ONLY, status=status)
    reply = await review(shop, {"pulsar": PULSAR, **FORWARD}, {"pulsar": PULSAR, **BACKWARD})
    assert len(reply.warnings) == (0 if source == "Topic" else 2)


@pytest.fixture
async def limited_world() -> AsyncIterator[World]:
    """Run a webhook whose settings name the hosts that the controller may call."""
    async with run_webhook(TOPICSCHEMA_BROKER_HOSTS="pulsar:8443") as world:
        world.namespace("shop", "shop/*")
        yield world


@pytest.mark.parametrize(
    ("pulsar", "fields"),
    [
        (PULSAR, []),
        ({"adminURL": "https://pulsar:9443"}, ["adminURL"]),
        ({"adminURL": "https://" + "x" * 250 + ":8443"}, ["adminURL"]),
        ({**PULSAR, **oauth2("https://issuer")}, ["authentication.oauth2.issuerURL"]),
        ({**PULSAR, "serviceURL": "pulsar+ssl://pulsar:8443"}, []),
        ({**PULSAR, "serviceURL": "pulsar+ssl://pulsar:6651"}, ["serviceURL"]),
    ],
)
async def test_a_host_that_the_operator_may_not_call_has_a_warning(
    limited_world: World, pulsar: dict[str, Any], fields: list[str]
) -> None:
    reply = await limited_world.review(new_policy(pulsar=pulsar))
    assert reply.is_allowed
    stops = {"serviceURL": "validation stops with ValidationError"}
    assert reply.warnings == [
        f"spec.pulsar.{field} is not on a host that the operator may call "
        "(TOPICSCHEMA_BROKER_HOSTS, chart value brokers.allowedHosts): "
        f"{stops.get(field, 'the policy stops with BrokerNotAllowed')}"
        for field in fields
    ]


async def test_a_second_policy_for_a_broker_under_another_name_of_its_cluster_is_refused(shop: World) -> None:
    shop.namespace("store", "shop/*")
    await shop.claim(owner_of(await shop.policy("theirs", "store", pulsar=PULSAR)), "pulsar:8443")
    assert (await shop.review(new_policy(registry="main", pulsar={"adminURL": "https://other:8443"}))).is_allowed
    same = {"adminURL": "https://PULSAR:8443/"}
    (cause,) = (await shop.review(new_policy(registry="main", pulsar=same))).causes
    assert cause["message"].startswith("TopicAlreadyClaimed: a policy of another team already governs shop/orders")
    assert "theirs" not in cause["message"]
