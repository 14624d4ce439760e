"""The policy that governs a topic, and its rules by what it sets itself and what was observed at its broker.

The order of strategies is Pulsar's: topic, namespace, the namespace's deprecated setting, broker (AdminResource and
SchemaRegistryServiceImpl, Pulsar 4.0); after "not set" and UNDEFINED comes the next level.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from support.kubernetes.admission import OWN_STORE, SYSTEM, at_broker
from support.kubernetes.api_server import FakeApiServer, Object
from support.kubernetes.registries import registry
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.wire import decode
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiUnavailableError, ConflictError
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.history import Owner
from topicschema.core.policy import effective_strategy
from topicschema.core.schemas import NEWEST, SchemaType
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging.policies import PolicyResolver
from topicschema.judging.policy_rules import missing, policy_of, pulsar_version_of
from topicschema.judging.registries import Registries
from topicschema.storage.kubernetes.storage import KubernetesStorage

TOPIC = Topic("shop", "orders", "created")


class Shop:
    """The Kubernetes namespace `shop`, its policies, their claims, and the registry."""

    def __init__(self, api: FakeApiServer, client: ApiClient) -> None:
        self.api = api
        self.client = client
        self.storage = KubernetesStorage(client, SYSTEM)
        self.registries = Registries(client, are_watched=True)
        self.policies = PolicyResolver(client, self.storage, self.registries)
        self.registry()

    def registry(self, name: str = "pulsar", pulsar: Object | None = None) -> None:
        self.api.put(SCHEMA_REGISTRY, "", name, registry(name, pulsar))
        self.registries.forget(name)

    def policy(self, name: str, namespace: str = "shop", *, registry: str = "pulsar", **members: object) -> Object:
        spec = {"registry": registry, "pulsarNamespace": "shop/orders"}
        return self.api.put(NAMESPACE_SCHEMA_POLICY, namespace, name, {"spec": spec, "status": OWN_STORE, **members})

    async def claim(self, policy: Object | None, registry: str = "pulsar", address: str = "") -> None:
        stored = await self.storage.get_claim(PulsarNamespaceKey(registry, "shop", "orders"))
        await self.storage.put_claim(stored, None if policy is None else _owner(policy), address)

    async def name(self) -> str:
        return (await self.policies.resolve("shop", "shop/orders")).resource.metadata.name

    async def is_ungoverned(self) -> None:
        with pytest.raises(WaitingError, match="no NamespaceSchemaPolicy in this Kubernetes namespace"):
            await self.name()


def _owner(policy: Object) -> Owner:
    metadata = policy["metadata"]
    return Owner(metadata["namespace"], metadata["name"], metadata["uid"])


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    async with FakeApiServer().running() as api, ApiClient(api.connection) as client:
        yield Shop(api, client)


async def test_the_policy_that_holds_the_claim_governs(shop: Shop) -> None:
    shop.policy("elsewhere", namespace="other")
    shop.api.put(NAMESPACE_SCHEMA_POLICY, "shop", "broken", {"spec": 7})  # bypassed its CRD
    await shop.is_ungoverned()
    assert shop.policies.expected_key("shop", TOPIC) is None
    policy = shop.policy("orders")
    shop.policy("a-loser")
    policy["spec"] |= {"schemaCompatibilityStrategy": "FULL", "constraints": {"allowedTypes": ["AVRO"]}}
    await shop.claim(policy)
    active = await shop.policies.resolve("shop", "shop/orders")
    assert active.policy.strategy is Strategy.FULL
    assert active.policy.constraints.allowed_types == (SchemaType.AVRO,)
    assert active.resource.metadata.name == "orders"
    assert active.key(TOPIC) == shop.policies.expected_key("shop", TOPIC) == TopicKey("pulsar", TOPIC)


async def test_a_policy_without_the_claim_is_waited_for(shop: Shop) -> None:
    shop.policy("orders")
    with pytest.raises(WaitingError, match="policy orders has not claimed shop/orders yet"):
        await shop.name()


async def test_the_claim_of_an_earlier_policy_of_the_same_name_is_waited_for(shop: Shop) -> None:
    await shop.claim(shop.policy("orders"))
    shop.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    shop.policy("orders")
    with pytest.raises(WaitingError):
        await shop.name()


async def test_the_claim_of_another_namespace_is_reported_without_its_names(shop: Shop) -> None:
    shop.policy("orders")
    await shop.claim(shop.policy("secret-name", namespace="rival"))
    with pytest.raises(StalledError) as raised:
        await shop.name()
    assert raised.value.reason == "TopicAlreadyClaimed"
    assert "rival" not in raised.value.message
    assert "secret-name" not in raised.value.message


async def test_the_reason_of_the_policy_s_own_status_is_passed_on(shop: Shop) -> None:
    ready = {"type": "Ready", "status": "False", "reason": "ClaimNotAllowed", "observedGeneration": 1}
    shop.policy("orders", status={"conditions": [ready]})
    with pytest.raises(StalledError) as raised:
        await shop.name()
    assert (raised.value.reason, raised.value.message) == (
        "ClaimNotAllowed",
        "policy orders does not apply: ClaimNotAllowed",
    )


async def test_policies_of_two_registries_for_one_name_govern_nothing(shop: Shop) -> None:
    for name in ("east", "west"):
        shop.registry(name)
        await shop.claim(shop.policy(name, registry=name), name)
    with pytest.raises(WaitingError, match="east, west"):
        await shop.name()


async def test_a_policy_of_a_registry_that_does_not_exist_is_waited_for(shop: Shop) -> None:
    await shop.claim(shop.policy("orders"))
    assert await shop.name() == "orders"
    shop.api.delete(SCHEMA_REGISTRY, "", "pulsar")
    assert await shop.name() == "orders"  # until the watch reports it
    shop.registries.forget("pulsar")
    with pytest.raises(WaitingError, match="there is no SchemaRegistry pulsar") as raised:
        await shop.name()
    assert raised.value.reason == "RegistryNotFound"


async def test_a_claim_counts_only_at_the_broker_that_the_registry_names_now(shop: Shop) -> None:
    shop.registry(pulsar={"adminURL": "https://pulsar:8443", "version": "4.1"})
    policy = shop.policy("orders")
    await shop.claim(policy)
    with pytest.raises(ConflictError, match="has not claimed shop/orders at the broker that its registry names now"):
        await shop.name()
    await shop.claim(policy, address="pulsar:8443")
    active = await shop.policies.resolve("shop", "shop/orders")
    assert (active.resource.address, active.policy.profile.pulsar_version) == ("pulsar:8443", "4.1")
    shop.registry(pulsar={"adminURL": "https://elsewhere:8443", "version": "4.1"})
    with pytest.raises(ConflictError):
        await shop.name()


async def test_a_cached_policy_is_read_again_without_a_list(shop: Shop) -> None:
    await shop.claim(shop.policy("orders"))
    await shop.name()
    shop.api.requests.clear()
    assert await shop.name() == "orders"
    assert sorted(request.rpartition("/")[0].rpartition("/")[2] for request in shop.api.requests) == [
        "namespaceschemapolicies",
        "pulsarnamespaceclaims",
    ]


def deleting(wire: Object) -> None:
    wire["metadata"]["deletionTimestamp"] = "2026-11-21T05:30:00Z"


def renaming(wire: Object) -> None:
    wire["spec"]["pulsarNamespace"] = "shop/other"


@pytest.mark.parametrize("change", [deleting, renaming, None])
async def test_a_cached_policy_that_no_longer_governs_is_searched_again(
    shop: Shop, change: Callable[[Object], None] | None
) -> None:
    await shop.claim(shop.policy("orders"))
    assert await shop.name() == "orders"
    if change is None:
        shop.api.delete(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    else:
        shop.api.change("/orders", change)
    await shop.is_ungoverned()
    await shop.claim(shop.policy("second"))
    assert await shop.name() == "second"
    await shop.claim(shop.policy("third"))
    assert await shop.name() == "third"


async def test_an_unreachable_api_server_is_not_a_missing_policy(shop: Shop) -> None:
    await shop.claim(shop.policy("orders"))
    for _ in ("searched", "cached"):
        shop.api.is_unavailable = True
        with pytest.raises(ApiUnavailableError):
            await shop.name()
        shop.api.is_unavailable = False
        assert await shop.name() == "orders"


def active(generation: int = 1, status: str = "True") -> dict[str, object]:
    """Return the status of a policy that was Active at that generation."""
    ready = {"type": "Ready", "status": status, "reason": "Active", "observedGeneration": generation}
    return {**OWN_STORE, "conditions": [ready]}


@pytest.mark.parametrize(
    ("trust_status", "status", "reads"),
    [
        (True, active(), 0),
        (True, OWN_STORE, 1),
        (True, active(generation=0), 1),
        (True, active(status="False"), 1),
        (True, active(status="Unknown"), 1),
        (False, active(), 1),
    ],
)
async def test_a_current_status_replaces_the_read_of_the_claim_for_a_review_only(
    shop: Shop, status: Mapping[str, object], reads: int, *, trust_status: bool
) -> None:
    shop.policies = PolicyResolver(shop.client, shop.storage, None if trust_status else shop.registries)
    await shop.claim(shop.policy("orders"))
    await shop.name()
    shop.api.change("namespaceschemapolicies/orders", lambda wire: wire.update(status=status))
    shop.api.requests.clear()
    assert await shop.name() == "orders"
    assert sum("/pulsarnamespaceclaims/" in request for request in shop.api.requests) == reads
    shop.api.change("namespaceschemapolicies/orders", deleting)
    await shop.is_ungoverned()


def policy(
    observed: dict[str, Any] | None = None, status: Mapping[str, Any] | None = None, **spec: Any
) -> NamespaceSchemaPolicy:
    """Return a policy whose broker has these settings, unless the status is another."""
    members = {"registry": "pulsar", "pulsarNamespace": "shop/orders", **spec}
    status = {**at_broker(), **({} if observed is None else {"observed": observed})} if status is None else status
    return decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": members, "status": status})


def strategy_of(resource: NamespaceSchemaPolicy) -> tuple[str, str]:
    strategy = effective_strategy(policy_of(resource), None)
    return strategy.value.value, strategy.source.value


NAMESPACE, OLDER, BROKER = (
    {"schemaCompatibilityStrategy": "FORWARD"},
    {"schemaAutoUpdateCompatibilityStrategy": "BackwardTransitive"},
    {"broker": {"schemaCompatibilityStrategy": "BACKWARD"}},
)
UNDEFINED, ALWAYS = ({"schemaCompatibilityStrategy": name} for name in ("UNDEFINED", "ALWAYS_COMPATIBLE"))
UNKNOWN = {"schemaAutoUpdateCompatibilityStrategy": "Sometimes"}


@pytest.mark.parametrize(
    ("sentence", "spec", "observed", "value", "source"),
    [
        ("nothing anywhere", {}, {}, "FULL", "Broker"),
        ("a status that cannot be read", {}, {"schemaCompatibilityStrategy": 7}, "FULL", "Broker"),
        ("what was observed at this broker", {}, NAMESPACE | {"address": "pulsar:8443"}, "FORWARD", "Namespace"),
        ("what was observed at an earlier one", {}, NAMESPACE | {"address": "former:8443"}, "FULL", "Broker"),
        ("a broker that was never read", {}, None, "FULL", "Broker"),
        ("the broker's own", {}, BROKER, "BACKWARD", "Broker"),
        ("a broker without a value", {}, {"broker": {}}, "FULL", "Broker"),
        ("the deprecated setting before the broker's", {}, OLDER | BROKER, "BACKWARD_TRANSITIVE", "Namespace"),
        ("the namespace's before both", {}, NAMESPACE | OLDER | BROKER, "FORWARD", "Namespace"),
        ("UNDEFINED there is the next level", {}, UNDEFINED | OLDER, "BACKWARD_TRANSITIVE", "Namespace"),
        ("UNDEFINED at the broker is FULL", {}, {"broker": UNDEFINED}, "FULL", "Broker"),
        ("the spec first", ALWAYS, NAMESPACE | OLDER | BROKER, "ALWAYS_COMPATIBLE", "Namespace"),
        ("the spec unsets the namespace's", UNDEFINED, NAMESPACE | BROKER, "BACKWARD", "Broker"),
        ("but not the deprecated setting", UNDEFINED, NAMESPACE | OLDER, "BACKWARD_TRANSITIVE", "Namespace"),
        ("a deprecated setting of an unknown name", {}, UNKNOWN | BROKER, "BACKWARD", "Broker"),
        ("a policy that only observes", {"managementPolicy": "Observe"}, NAMESPACE, "FORWARD", "Namespace"),
    ],
)
def test_the_first_level_that_is_set_counts(
    sentence: str, spec: dict[str, Any], observed: dict[str, Any] | None, value: str, source: str
) -> None:
    assert strategy_of(policy(observed, **spec)) == (value, source), sentence


def test_what_was_observed_at_a_broker_that_the_registry_names_no_more_does_not_count() -> None:
    status = {**OWN_STORE, "observed": NAMESPACE | OLDER | BROKER}
    assert strategy_of(policy(status=status)) == ("FULL", "Broker")


@pytest.mark.parametrize(
    ("status", "version", "reason"),
    [
        (OWN_STORE, NEWEST, None),
        ({}, None, "PulsarVersionUnknown"),
        (at_broker(version=None), None, "PulsarVersionUnknown"),
        (at_broker(version="unknown"), None, "PulsarVersionUnknown"),
        (at_broker({}, "4.1.3"), "4.1", None),
        (at_broker({}, "3.3.9"), "4.0", None),
        (at_broker(), "4.0", None),  # its settings were not read yet: judged by Pulsar's own default
        (at_broker({"broker": None}), "4.0", "StrategyUnknown"),
        (at_broker({"broker": None, **UNDEFINED}), "4.0", "StrategyUnknown"),
        (at_broker({"broker": None, **NAMESPACE}), "4.0", None),
        (at_broker({"broker": None, **OLDER}), "4.0", None),
    ],
)
def test_a_policy_cannot_judge_without_a_pulsar_version_or_a_strategy(
    status: Mapping[str, Any], version: str | None, reason: str | None
) -> None:
    resource = policy(status=status)
    assert pulsar_version_of(resource) == version
    error = missing(resource)
    assert (None if error is None else error.reason) == reason
    if reason == "StrategyUnknown":
        assert missing(policy(status=status, **ALWAYS)) is None


@pytest.mark.parametrize(("name", "strategy"), BY_AUTO_UPDATE_NAME.items())
def test_each_name_of_the_deprecated_setting_stands_for_a_strategy(name: str, strategy: Strategy) -> None:
    resource = policy({"schemaAutoUpdateCompatibilityStrategy": name})
    assert strategy_of(resource) == (strategy.value, "Namespace")
