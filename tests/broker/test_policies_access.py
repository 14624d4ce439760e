"""The access of a policy to its broker: allowed hosts, Secrets, tokens that expire, certificates."""

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
    """Yield a namespace whose broker requires a token; the policy names the broker itself, over TLS."""
    async with proxied_shop(secured_pulsar, cluster, namespace) as shop:
        yield shop


def by_token(shop: BrokeredShop) -> dict[str, object]:
    return {
        "adminURL": shop.pulsar.admin_url,
        "authentication": {"token": {"secretKeyRef": {"name": "admin", "key": "token"}}},
        "tls": {"caSecretKeyRef": {"name": "admin", "key": "ca.crt"}},
    }


async def test_a_policy_over_tls_is_active_once_its_token_is_good(
    secured: BrokeredShop, credentials: Credentials
) -> None:
    ca = credentials.ca.read_text()
    secured.govern(by_token(secured), schemaCompatibilityStrategy="FULL")
    assert "admin" in conditions(await secured.policy_ready("SecretNotFound"))["Ready"]["message"]
    secured.apply_secret("admin", token="", ca_crt=ca)
    secured.apply(by_token(secured), schemaCompatibilityStrategy="BACKWARD")
    await secured.policy_ready("SecretInvalid")
    secured.apply_secret("admin", token=credentials.tokens.expired, ca_crt=ca)
    secured.apply(by_token(secured), schemaCompatibilityStrategy="FULL")
    await secured.policy_ready("BrokerUnauthorized")
    # A good token is used though the policy does not change.
    secured.apply_secret("admin", token=credentials.tokens.superuser, ca_crt=credentials.ca.read_text())
    topic = BrokeredTopic(secured)
    topic.put(ONE)  # the first reconcile that reads the Secret again enqueues all that wait for it
    await topic.ready()
    await secured.in_sync("Applied")  # without an edit of the policy


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
    """Check the role that first-steps.md recommends, which is no superuser. The policy names no Pulsar version."""
    pulsar = secured.pulsar
    admins = {"adminRoles": [ORDINARY], "allowedClusters": pulsar.call("GET", "/clusters")}
    pulsar.call("POST", "/tenants/shop", admins)
    secured.apply_secret("admin", token=credentials.tokens.ordinary, ca_crt=credentials.ca.read_text())
    secured.govern(by_token(secured), schemaCompatibilityStrategy="BACKWARD")
    status = await secured.policy_ready("Active")
    assert status["brokerRelease"]["release"].startswith(f"{PULSAR_VERSION}.")
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
    status = await secured.policy_ready("BrokerTLSVerificationFailed")
    assert statuses(status) == {"Ready": "False", "Reconciling": "True", "InSync": "Unknown"}


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
                "authentication": {"tls": {"secretRef": {"name": "operator"}}},
                "tls": {"caSecretKeyRef": {"name": "ca", "key": "ca.crt"}},
            },
            schemaCompatibilityStrategy="FULL",
        )
        await shop.policy_ready("Active")
        assert shop.broker_settings()["schemaCompatibilityStrategy"] == "FULL"
