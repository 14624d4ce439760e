"""The policy that governs a Pulsar namespace where two in two Kubernetes namespaces name one broker."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import ORDERS, World
from support.pulsar.fake_broker import FakeBroker, run_fake_broker
from topicschema.api.kinds import NAMESPACE, NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY
from topicschema.api.registries import PulsarSpec
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult

pytestmark = on_both_stores

FIRST = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
SECOND = Key(NAMESPACE_SCHEMA_POLICY.plural, "store", "secret-name")
THEIRS = PulsarNamespaceKey("theirs", "shop", "orders")


@pytest.fixture
async def elsewhere() -> AsyncIterator[FakeBroker]:
    """Yield another broker, which has the Pulsar namespace, too."""
    async with run_fake_broker() as wire:
        wire.respond_with(200, {"schema_validation_enforced": False})
        yield wire


def put_second(world: World, url: str | None) -> None:
    """Put a policy in another Kubernetes namespace, for another registry with that broker."""
    world.set_registry("theirs", pulsar=None if url is None else {"adminURL": url})
    spec = {"registry": "theirs", "pulsarNamespace": "shop/orders"}
    world.api.put(NAMESPACE_SCHEMA_POLICY, SECOND.namespace, SECOND.name, {"spec": spec})


async def holder(world: World, key: PulsarNamespaceKey) -> str | None:
    owner = (await world.ctx.storage.get_claim(key)).owner
    return None if owner is None else owner.namespace


async def refused(policies: NamespaceSchemaPolicies, key: Key) -> str:
    with pytest.raises(StalledError) as raised:
        await policies.reconcile(key)
    assert raised.value.reason == "TopicAlreadyClaimed"
    return raised.value.message


@pytest.mark.parametrize("ending", ["", "/"])
async def test_a_broker_of_two_registries_has_one_policy_for_a_pulsar_namespace(world: World, ending: str) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    put_second(world, world.broker.url + ending)
    message = await refused(policies, SECOND)
    assert "shop/orders at this broker" in message
    assert "orders" not in message.replace("shop/orders", "")
    assert await holder(world, THEIRS) is None
    assert await policies.reconcile(FIRST) is ReconcileResult.DONE
    writes = world.writes
    await refused(policies, SECOND)
    assert await policies.reconcile(FIRST) is ReconcileResult.DONE
    assert world.writes == writes


async def test_the_second_governs_once_the_first_is_gone_or_is_elsewhere(world: World, elsewhere: FakeBroker) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    await policies.reconcile(FIRST)
    put_second(world, world.broker.url)
    await refused(policies, SECOND)
    world.set_registry(pulsar={"adminURL": elsewhere.url})
    assert await policies.reconcile(FIRST) is ReconcileResult.DONE
    assert await policies.reconcile(SECOND) is ReconcileResult.DONE
    assert (await holder(world, ORDERS), await holder(world, THEIRS)) == ("shop", "store")


async def test_a_policy_whose_registry_moves_to_the_broker_of_another_one_governs_nothing_any_more(
    world: World, elsewhere: FakeBroker
) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    put_second(world, elsewhere.url)
    assert await policies.reconcile(SECOND) is ReconcileResult.DONE
    world.set_registry("theirs", pulsar=world.pulsar)
    await refused(policies, SECOND)
    assert await holder(world, THEIRS) is None
    assert await policies.reconcile(FIRST) is ReconcileResult.DONE


async def test_topics_wait_until_their_policy_has_claimed_the_broker_that_its_registry_names_now(world: World) -> None:
    world.set_registry(pulsar={"adminURL": "http://127.0.0.1:1"})
    with pytest.raises(ConflictError, match="has not claimed"):
        await world.ctx.policies.resolve("shop", "shop/orders")


async def test_two_registries_without_a_broker_have_a_policy_each(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    put_second(world, None)
    assert await policies.reconcile(SECOND) is ReconcileResult.DONE
    assert await policies.reconcile(FIRST) is ReconcileResult.DONE


SELECTORS = {
    "names": ({"matchNames": ["shop", "store"]}, {}, {}),
    "labels": ({"matchLabels": {"team": "a"}}, {"team": "a"}, {"team": "b"}),
    "in": ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, {"team": "b"}, {}),
    "not in": ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["b"]}]}, {}, {"team": "b"}),
    "exists": ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, {"team": ""}, {}),
    "all": ({"matchNames": ["shop"], "matchLabels": {"team": "a"}}, {"team": "a"}, {}),
}


@pytest.mark.parametrize("case", SELECTORS)
@pytest.mark.parametrize("pulsar_namespaces", [["shop/*"], ["other/*", "shop/orders"]])
async def test_a_policy_governs_while_its_registry_allows_its_namespace_to(
    world: World, case: str, pulsar_namespaces: list[str]
) -> None:
    selector, labels, without = SELECTORS[case]
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    allowed = [{"namespaceSelector": selector, "pulsarNamespaces": pulsar_namespaces}]
    world.set_registry(pulsar=world.pulsar, allowedNamespaces=allowed)
    world.api.put(NAMESPACE, "", "shop", {"metadata": {"labels": labels}})
    assert await policies.reconcile(FIRST) is ReconcileResult.DONE
    assert await holder(world, ORDERS) == "shop"
    if labels == without:
        world.set_registry(pulsar=world.pulsar, allowedNamespaces=[])
    else:
        world.api.put(NAMESPACE, "", "shop", {"metadata": {"labels": without}})
    for _ in range(2):
        with pytest.raises(
            StalledError, match=r"registry pulsar does not allow namespace shop to govern shop/orders"
        ) as raised:
            await policies.reconcile(FIRST)
        assert raised.value.reason == "ClaimNotAllowed"
        assert await holder(world, ORDERS) is None
    with pytest.raises(StalledError) as raised:
        await world.ctx.policies.resolve("shop", "shop/orders")
    assert raised.value.reason == "ClaimNotAllowed"


@pytest.mark.parametrize(
    "allowed",
    [
        [],
        [{"namespaceSelector": {"matchNames": ["shop"]}, "pulsarNamespaces": ["shop/order", "*/returns", "shop"]}],
        [{"namespaceSelector": {"matchNames": ["sho"]}, "pulsarNamespaces": ["*/*"]}],
        [{"namespaceSelector": {}, "pulsarNamespaces": ["*/*"]}],
    ],
)
async def test_without_an_entry_a_policy_governs_nothing(world: World, allowed: list[object]) -> None:
    world.set_registry("theirs", allowedNamespaces=allowed)
    spec = {"registry": "theirs", "pulsarNamespace": "shop/orders"}
    world.api.put(NAMESPACE_SCHEMA_POLICY, "shop", "second", {"spec": spec})
    with pytest.raises(StalledError) as raised:
        await NamespaceSchemaPolicies(world.ctx, 600.0).reconcile(Key(FIRST.plural, "shop", "second"))
    assert raised.value.reason == "ClaimNotAllowed"
    assert await holder(world, THEIRS) is None


async def test_the_claim_of_a_namespace_without_the_right_is_free_for_another(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    await policies.reconcile(FIRST)
    spec = {"registry": "pulsar", "pulsarNamespace": "shop/orders"}
    world.api.put(NAMESPACE_SCHEMA_POLICY, SECOND.namespace, SECOND.name, {"spec": spec})
    await refused(policies, SECOND)
    allowed = [{"namespaceSelector": {"matchNames": ["store"]}, "pulsarNamespaces": ["shop/orders"]}]
    world.set_registry(pulsar=world.pulsar, allowedNamespaces=allowed)
    assert await policies.reconcile(SECOND) is ReconcileResult.DONE
    assert await holder(world, ORDERS) == "store"


async def test_a_policy_waits_for_its_registry(world: World) -> None:
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    await policies.reconcile(FIRST)
    world.api.delete(SCHEMA_REGISTRY, "", "pulsar")
    for waits in (policies.reconcile(FIRST), world.ctx.policies.resolve("shop", "shop/orders")):
        with pytest.raises(WaitingError, match="there is no SchemaRegistry pulsar") as raised:
            await waits
        assert raised.value.reason == "RegistryNotFound"
    assert await holder(world, ORDERS) == "shop", "it may come back"
    world.set_registry(pulsar=world.pulsar)
    assert await policies.reconcile(FIRST) is ReconcileResult.DONE


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://Pulsar.example:8080/", "pulsar.example:8080"),
        ("https://pulsar.example.", "pulsar.example:443"),
        ("http://pulsar.example", "pulsar.example:80"),
        ("http://admin.pulsar.svc.cluster.local:8080", "admin.pulsar.svc:8080"),
        ("http://[::1]:8080", "::1:8080"),
        ("https://pulsar:99999", "https://pulsar:99999"),
    ],
)
def test_an_address_is_spelled_in_one_way(url: str, address: str) -> None:
    assert PulsarSpec(admin_url=url).address == address
