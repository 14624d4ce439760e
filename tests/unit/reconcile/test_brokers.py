"""The brokers of the registries: which Secrets are read when, and when another broker takes an earlier one's place."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from aiohttp import web

from support.kubernetes.api_server import FakeApiServer
from support.pulsar.fake_broker import FakeBroker, ManualClock, run_fake_broker
from testbed.certificates import Authority
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api.kinds import SECRET
from topicschema.api.metadata import Metadata
from topicschema.api.registries import (
    AuthenticationSpec,
    ClientCertificateSpec,
    OAuth2Spec,
    PulsarSpec,
    SchemaRegistry,
    SchemaRegistrySpec,
    SecretKeyRef,
    SecretRef,
    TlsSpec,
    TokenSpec,
)
from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerNotAllowedError, BrokerUnauthorizedError, BrokerUnavailableError
from topicschema.cluster.client import ApiClient
from topicschema.core.errors import WaitingError
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic
from topicschema.reconcile.brokers import Brokers

URL = "http://pulsar:8080"
REF = SecretKeyRef(name="admin", key="token")
TOPIC = Topic("shop", "orders", "created")
BY_TOKEN = AuthenticationSpec(token=TokenSpec(secret_ref=REF))


def registry(
    authentication: AuthenticationSpec | None = BY_TOKEN, url: str = URL, name: str = "pulsar", **pulsar: Any
) -> SchemaRegistry:
    spec = SchemaRegistrySpec(pulsar=PulsarSpec(admin_url=url, authentication=authentication, **pulsar))
    return SchemaRegistry(metadata=Metadata(name=name), spec=spec)


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
        brokers = Brokers(client, SYSTEM, lambda: None, clock.as_clock(), per_second=5)
        yield brokers
        await brokers.aclose()


async def broker_of(brokers: Brokers, of: SchemaRegistry, *, refresh: bool = False) -> Broker:
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
    api.put(SECRET, SYSTEM, "admin", {"data": {key: base64.b64encode(raw).decode() for key, raw in content.items()}})


async def test_a_broker_is_cached_until_its_registry_or_its_secret_changes(
    api: FakeApiServer, brokers: Brokers
) -> None:
    assert await brokers.of(replace(registry(), spec=SchemaRegistrySpec())) is None
    put_secret(api, "first\n")
    broker = await brokers.of(registry())
    assert await brokers.of(registry()) is broker
    assert api.requests == [f"GET /api/v1/namespaces/{SYSTEM}/secrets/admin"]
    assert await brokers.of(registry(), refresh=True) is broker  # which is equal
    assert len(api.requests) == 2
    assert await brokers.of(registry(name="second")) is not broker
    put_secret(api, "second")
    assert await brokers.of(registry()) is broker
    assert await brokers.of(registry(), refresh=True) is not broker
    assert await brokers.of(registry(url="https://pulsar:8443")) is not broker


async def test_connections_to_the_previous_broker_end_when_they_are_idle(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicschema.reconcile.brokers._CLOSING_SECONDS", 0.1)
    async with run_fake_broker() as wire:
        wire.respond_with(404, {"reason": "Schema not found"})
        before = await broker_of(brokers, registry(None, wire.url))
        await before.latest(TOPIC)
        await brokers.of(registry(None))
        assert wire.requests[0].transport is not None
        async with asyncio.timeout(60):
            while wire.requests[0].transport is not None:  # noqa: ASYNC110 - the fake broker has no event for it
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("url", ["https://pulsar:99999", "https://[::1"])
async def test_an_admin_url_that_bypassed_the_crd_is_an_error(brokers: Brokers, url: str) -> None:
    with pytest.raises(BrokerNotAllowedError, match="is not a URL"):
        await brokers.of(registry(None, url))


@pytest.mark.parametrize("place", ["{host}:{port}", "{host}", "127.*.0.1", "{host}:1", "", "127.0.0.*.example"])
async def test_the_token_goes_only_to_the_host_of_the_admin_url_and_to_redirect_hosts(
    api: FakeApiServer, brokers: Brokers, place: str
) -> None:
    put_secret(api, "first")
    async with run_fake_broker() as wire, run_fake_broker() as owner:
        host, _, port = owner.url.removeprefix("http://").partition(":")
        hosts = (place.format(host=host, port=port),) if place else ()
        wire.respond_with(307, Location=f"{owner.url}/admin/v2/schemas/shop/orders/created/schema")
        owner.respond_with(404, {"reason": "Schema not found"})
        broker = await broker_of(brokers, registry(url=wire.url, redirect_hosts=hosts))
        is_allowed = place in {"{host}:{port}", "{host}", "127.*.0.1"}
        if is_allowed:
            assert await broker.latest(TOPIC) is None
        else:
            with pytest.raises(BrokerNotAllowedError, match=r"not in spec\.pulsar\.redirectHosts of registry pulsar"):
                await broker.latest(TOPIC)
        assert wire.requests[0].headers["Authorization"] == "Bearer first"
        assert [each.headers["Authorization"] for each in owner.requests] == ["Bearer first"] * is_allowed


@pytest.mark.parametrize(
    "content", [None, {}, {"token": ""}, {"token": "***"}, {"token": 7}, {"token": "c2VjcmV0IHdvcmRz"}]
)
async def test_a_secret_that_is_missing_or_invalid_is_named_and_never_quoted(
    api: FakeApiServer, brokers: Brokers, content: dict[str, object] | None
) -> None:
    if content is not None:
        api.put(SECRET, SYSTEM, "admin", {"data": content})
    with pytest.raises(WaitingError) as raised:
        await brokers.of(registry())
    assert raised.value.reason == ("SecretNotFound" if content is None else "SecretInvalid")
    assert "admin" in raised.value.message
    assert "secret words" not in raised.value.message
    put_secret(api, "first")
    assert await brokers.of(registry()) is not None


async def test_every_way_to_authenticate_reads_its_own_members(
    api: FakeApiServer, brokers: Brokers, tmp_path: Path
) -> None:
    issued = Authority.at(tmp_path).issue_client("operator", "pulsar")
    good = {"tls.crt": issued.certificate.read_bytes(), "tls.key": issued.key.read_bytes()}
    oauth2 = OAuth2Spec(issuer_url="https://pulsar:8443", client_id="operator", secret_ref=REF)
    certificate = AuthenticationSpec(tls=ClientCertificateSpec(secret_ref=SecretRef(name="admin")))
    put_secret(api, "first", good)
    for number, authentication in enumerate((None, AuthenticationSpec(oauth2=oauth2), certificate)):
        assert await brokers.of(registry(authentication, "https://pulsar:8443", str(number))) is not None
    put_secret(api, "first", {"tls.crt": b"certificate", "tls.key": b"key", "ca.crt": b"authority"})
    tls = TlsSpec(ca_secret_ref=SecretKeyRef(name="admin", key="ca.crt"))
    for there in (
        registry(certificate, "https://pulsar:8443", "3"),
        registry(None, "https://pulsar:8443", "3", tls=tls),
    ):
        with pytest.raises(WaitingError) as raised:
            await brokers.of(there)
        assert (raised.value.reason, "Secret admin" in raised.value.message) == ("SecretInvalid", True)


async def test_a_broker_that_fails_for_one_registry_responds_to_all_others(brokers: Brokers) -> None:
    async with run_fake_broker() as wire:

        async def respond(request: web.Request) -> web.Response:
            return web.json_response({"reason": "Schema not found"}, status=503 if "/ill/" in request.path else 404)

        wire.handlers.append(respond)
        ill, well = [await broker_of(brokers, registry(None, wire.url, name)) for name in "12"]
        for _ in range(4):
            with pytest.raises(BrokerUnavailableError):
                await ill.latest(Topic("shop", "ill", "created"))
        assert await well.latest(TOPIC) is None


async def test_a_broker_that_is_unavailable_to_one_registry_is_so_to_all_that_name_it(
    brokers: Brokers, clock: ManualClock
) -> None:
    first, second = [await broker_of(brokers, registry(None, "http://127.0.0.1:1", name)) for name in "12"]
    for _ in range(3):
        with pytest.raises(BrokerUnavailableError):
            await first.latest(TOPIC)
    clock.time += 2
    with pytest.raises(BrokerUnavailableError) as raised:
        await second.latest(TOPIC)
    assert raised.value.after == 3.0  # until the next probe


async def test_registries_with_one_address_share_its_limits(brokers: Brokers) -> None:
    urls = ("http://pulsar.p.svc:80", "http://pulsar.p.svc.cluster.local/", "http://pulsar:8443", "https://pulsar:8080")
    for number, url in enumerate(urls):
        await brokers.of(registry(None, url, str(number)))
    assert [limits.rate.per_second for limits in brokers._limits.values()] == [5, 5, 5]


async def test_a_refused_token_is_replaced_by_that_of_the_secret(api: FakeApiServer, brokers: Brokers) -> None:
    put_secret(api, "expired")
    async with run_fake_broker() as wire:
        wire.respond_with(401, {"message": "Authentication required"})
        broker = await broker_of(brokers, registry(url=wire.url))
        with pytest.raises(BrokerUnauthorizedError):
            await broker.latest(TOPIC)
        put_secret(api, "fresh")
        wire.clear()
        wire.respond_with(404, {"reason": "Schema not found"})
        fresh = await broker_of(brokers, registry(url=wire.url), refresh=True)
        assert await fresh.latest(TOPIC) is None
        assert wire.requests[0].headers["Authorization"] == "Bearer fresh"


async def own_strategy(brokers: Brokers, of: SchemaRegistry) -> Strategy | None:
    settings = await brokers.own_settings(of, await broker_of(brokers, of))
    return None if settings is None else settings.strategy


@pytest.mark.parametrize("status", [200, 403])
async def test_the_settings_of_a_broker_are_cached_for_some_minutes(
    brokers: Brokers, clock: ManualClock, status: int
) -> None:
    async with run_fake_broker() as wire:
        there = registry(None, wire.url)
        set_strategy_response(wire, status, "BACKWARD")
        for _ in range(2):
            assert await own_strategy(brokers, there) is (Strategy.BACKWARD if status == 200 else None)
        before = len(wire.requests)
        assert await own_strategy(brokers, there) is (Strategy.BACKWARD if status == 200 else None)
        assert len(wire.requests) == before
        clock.time += 301
        set_strategy_response(wire, 200, "FORWARD")
        assert await own_strategy(brokers, there) is Strategy.FORWARD


async def test_settings_are_read_again_after_a_failure_and_the_last_ones_count(
    brokers: Brokers, clock: ManualClock
) -> None:
    async with run_fake_broker() as wire:
        there = registry(None, wire.url)
        set_strategy_response(wire, 404)
        assert await own_strategy(brokers, there) is None
        set_strategy_response(wire, 200, "BACKWARD")
        assert await own_strategy(brokers, there) is Strategy.BACKWARD
        clock.time += 301
        set_strategy_response(wire, 404)
        assert await own_strategy(brokers, there) is Strategy.BACKWARD


async def test_settings_that_one_registry_may_not_read_are_read_for_another(brokers: Brokers) -> None:
    async with run_fake_broker() as wire:
        first, second = registry(None, wire.url), registry(None, wire.url, "second")
        set_strategy_response(wire, 403)
        assert await own_strategy(brokers, first) is None
        set_strategy_response(wire, 200)
        assert await own_strategy(brokers, second) is Strategy.FULL


@pytest.mark.parametrize(
    ("token", "role"),
    [
        ("e30.eyJzdWIiOiAib3BlcmF0b3IifQ.x", "operator"),
        ("opaque", "the operator's role"),
        ("e30.eyJzdWIiOiAxfQ.x", "the operator's role"),
    ],
)
async def test_the_role_is_that_of_the_token(api: FakeApiServer, brokers: Brokers, token: str, role: str) -> None:
    put_secret(api, token)
    await brokers.of(registry())
    assert brokers.role(registry()) == role
