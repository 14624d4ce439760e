"""Reviews of policies that name a broker: they are told what their edit means for it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.kubernetes.admission import ID, NOTE, PROFILE, V0, World, record_schema, running
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.history import Owner
from topicschema.core.topics import PulsarNamespaceKey

PULSAR = {"adminURL": "https://pulsar:8443"}
TOKEN = {"token": {"secretKeyRef": {"name": "pulsar", "key": "token"}}}
LOCKED = {"pulsar": PULSAR, "isAllowAutoUpdateSchema": False}
FORWARD_ONLY = record_schema(ID, NOTE)
WARNING_BYTES = 240
LOCK = "clients may no longer add schemas to any topic of shop/orders: where there is no TopicSchema"


def oauth2(issuer: str) -> dict[str, Any]:
    members = {"issuerURL": issuer, "clientId": "a", "secretKeyRef": {"name": "pulsar", "key": "secret"}}
    return {"authentication": {"oauth2": members}}


POLICY_WARNINGS: list[tuple[dict[str, Any] | None, dict[str, Any], list[str]]] = [
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
        ["clients may add schemas until every topic of shop/orders has a TopicSchema; status.undeclaredTopics lists"],
    ),
    (None, {**LOCKED, "lockUndeclared": True}, [LOCK]),
    (
        LOCKED,
        {**LOCKED, "lockUndeclared": True},
        [LOCK],
    ),
    (
        {**LOCKED, "lockUndeclared": True},
        {**LOCKED, "lockUndeclared": True, "strictness": "Strict"},
        [],
    ),
    (
        {**LOCKED, "schemaCompatibilityStrategy": "FULL", "schemaValidationEnforced": True},
        {"pulsar": PULSAR},
        [
            "spec.schemaCompatibilityStrategy is not managed any more: the broker keeps what it has",
            "spec.isAllowAutoUpdateSchema is not managed any more",
            "spec.schemaValidationEnforced is not managed any more",
        ],
    ),
    ({"schemaCompatibilityStrategy": "FULL"}, {"pulsar": PULSAR}, ["the broker numbers versions from now on: a topic"]),
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
]


@pytest.mark.parametrize(("before", "after", "expected"), POLICY_WARNINGS)
async def test_a_policy_is_told_what_its_edit_means_for_the_broker(
    world: World, before: dict[str, Any] | None, after: dict[str, Any], expected: list[str]
) -> None:
    world.namespace("shop", "shop/*")
    warnings = (await _policy_review(world, before, after)).warnings
    assert len(warnings) == len(expected)
    assert all(told.startswith(words) for told, words in zip(warnings, expected, strict=True))
    assert all(len(told.encode()) <= WARNING_BYTES for told in warnings)


async def test_a_policy_that_only_observes_is_told_what_the_broker_has_instead(world: World) -> None:
    world.namespace("shop", "shop/*")
    wanted = {"pulsar": PULSAR, "managementPolicy": "Observe", "schemaCompatibilityStrategy": "BACKWARD"}
    seen = {"schemaCompatibilityStrategy": "FULL"}
    (told,) = (await _policy_review(world, wanted, {**wanted, "strictness": "Strict"}, seen)).warnings
    assert told == (
        "managementPolicy is Observe: topics are judged by BACKWARD, and the broker applies FULL; remove "
        "schemaCompatibilityStrategy to judge by the broker's strategy"
    )
    enforced = {"broker": {"schemaValidationEnforced": True}}
    after = {"pulsar": PULSAR, "schemaValidationEnforced": False}
    (warning,) = (await _policy_review(world, {"pulsar": PULSAR}, after, enforced)).warnings
    assert warning.startswith("spec.schemaValidationEnforced: false has no effect")
    same = {"schemaCompatibilityStrategy": "BACKWARD"}
    assert (await _policy_review(world, wanted, {**wanted, "strictness": "Strict"}, same)).warnings == []


async def test_what_was_seen_at_the_broker_counts_for_the_consequences_of_a_policy_s_edit(world: World) -> None:
    world.namespace("shop", "shop/*")
    there = world.resource()
    await world.versions(V0, FORWARD_ONLY, claim=Owner("shop", "created", there["metadata"]["uid"]))
    before = {"pulsar": PULSAR, "schemaCompatibilityStrategy": "FORWARD"}
    told = (
        await _policy_review(world, before, {"pulsar": PULSAR}, {"schemaCompatibilityStrategy": "BACKWARD"})
    ).warnings
    assert told[1].startswith("1 of 1 topics examined would not pass (namespace strategy BACKWARD)")


async def test_a_topic_that_keeps_a_strategy_of_its_own_is_not_told_of_as_hit(world: World) -> None:
    world.namespace("shop", "shop/*")
    there = world.resource()
    strategy = {"value": "FORWARD", "source": "Topic"}
    status = {"observedGeneration": 1, "fingerprint": "sha256:00", "effectiveStrategy": strategy}
    world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": there["spec"], "status": status})
    await world.versions(V0, FORWARD_ONLY, claim=Owner("shop", "created", there["metadata"]["uid"]))
    before = {"pulsar": PULSAR, "schemaCompatibilityStrategy": "FORWARD"}
    after = {"pulsar": PULSAR, "schemaCompatibilityStrategy": "BACKWARD"}
    assert (await _policy_review(world, before, after)).warnings == []


async def _policy_review(
    world: World, before: dict[str, Any] | None, after: dict[str, Any], observed: dict[str, Any] | None = None
) -> Any:
    fixed = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", **PROFILE}
    status = {} if observed is None else {"observed": observed}
    metadata = {"name": "orders", "namespace": "shop", "uid": "uid-orders", "generation": 1}
    old, new = (
        {"kind": "NamespaceSchemaPolicy", "metadata": metadata, "spec": fixed | spec, "status": status}
        for spec in (before or {}, after)
    )
    return await world.ask(new, None if before is None else old)


@pytest.fixture
async def told_world() -> AsyncIterator[World]:
    """The webhook knows which hosts the controller may call."""
    async with running(TOPICSCHEMA_BROKER_HOSTS="pulsar:8443") as world:
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
async def test_a_host_that_the_operator_may_not_call_is_warned_of_where_the_webhook_is_told(
    told_world: World, pulsar: dict[str, Any], fields: list[str]
) -> None:
    spec = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", "pulsar": pulsar}
    metadata = {"name": "orders", "namespace": "shop", "uid": "1", "generation": 1}
    reply = await told_world.ask({"kind": "NamespaceSchemaPolicy", "metadata": metadata, "spec": spec})
    assert reply.is_allowed
    stops = {"serviceURL": "validation stops with ValidationError"}
    assert reply.warnings == [
        f"spec.pulsar.{field} is not on a host that the operator may call "
        "(TOPICSCHEMA_BROKER_HOSTS, chart value brokers.allowedHosts): "
        f"{stops.get(field, 'the policy stops with BrokerNotAllowed')}"
        for field in fields
    ]


@pytest.mark.parametrize(("url", "is_allowed"), [("https://PULSAR:8443/", False), ("https://other:8443", True)])
async def test_a_second_policy_for_a_broker_under_another_name_of_its_cluster_is_refused(
    told_world: World,
    url: str,
    is_allowed: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    told_world.namespace("store", "shop/*")
    there = await told_world.policy("theirs", "store", pulsar=PULSAR)
    key = PulsarNamespaceKey("pulsar", "shop", "orders")
    owner = Owner("store", "theirs", there["metadata"]["uid"])
    await told_world.storage.put_claim(await told_world.storage.get_claim(key), owner, "pulsar:8443")
    spec = {"pulsarCluster": "main", "pulsarNamespace": "shop/orders", "pulsar": {"adminURL": url}}
    metadata = {"name": "orders", "namespace": "shop", "uid": "1", "generation": 1}
    reply = await told_world.ask({"kind": "NamespaceSchemaPolicy", "metadata": metadata, "spec": spec})
    assert reply.is_allowed is is_allowed
    if not is_allowed:
        (cause,) = reply.causes
        assert cause["message"].startswith("TopicAlreadyClaimed: a policy of another team already governs shop/orders")
        assert "theirs" not in cause["message"]
