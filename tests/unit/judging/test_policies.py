"""Which policy governs a topic."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.admission import SYSTEM
from support.kubernetes.api_server import FakeApiServer, Object
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiUnavailableError
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.history import Owner
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging.policies import PolicyResolver
from topicschema.storage.claims import Claims

TOPIC = Topic("shop", "orders", "created")


class Shop:
    """The Kubernetes namespace `shop`, and who asks about it."""

    def __init__(self, api: FakeApiServer, client: ApiClient) -> None:
        self.api = api
        self.client = client
        self.claims = Claims(client, SYSTEM)
        self.policies = PolicyResolver(client, self.claims)

    def policy(
        self, name: str, namespace: str = "shop", *, pulsar_cluster: str = "pulsar", **members: object
    ) -> Object:
        spec = {"pulsarCluster": pulsar_cluster, "pulsarNamespace": "shop/orders"}
        return self.api.put(NAMESPACE_SCHEMA_POLICY, namespace, name, {"spec": spec, **members})

    async def claim(self, policy: Object | None, pulsar_cluster: str = "pulsar") -> None:
        stored = await self.claims.get_claim(PulsarNamespaceKey(pulsar_cluster, "shop", "orders"))
        await self.claims.put_claim(stored, None if policy is None else _owner(policy))

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


async def test_no_policy_is_found_where_none_names_the_pulsar_namespace(shop: Shop) -> None:
    shop.policy("elsewhere", namespace="other")
    await shop.is_ungoverned()


async def test_the_policy_that_holds_the_claim_is_found_with_its_words(shop: Shop) -> None:
    policy = shop.policy("orders")
    policy["spec"] |= {"schemaCompatibilityStrategy": "FULL", "constraints": {"allowedTypes": ["AVRO"]}}
    await shop.claim(policy)
    found = await shop.policies.resolve("shop", "shop/orders")
    assert found is not None
    assert found.policy.strategy is Strategy.FULL
    assert found.policy.constraints.allowed_types == (SchemaType.AVRO,)
    assert found.key(TOPIC) == TopicKey("pulsar", TOPIC)


async def test_of_two_policies_the_one_that_holds_the_claim_governs(shop: Shop) -> None:
    shop.policy("a-loser")
    await shop.claim(shop.policy("winner"))
    assert await shop.name() == "winner"


async def test_a_policy_without_the_claim_is_waited_for(shop: Shop) -> None:
    shop.policy("orders")
    with pytest.raises(WaitingError) as raised:
        await shop.name()
    assert raised.value.reason == "PolicyNotFound"


async def test_a_claim_left_by_an_earlier_policy_of_the_same_name_is_waited_for(shop: Shop) -> None:
    await shop.claim(shop.policy("orders"))
    shop.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
    shop.policy("orders")
    with pytest.raises(WaitingError):
        await shop.name()


async def test_a_claim_that_another_namespace_holds_is_told_without_its_names(shop: Shop) -> None:
    shop.policy("orders")
    await shop.claim(shop.policy("secret-name", namespace="rival"))
    with pytest.raises(StalledError) as raised:
        await shop.name()
    assert raised.value.reason == "TopicAlreadyClaimed"
    assert "rival" not in raised.value.message
    assert "secret-name" not in raised.value.message


async def test_the_reason_that_the_policy_s_own_status_gives_is_passed_on(shop: Shop) -> None:
    ready = {"type": "Ready", "status": "False", "reason": "ClaimNotAllowed", "observedGeneration": 1}
    shop.policy("orders", status={"conditions": [ready]})
    with pytest.raises(StalledError) as raised:
        await shop.name()
    assert raised.value.reason == "ClaimNotAllowed"


async def test_policies_of_two_pulsar_clusters_for_one_name_govern_nothing(shop: Shop) -> None:
    await shop.claim(shop.policy("east", pulsar_cluster="east"), "east")
    await shop.claim(shop.policy("west", pulsar_cluster="west"), "west")
    with pytest.raises(WaitingError) as raised:
        await shop.name()
    assert "east, west" in raised.value.message


async def test_a_policy_that_bypassed_its_crd_governs_nothing(shop: Shop) -> None:
    shop.api.put(NAMESPACE_SCHEMA_POLICY, "shop", "broken", {"spec": 7})
    await shop.claim(shop.policy("orders"))
    assert await shop.name() == "orders"


async def test_a_policy_that_is_being_deleted_governs_nothing(shop: Shop) -> None:
    policy = shop.policy("orders")
    await shop.claim(policy)
    assert await shop.name() == "orders"
    going = {**policy["metadata"], "deletionTimestamp": "2026-11-21T05:30:00Z"}
    shop.api.change("/orders", lambda wire: wire.update(metadata=going))
    await shop.is_ungoverned()


async def test_a_policy_found_before_is_read_again_without_a_list(shop: Shop) -> None:
    await shop.claim(shop.policy("orders"))
    await shop.name()
    shop.api.requests.clear()
    assert await shop.name() == "orders"
    assert sorted(request.rpartition("/")[0].rpartition("/")[2] for request in shop.api.requests) == [
        "namespaceschemapolicies",
        "pulsarnamespaceclaims",
    ]


async def test_a_policy_found_before_that_lost_its_claim_is_not_believed(shop: Shop) -> None:
    await shop.claim(shop.policy("first"))
    assert await shop.name() == "first"
    await shop.claim(shop.policy("second"))
    assert await shop.name() == "second"


async def test_a_policy_found_before_that_went_away_is_looked_for(shop: Shop) -> None:
    await shop.claim(shop.policy("first"))
    assert await shop.name() == "first"
    shop.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "first")
    await shop.is_ungoverned()


async def test_a_policy_found_before_that_names_another_pulsar_namespace_now_is_looked_for(shop: Shop) -> None:
    policy = shop.policy("orders")
    await shop.claim(policy)
    assert await shop.name() == "orders"
    policy["spec"]["pulsarNamespace"] = "shop/other"
    await shop.is_ungoverned()


async def test_an_api_server_that_is_away_is_never_taken_for_a_missing_policy(shop: Shop) -> None:
    await shop.claim(shop.policy("orders"))
    for _ in ("searched", "remembered"):
        shop.api.is_away = True
        with pytest.raises(ApiUnavailableError):
            await shop.name()
        shop.api.is_away = False
        assert await shop.name() == "orders"


async def test_the_key_can_be_foreseen_once_a_policy_was_found(shop: Shop) -> None:
    assert shop.policies.expected_key("shop", TOPIC) is None
    await shop.claim(shop.policy("orders"))
    await shop.name()
    assert shop.policies.expected_key("shop", TOPIC) == TopicKey("pulsar", TOPIC)


def in_force(generation: int = 1, status: str = "True") -> dict[str, object]:
    """The status of a policy that was in force at that generation."""
    ready = {"type": "Ready", "status": status, "reason": "Active", "observedGeneration": generation}
    return {"conditions": [ready]}


def claims_read(shop: Shop) -> int:
    return sum("/pulsarnamespaceclaims/" in request for request in shop.api.requests)


@pytest.fixture
def answering(shop: Shop) -> Shop:
    """The same, asked for answers only."""
    shop.policies = PolicyResolver(shop.client, shop.claims, trust_status=True)
    return shop


async def found_again(shop: Shop, **members: object) -> tuple[str | None, int]:
    """Which policy is found the second time, with these members, and how many claims were read for that."""
    await shop.claim(shop.policy("orders"))
    await shop.name()
    shop.api.change("namespaceschemapolicies/orders", lambda wire: wire.update(members))
    shop.api.requests.clear()
    return await shop.name(), claims_read(shop)


async def test_for_an_answer_a_policy_that_says_it_is_in_force_is_believed(answering: Shop) -> None:
    assert await found_again(answering, status=in_force()) == ("orders", 0)


@pytest.mark.parametrize("status", [{}, in_force(generation=0), in_force(status="False"), in_force(status="Unknown")])
async def test_one_that_does_not_say_so_of_what_it_is_now_is_asked_for_its_claim(
    answering: Shop, status: dict[str, object]
) -> None:
    assert await found_again(answering, status=status) == ("orders", 1)


async def test_whoever_registers_never_believes_a_status(shop: Shop) -> None:
    assert await found_again(shop, status=in_force()) == ("orders", 1)


async def test_a_policy_that_says_it_is_in_force_and_goes_away_is_in_force_no_more(answering: Shop) -> None:
    await answering.claim(answering.policy("orders", status=in_force()))
    assert await answering.name() == "orders"
    going = {"deletionTimestamp": "2026-11-21T05:30:00Z"}
    answering.api.change("namespaceschemapolicies/orders", lambda wire: wire["metadata"].update(going))
    await answering.is_ungoverned()
