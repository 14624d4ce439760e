"""The brokers of the policies: which Secrets are read when, and when another broker takes an earlier one's place."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from aiohttp import web

from support.kubernetes.api_server import FakeApiServer
from support.pulsar.fake_broker import FakeBroker, ManualClock, run_fake_broker
from testbed.certificates import Authority
from topicschema.api.brokers import (
    AuthenticationSpec,
    ClientCertificateSpec,
    OAuth2Spec,
    PulsarSpec,
    SecretKeyRef,
    SecretRef,
    TlsSpec,
    TokenSpec,
)
from topicschema.api.kinds import SECRET
from topicschema.api.metadata import Metadata
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec
from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerUnauthorizedError, BrokerUnavailableError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.client import ApiClient
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic
from topicschema.reconcile.brokers import Brokers

URL = "http://pulsar:8080"
REF = SecretKeyRef(name="admin", key="token")
TOPIC = Topic("shop", "orders", "created")
BY_TOKEN = AuthenticationSpec(token=TokenSpec(secret_key_ref=REF))


def policy(
    authentication: AuthenticationSpec | None = BY_TOKEN, url: str = URL, uid: str = "1"
) -> NamespaceSchemaPolicy:
    pulsar = PulsarSpec(admin_url=url, authentication=authentication)
    spec = NamespaceSchemaPolicySpec(registry="pulsar", pulsar_namespace="shop/orders", pulsar=pulsar)
    return NamespaceSchemaPolicy(metadata=Metadata(name="orders", namespace="shop", uid=uid), spec=spec)


@pytest.fixture
async def api() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as api:
        yield api


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def brokers(api: FakeApiServer, clock: ManualClock) -> AsyncIterator[Brokers]:
    async with ApiClient(api.connection) as client:
        hosts = AllowedHosts.parse("pulsar, pulsar.p.svc, pulsar.p.svc.cluster.local, 127.0.0.1")
        brokers = Brokers(client, hosts, lambda: None, clock.as_clock(), per_second=5)
        yield brokers
        await brokers.aclose()


async def broker_of(brokers: Brokers, of: NamespaceSchemaPolicy, *, refresh: bool = False) -> Broker:
    broker = await brokers.of(of, refresh=refresh)
    assert broker is not None
    return broker


def set_strategy_response(wire: FakeBroker, status: int, strategy: str = "FULL") -> None:
    """Set the response about the broker's own settings, and after it that about its version."""
    wire.clear()
    wire.respond_with(status, {"schemaCompatibilityStrategy": strategy})
    wire.respond_with(200, "4.0.7")


def put_secret(api: FakeApiServer, token: str, members: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Put the Secret, with the token and other members."""
    content = {"token": token.encode(), **members}
    api.put(SECRET, "shop", "admin", {"data": {key: base64.b64encode(raw).decode() for key, raw in content.items()}})


async def test_a_broker_is_cached_until_its_policy_or_its_secret_changes(api: FakeApiServer, brokers: Brokers) -> None:
    without = policy()
    assert await brokers.of(replace(without, spec=replace(without.spec, pulsar=None))) is None
    put_secret(api, "first\n")
    broker = await brokers.of(policy())
    assert await brokers.of(policy()) is broker
    assert api.requests == ["GET /api/v1/namespaces/shop/secrets/admin"]
    assert await brokers.of(policy(), refresh=True) is broker  # which is equal
    assert len(api.requests) == 2
    assert await brokers.of(policy(uid="2")) is not broker
    put_secret(api, "second")
    assert await brokers.of(policy()) is broker
    assert await brokers.of(policy(), refresh=True) is not broker
    assert await brokers.of(policy(url="https://pulsar:8443")) is not broker


async def test_connections_to_the_previous_broker_end_when_they_are_idle(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicschema.reconcile.brokers._CLOSING_SECONDS", 0.1)
    async with run_fake_broker() as wire:
        wire.respond_with(404, {"reason": "Schema not found"})
        before = await broker_of(brokers, policy(None, wire.url))
        await before.latest(TOPIC)
        await brokers.of(policy(None))
        assert wire.requests[0].transport is not None
        async with asyncio.timeout(60):
            while wire.requests[0].transport is not None:  # noqa: ASYNC110 - the fake broker has no event for it
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("url", ["http://elsewhere:8080", "https://pulsar:99999", "https://[::1"])
async def test_a_host_that_is_not_allowed_is_refused_before_any_secret_is_read(
    api: FakeApiServer, brokers: Brokers, url: str
) -> None:
    with pytest.raises(StalledError) as raised:
        await brokers.of(policy(url=url))
    assert raised.value.reason == "BrokerNotAllowed"
    assert api.requests == []


@pytest.mark.parametrize(
    "content", [None, {}, {"token": ""}, {"token": "***"}, {"token": 7}, {"token": "c2VjcmV0IHdvcmRz"}]
)
async def test_a_secret_that_is_missing_or_invalid_is_named_and_never_quoted(
    api: FakeApiServer, brokers: Brokers, content: dict[str, object] | None
) -> None:
    if content is not None:
        api.put(SECRET, "shop", "admin", {"data": content})
    with pytest.raises(WaitingError) as raised:
        await brokers.of(policy())
    assert raised.value.reason == ("SecretNotFound" if content is None else "SecretInvalid")
    assert "admin" in raised.value.message
    assert "secret words" not in raised.value.message
    put_secret(api, "first")
    assert await brokers.of(policy()) is not None


async def test_every_way_to_authenticate_reads_its_own_members(
    api: FakeApiServer, brokers: Brokers, tmp_path: Path
) -> None:
    issued = Authority.at(tmp_path).issue_client("operator", "pulsar")
    good = {"tls.crt": issued.certificate.read_bytes(), "tls.key": issued.key.read_bytes()}
    oauth2 = OAuth2Spec(issuer_url="https://pulsar:8443", client_id="operator", secret_key_ref=REF)
    certificate = AuthenticationSpec(tls=ClientCertificateSpec(secret_ref=SecretRef(name="admin")))
    put_secret(api, "first", good)
    for uid, authentication in enumerate((None, AuthenticationSpec(oauth2=oauth2), certificate)):
        assert await brokers.of(policy(authentication, "https://pulsar:8443", str(uid))) is not None
    put_secret(api, "first", {"tls.crt": b"certificate", "tls.key": b"key", "ca.crt": b"authority"})
    tls = TlsSpec(ca_secret_key_ref=SecretKeyRef(name="admin", key="ca.crt"))
    for members in ({"authentication": certificate}, {"tls": tls}):
        there = policy(uid="3")
        pulsar = PulsarSpec(admin_url="https://pulsar:8443", **members)  # type: ignore[arg-type]
        with pytest.raises(WaitingError) as raised:
            await brokers.of(replace(there, spec=replace(there.spec, pulsar=pulsar)))
        assert (raised.value.reason, "Secret admin" in raised.value.message) == ("SecretInvalid", True)


async def test_a_broker_that_fails_for_one_policy_responds_to_all_others(brokers: Brokers) -> None:
    async with run_fake_broker() as wire:

        async def respond(request: web.Request) -> web.Response:
            return web.json_response({"reason": "Schema not found"}, status=503 if "/ill/" in request.path else 404)

        wire.handlers.append(respond)
        ill, well = [await broker_of(brokers, policy(None, wire.url, uid)) for uid in "12"]
        for _ in range(4):
            with pytest.raises(BrokerUnavailableError):
                await ill.latest(Topic("shop", "ill", "created"))
        assert await well.latest(TOPIC) is None


async def test_a_broker_that_is_unavailable_to_one_policy_is_so_to_all_that_name_it(
    brokers: Brokers, clock: ManualClock
) -> None:
    first, second = [await broker_of(brokers, policy(None, "http://127.0.0.1:1", uid)) for uid in "12"]
    for _ in range(3):
        with pytest.raises(BrokerUnavailableError):
            await first.latest(TOPIC)
    clock.time += 2
    with pytest.raises(BrokerUnavailableError) as raised:
        await second.latest(TOPIC)
    assert raised.value.after == 3.0  # until the next probe


async def test_policies_with_one_address_share_its_limits(brokers: Brokers) -> None:
    urls = ("http://pulsar.p.svc:80", "http://pulsar.p.svc.cluster.local/", "http://pulsar:8443", "https://pulsar:8080")
    for uid, url in enumerate(urls):
        await brokers.of(policy(None, url, str(uid)))
    assert [limits.rate.per_second for limits in brokers._limits.values()] == [5, 5, 5]


async def test_a_refused_token_is_replaced_by_that_of_the_secret(api: FakeApiServer, brokers: Brokers) -> None:
    put_secret(api, "expired")
    async with run_fake_broker() as wire:
        wire.respond_with(401, {"message": "Authentication required"})
        broker = await broker_of(brokers, policy(url=wire.url))
        with pytest.raises(BrokerUnauthorizedError):
            await broker.latest(TOPIC)
        put_secret(api, "fresh")
        wire.clear()
        wire.respond_with(404, {"reason": "Schema not found"})
        fresh = await broker_of(brokers, policy(url=wire.url), refresh=True)
        assert await fresh.latest(TOPIC) is None
        assert wire.requests[0].headers["Authorization"] == "Bearer fresh"


async def own_strategy(brokers: Brokers, of: NamespaceSchemaPolicy) -> Strategy | None:
    settings = await brokers.own_settings(of, await broker_of(brokers, of))
    return None if settings is None else settings.strategy


async def test_the_settings_of_a_broker_are_cached_for_all_its_policies(brokers: Brokers, clock: ManualClock) -> None:
    async with run_fake_broker() as wire:
        first, second = policy(None, wire.url), policy(None, wire.url, uid="2")
        set_strategy_response(wire, 200, "BACKWARD")
        for each in (first, second, first):
            assert await own_strategy(brokers, each) is Strategy.BACKWARD
        assert len(wire.requests) == 1
        clock.time += 301
        set_strategy_response(wire, 200, "FORWARD")
        assert await own_strategy(brokers, second) is Strategy.FORWARD


@pytest.mark.parametrize("status", [403, 404])
async def test_settings_that_one_policy_may_not_read_are_read_for_another(brokers: Brokers, status: int) -> None:
    async with run_fake_broker() as wire:
        first, second = policy(None, wire.url), policy(None, wire.url, uid="2")
        set_strategy_response(wire, status)
        assert await own_strategy(brokers, first) is None
        before = len(wire.requests)
        assert await own_strategy(brokers, first) is None
        assert len(wire.requests) == before
        set_strategy_response(wire, 200)
        assert await own_strategy(brokers, second) is await own_strategy(brokers, first) is Strategy.FULL
