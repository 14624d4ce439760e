"""A policy and its Pulsar namespace at a real broker: what is set, left alone, told, and waited for."""

import time
from collections.abc import AsyncIterator, Iterator

import pytest
from aiohttp import web

from brokered_shop import RESYNC, BrokeredShop, brokered
from testbed import broker_faults
from testbed.cluster import Cluster
from testbed.fault_proxy import Exchange, FaultProxy
from testbed.instances import Instance
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import SHORT_LEASE, Product
from testbed.pulsar import Pulsar
from testbed.tokens import SUPERUSER, sign
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.history import Setting
from topicschema.core.remote import NamespaceSettings
from topicschema.core.strategies import Strategy
from topicschema.reconcile.policies import Policies
from topicschema.storage.claims import Claims
from watched_shop import conditions, says, text

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.fixture(scope="module")
def controller(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The controller alone; it may call brokers on 127.0.0.1, and looks at each policy every two seconds."""
    installed = Product.install(instance, cluster, {**SHORT_LEASE, **RESYNC})
    try:
        installed.admit_all()
        installed.start_controller()
        yield installed
    finally:
        installed.stop()


@pytest.fixture
async def shop(controller: Product, pulsar: Pulsar, cluster: Cluster, namespace: str) -> AsyncIterator[BrokeredShop]:
    """A namespace that the controller watches, with its Pulsar namespace; it has no policy yet."""
    with FaultProxy.before(pulsar) as proxy:
        async with brokered(proxy, cluster, namespace) as shop:
            shop.make_namespace()
            yield shop


@pytest.fixture
async def secured(
    controller: Product, secured_pulsar: Pulsar, cluster: Cluster, namespace: str
) -> AsyncIterator[BrokeredShop]:
    """The same at a broker that asks for a token; the policy is to name the broker itself, over TLS."""
    with FaultProxy.before(secured_pulsar) as proxy:
        async with brokered(proxy, cluster, namespace) as shop:
            shop.make_namespace()
            yield shop


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("schemaCompatibilityStrategy", "BACKWARD_TRANSITIVE", NamespaceSettings()),
        ("isAllowAutoUpdateSchema", False, NamespaceSettings(allows_auto_update=True)),
        ("schemaValidationEnforced", True, NamespaceSettings(enforces_validation=False)),
    ],
)
async def test_a_setting_is_set_alone_and_what_was_there_is_on_record(
    shop: BrokeredShop, field: str, value: object, found: NamespaceSettings
) -> None:
    before = shop.there()
    shop.govern(**{field: value})
    status = await shop.policy_ready("InForce")
    assert says(status) == {"Ready": "True", "InSync": "True"}
    assert shop.there() == {**before, field: value}
    assert status["observed"][field] == value
    assert status["observed"]["broker"]["schemaCompatibilityStrategy"] == "FULL"
    claim = await shop.claim()
    assert (claim.found, claim.managed) == (found, (Setting(field),))
    assert len(shop.written) == 1
    assert await shop.looked_again() == []


async def test_a_policy_that_sets_nothing_writes_nothing_and_observes(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    before = shop.there()
    shop.govern()
    status = await shop.policy_ready("InForce")
    assert status["observed"]["schemaCompatibilityStrategy"] == "FORWARD"
    assert (shop.there(), shop.written) == (before, [])
    assert (await shop.claim()).managed == ()
    assert await shop.looked_again() == []


async def test_what_is_as_it_should_be_is_not_written_and_not_called_managed(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    shop.govern(schemaCompatibilityStrategy="FORWARD")
    await shop.policy_ready("InForce")
    assert shop.written == []
    assert (await shop.claim()).managed == ()


async def test_undefined_resets_the_strategy_to_the_broker_s_own(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    shop.govern(schemaCompatibilityStrategy="UNDEFINED")
    status = await shop.policy_ready("InForce")
    assert "schemaCompatibilityStrategy" not in shop.there()
    assert "schemaCompatibilityStrategy" not in status["observed"]
    assert (await shop.claim()).found == NamespaceSettings(Strategy.FORWARD)
    assert await shop.looked_again() == []


async def test_a_field_that_is_removed_leaves_the_broker_as_it_is_and_that_is_told_once(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    shop.govern(schemaCompatibilityStrategy="FULL", schemaValidationEnforced=True)
    await shop.policy_ready("InForce")
    shop.apply(schemaValidationEnforced=True)
    status = await shop.policy_ready("InForce")
    told = conditions(status)["InSync"]["message"]
    assert "schemaCompatibilityStrategy is not managed any more: the broker keeps FULL, and had FORWARD" in told
    assert shop.there()["schemaCompatibilityStrategy"] == "FULL"
    assert await shop.looked_again() == []
    (event,) = await shop.events("SettingKept")
    assert (event["type"], event.get("series")) == ("Normal", None)
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")  # by hand, from the claim
    shop.apply(schemaValidationEnforced=True, strictness="Strict")
    status = await shop.policy_ready("InForce")
    assert "not managed any more" not in conditions(status)["InSync"]["message"]


async def test_who_observes_tells_what_differs_and_writes_nothing(shop: BrokeredShop) -> None:
    shop.govern(managementPolicy="Observe", schemaCompatibilityStrategy="FORWARD", isAllowAutoUpdateSchema=False)
    status = await shop.policy_ready("Observed")
    assert says(status) == {"Ready": "True", "InSync": "False"}
    assert "schemaCompatibilityStrategy is nothing and not FORWARD" in conditions(status)["InSync"]["message"]
    assert shop.written == []
    assert await shop.looked_again() == []
    shop.apply(schemaCompatibilityStrategy="FORWARD")
    await shop.policy_ready("InForce")
    assert shop.there()["schemaCompatibilityStrategy"] == "FORWARD"


async def test_a_lock_waits_for_topics_without_a_topicschema_and_all_else_goes_on(shop: BrokeredShop) -> None:
    shop.make_topics("created", "created-billing-DLQ")
    shop.pulsar.tell("PUT", f"/persistent/{shop.pulsar_namespace}/billed/partitions", 2)
    shop.watched.put(text("id"))
    shop.govern(isAllowAutoUpdateSchema=False, schemaCompatibilityStrategy="BACKWARD")
    status = await shop.policy_ready("UndeclaredTopics")
    assert says(status) == {"Ready": "False", "Reconciling": "True", "InSync": "False"}
    assert (status["undeclaredTopicCount"], status["undeclaredTopics"]) == (2, ["billed", "created-billing-DLQ"])
    assert shop.there()["schemaCompatibilityStrategy"] == "BACKWARD"
    assert shop.there()["isAllowAutoUpdateSchema"] is True
    assert len(await shop.events("UndeclaredTopics")) == 1
    await shop.counted(1)
    shop.proxy.forget()
    assert await shop.watched.looked_again("orders", NAMESPACE_SCHEMA_POLICY) == []
    assert shop.proxy.calls
    assert shop.written == []
    for name in ("billed", "created-billing-DLQ"):
        shop.watched.put(text("id"), name.lower(), topic=f"persistent://{shop.pulsar_namespace}/{name}")
    status = await shop.policy_ready("InForce")
    assert shop.there()["isAllowAutoUpdateSchema"] is False
    assert (status["undeclaredTopicCount"], status["undeclaredTopics"]) == (0, [])
    await shop.counted(3)
    shop.make_topics("late")  # a lock that is in place waits for nobody
    assert await shop.looked_again() == []


async def test_a_lock_that_may_hit_undeclared_topics_goes_ahead(shop: BrokeredShop) -> None:
    shop.make_topics("created")
    shop.govern(isAllowAutoUpdateSchema=False, lockUndeclared=True)
    await shop.policy_ready("InForce")
    assert shop.there()["isAllowAutoUpdateSchema"] is False


async def test_a_pulsar_namespace_that_is_missing_is_waited_for_and_never_made(shop: BrokeredShop) -> None:
    shop.pulsar.tell("DELETE", f"/namespaces/{shop.pulsar_namespace}")
    shop.govern(schemaCompatibilityStrategy="FULL")
    status = await shop.policy_ready("NamespaceMissing")
    assert says(status) == {"Ready": "False", "Reconciling": "True", "InSync": "False"}
    assert shop.written == []
    shop.make_namespace()
    shop.apply(schemaCompatibilityStrategy="FULL", strictness="Strict")
    await shop.policy_ready("InForce")


async def test_a_broker_that_goes_away_leaves_what_was_applied_ready(shop: BrokeredShop) -> None:
    shop.govern(schemaCompatibilityStrategy="FULL")
    await shop.policy_ready("InForce")
    shop.proxy.refuse()
    status = await shop.in_sync("BrokerUnavailable")
    assert says(status) == {"Ready": "True", "InSync": "Unknown"}
    shop.apply(schemaCompatibilityStrategy="BACKWARD")
    status = await shop.policy_ready("BrokerUnavailable")
    assert says(status) == {"Ready": "False", "Reconciling": "True", "InSync": "Unknown"}
    shop.proxy.accept()
    await shop.policy_ready("InForce")
    assert shop.there()["schemaCompatibilityStrategy"] == "BACKWARD"


async def test_a_write_that_fails_finds_what_was_there_on_record_already(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    refusal = broker_faults.status(500)

    async def fails(exchange: Exchange) -> web.StreamResponse:
        return await (refusal(exchange) if exchange.call.is_write else exchange.forward())

    shop.proxy.fault = fails
    shop.govern(schemaCompatibilityStrategy="FULL")
    status = await shop.policy_ready("BrokerUnavailable")
    assert says(status) == {"Ready": "False", "Reconciling": "True", "InSync": "Unknown"}
    assert shop.there()["schemaCompatibilityStrategy"] == "FORWARD"
    recorded = await shop.claim()
    assert (recorded.found, recorded.managed) == (NamespaceSettings(Strategy.FORWARD), (Setting.STRATEGY,))
    shop.proxy.forget()
    await shop.policy_ready("InForce")
    assert shop.there()["schemaCompatibilityStrategy"] == "FULL"
    assert (await shop.claim()).found == recorded.found


async def test_a_broker_that_says_yes_and_stores_nothing_is_not_believed(shop: BrokeredShop) -> None:
    shop.proxy.fault = broker_faults.stores_nothing()
    shop.govern(schemaCompatibilityStrategy="FULL")
    status = await shop.policy_ready("BrokerInconsistent")
    assert says(status) == {"Ready": "False", "Reconciling": "True", "InSync": "False"}
    shop.proxy.forget()
    shop.apply(schemaCompatibilityStrategy="FULL", strictness="Strict")
    await shop.policy_ready("InForce")


async def test_a_strategy_that_others_set_at_the_broker_reaches_the_topics(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    shop.watched.put(text("id"))
    shop.govern()
    await shop.strategy("FORWARD", "Namespace")
    shop.set("PUT", "schemaCompatibilityStrategy", "UNDEFINED")
    await shop.strategy("FULL", "Broker")
    assert shop.proxy.errors == []


async def test_topics_are_judged_while_the_broker_of_their_policy_is_away(shop: BrokeredShop) -> None:
    shop.watched.put(text("id"))
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    await shop.watched.ready("Registered")
    shop.proxy.refuse()
    await shop.in_sync("BrokerUnavailable")
    shop.apply(schemaCompatibilityStrategy="FULL")
    await shop.policy_ready("BrokerUnavailable")
    found = await Policies(
        shop.watched.shop.client, Claims(shop.watched.shop.client, SYSTEM), believes_status=True
    ).find(shop.watched.namespace, shop.pulsar_namespace)
    assert found is not None
    assert found.policy.strategy is Strategy.FULL


async def test_a_host_that_is_not_allowed_is_never_called(shop: BrokeredShop) -> None:
    shop.govern({"adminURL": shop.proxy.url.replace("127.0.0.1", "localhost")})
    status = await shop.policy_ready("BrokerNotAllowed")
    assert says(status) == {"Ready": "False", "Stalled": "True", "InSync": "Unknown"}
    assert shop.proxy.calls == []


def by_token(shop: BrokeredShop) -> dict[str, object]:
    return {
        "adminURL": shop.pulsar.admin_url,
        "authentication": {"token": {"secretKeyRef": {"name": "admin", "key": "token"}}},
        "tls": {"caSecretKeyRef": {"name": "admin", "key": "ca.crt"}},
    }


async def test_over_tls_with_a_token_and_a_token_that_is_renewed(secured: BrokeredShop) -> None:
    credentials = secured.pulsar.credentials
    assert credentials is not None
    ca = credentials.ca.read_text()
    secured.govern(by_token(secured), schemaCompatibilityStrategy="FULL")
    assert "admin" in conditions(await secured.policy_ready("SecretMissing"))["Ready"]["message"]
    secured.keep("admin", token="", ca_crt=ca)
    secured.apply(by_token(secured), schemaCompatibilityStrategy="BACKWARD")
    await secured.policy_ready("SecretInvalid")
    secured.keep("admin", token=credentials.tokens.expired, ca_crt=ca)
    secured.apply(by_token(secured), schemaCompatibilityStrategy="FULL")
    await secured.policy_ready("BrokerUnauthorized")
    secured.keep("admin", token=sign(credentials.tokens.key, SUPERUSER, int(time.time()) + 15), ca_crt=ca)
    secured.apply(by_token(secured), schemaCompatibilityStrategy="BACKWARD")
    await secured.policy_ready("InForce")
    assert secured.there()["schemaCompatibilityStrategy"] == "BACKWARD"
    await secured.in_sync("BrokerUnauthorized")  # once the token has run out
    secured.keep("admin", token=credentials.tokens.superuser, ca_crt=ca)
    secured.apply(by_token(secured), schemaCompatibilityStrategy="FULL")
    await secured.policy_ready("InForce")
    assert secured.there()["schemaCompatibilityStrategy"] == "FULL"


async def test_a_broker_whose_certificate_nobody_vouches_for_is_not_trusted(secured: BrokeredShop) -> None:
    secured.govern({"adminURL": secured.pulsar.admin_url})
    status = await secured.policy_ready("BrokerUntrusted")
    assert says(status) == {"Ready": "False", "Reconciling": "True", "InSync": "Unknown"}


async def test_by_a_client_certificate(
    controller: Product, certificate_pulsar: Pulsar, cluster: Cluster, namespace: str
) -> None:
    credentials = certificate_pulsar.credentials
    assert credentials is not None
    with FaultProxy.before(certificate_pulsar) as proxy:
        async with brokered(proxy, cluster, namespace) as shop:
            shop.make_namespace()
            superuser = credentials.superuser
            shop.keep("operator", tls_crt=superuser.certificate.read_bytes(), tls_key=superuser.key.read_bytes())
            shop.keep("ca", ca_crt=credentials.ca.read_bytes())
            shop.govern(
                {
                    "adminURL": certificate_pulsar.admin_url,
                    "authentication": {"tls": {"secretRef": {"name": "operator"}}},
                    "tls": {"caSecretKeyRef": {"name": "ca", "key": "ca.crt"}},
                },
                schemaCompatibilityStrategy="FULL",
            )
            await shop.policy_ready("InForce")
            assert shop.there()["schemaCompatibilityStrategy"] == "FULL"
