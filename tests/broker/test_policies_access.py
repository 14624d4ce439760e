"""The access of a registry to its broker: Secrets, tokens that expire, rights, certificates."""

import time
from collections.abc import AsyncIterator

import pytest

from support.kubernetes.watched_namespace import conditions, statuses, wait_for
from support.pulsar.brokered_namespace import BrokeredShop, proxied_shop
from support.pulsar.brokered_topic import ONE, BrokeredTopic
from testbed.calls import credential_of
from testbed.cluster import Cluster
from testbed.product import Product
from testbed.pulsar import PULSAR_VERSION, Pulsar
from testbed.pulsar_setup import Credentials
from testbed.tokens import ORDINARY, SUPERUSER, sign

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]

DIGIT = ONE.replace("{", '{"namespace": "shop.1x", ', 1)
"""A schema that 4.0 accepts, and newer brokers refuse for its namespace."""


@pytest.fixture
async def secured(
    shared_controller: Product, secured_pulsar: Pulsar, cluster: Cluster, namespace: str
) -> AsyncIterator[BrokeredShop]:
    """Yield a namespace whose broker requires a token; the registry names the broker itself, over TLS."""
    async with proxied_shop(secured_pulsar, cluster, namespace) as shop:
        yield shop


def by_token(shop: BrokeredShop) -> dict[str, object]:
    name = shop.secret("admin")
    return {
        "adminURL": shop.pulsar.admin_url,
        "authentication": {"token": {"secretRef": {"name": name, "key": "token"}}},
        "tls": {"caSecretRef": {"name": name, "key": "ca.crt"}},
    }


async def test_a_registry_over_tls_is_ready_once_its_token_is_good_and_a_changed_secret_is_noticed_by_itself(
    secured: BrokeredShop, credentials: Credentials
) -> None:
    ca = credentials.ca.read_text()
    secured.govern(by_token(secured), schemaCompatibilityStrategy="FULL")
    assert secured.secret("admin") in (await secured.registry_condition("Ready", "SecretNotFound"))["message"]
    await secured.policy_ready("SecretNotFound")
    for token, reason in (
        ("", "SecretInvalid"),
        (credentials.tokens.expired, "BrokerUnauthorized"),
        (credentials.tokens.superuser, "Active"),
    ):
        secured.apply_secret("admin", token=token, ca_crt=ca)
        await secured.registry_condition("Ready", reason)
    topic = BrokeredTopic(secured)
    topic.put(ONE)
    await topic.ready()
    await secured.policy_ready("Active")  # without an edit of registry and policy


async def test_a_secret_of_the_policy_s_namespace_is_not_read(secured: BrokeredShop, credentials: Credentials) -> None:
    data = {"token": credentials.tokens.superuser, "ca.crt": credentials.ca.read_text()}
    metadata = {"name": secured.secret("admin"), "namespace": secured.watched.namespace}
    wire = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    secured.watched.shop.api.apply("secrets", wire)
    secured.govern(by_token(secured))
    assert (await secured.registry_condition("Ready", "SecretNotFound"))["status"] == "False"


async def test_a_token_that_is_replaced_before_it_expires_is_used_from_the_next_reconcile_on(
    secured: BrokeredShop, credentials: Credentials
) -> None:
    authentication = by_token(secured)["authentication"]
    secured.apply_secret("admin", token=credentials.tokens.superuser)
    secured.govern({"authentication": authentication}, schemaCompatibilityStrategy="FULL")
    await secured.policy_ready("Active")
    token = sign(credentials.tokens.key, SUPERUSER, int(time.time()) + 3600)
    secured.apply_secret("admin", token=token)

    async def credentials_of_calls() -> set[str]:
        return {call.credential for call in secured.proxy.calls}

    await wait_for(credentials_of_calls, lambda current: credential_of(f"Bearer {token}") in current)
    assert all(call.status != 401 for call in secured.proxy.calls)


async def test_a_tenant_s_admin_has_topics_judged_by_the_broker_s_own_version(
    secured: BrokeredShop, credentials: Credentials
) -> None:
    """Check the role that first-steps.md recommends, which is no superuser. The registry names no Pulsar version."""
    pulsar = secured.pulsar
    admins = {"adminRoles": [ORDINARY], "allowedClusters": pulsar.call("GET", "/clusters")}
    pulsar.call("POST", "/tenants/shop", admins)
    secured.apply_secret("admin", token=credentials.tokens.ordinary, ca_crt=credentials.ca.read_text())
    secured.govern(by_token(secured), schemaCompatibilityStrategy="BACKWARD")
    status = await secured.policy_ready("Active")
    assert status["registry"]["version"].startswith(f"{PULSAR_VERSION}.")
    reachable = await secured.registry_condition("Reachable", "Reachable")
    assert "the broker's own settings cannot be read" in reachable["message"]
    topic = BrokeredTopic(secured)
    topic.put(DIGIT)
    if PULSAR_VERSION == "4.0":
        assert (await topic.ready())["schemaVersion"] == 0
        assert await topic.assert_recorded() == [0]
    else:
        status = await topic.ready("InvalidSchema")
        assert "INVALID_NAME" in conditions(status)["Ready"]["message"]
        assert topic.rest.upload(DIGIT).status == 422
        assert topic.rest.versions() == []


async def test_a_broker_with_the_certificate_of_an_unknown_ca_is_not_trusted(secured: BrokeredShop) -> None:
    secured.govern({"adminURL": secured.pulsar.admin_url})
    await secured.registry_condition("Ready", "BrokerTLSVerificationFailed")
    status = await secured.policy_ready("BrokerTLSVerificationFailed")
    assert statuses(status) == {"Ready": "False", "Reconciling": "True", "InSync": "Unknown"}


async def test_a_tenant_that_the_role_may_not_manage_is_named_with_the_command_that_grants_it(
    secured: BrokeredShop, credentials: Credentials
) -> None:
    pulsar = secured.pulsar
    pulsar.call("POST", "/tenants/shop", {"adminRoles": [], "allowedClusters": pulsar.call("GET", "/clusters")})
    secured.apply_secret("admin", token=credentials.tokens.ordinary, ca_crt=credentials.ca.read_text())
    secured.govern(by_token(secured))

    async def message() -> str:
        return str((await secured.registry_condition("Reachable", "Reachable"))["message"])

    command = f"pulsar-admin tenants update shop --admin-roles ROLES,{ORDINARY}"
    await wait_for(message, lambda current: command in current)


async def test_a_client_certificate_makes_a_policy_active(
    shared_controller: Product, certificate_pulsar: Pulsar, cluster: Cluster, namespace: str
) -> None:
    credentials = certificate_pulsar.credentials
    assert credentials is not None
    async with proxied_shop(certificate_pulsar, cluster, namespace) as shop:
        superuser = credentials.superuser
        shop.apply_secret("operator", tls_crt=superuser.certificate.read_bytes(), tls_key=superuser.key.read_bytes())
        shop.apply_secret("ca", ca_crt=credentials.ca.read_bytes())
        shop.govern(
            {
                "adminURL": certificate_pulsar.admin_url,
                "authentication": {"tls": {"secretRef": {"name": shop.secret("operator")}}},
                "tls": {"caSecretRef": {"name": shop.secret("ca"), "key": "ca.crt"}},
            },
            schemaCompatibilityStrategy="FULL",
        )
        await shop.policy_ready("Active")
        assert shop.broker_settings()["schemaCompatibilityStrategy"] == "FULL"
