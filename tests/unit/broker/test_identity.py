"""OAuth 2.0 client credentials over a socket, and the parsing of secrets."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import pytest
from aiohttp import web

from support.pulsar.fake_broker import LOOPBACK, VERSION, FakeBroker, ManualClock, run_fake_broker
from topicschema.broker.broker import Broker
from topicschema.broker.credentials import OAuth2ClientCredentials, Token
from topicschema.broker.errors import (
    BrokerNotAllowedError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    SecretInvalidError,
)
from topicschema.broker.identity import Identity
from topicschema.broker.transport import ClientConfig
from topicschema.core.topics import Topic

TOPIC = Topic("shop", "orders", "created")
SECRET = "c1ient-s3cret"  # noqa: S105 - the tests search for it


class Issuer:
    """An issuer of numbered tokens that are valid for 3,600 seconds."""

    def __init__(self, server: FakeBroker) -> None:
        self.server = server
        self.token_count = 0
        self.endpoint = f"{server.url}/oauth/token"
        self.refusal: tuple[int, Any] | None = None
        server.handlers.append(self.handle)

    async def handle(self, request: web.Request) -> web.Response:
        if request.path == "/realm/.well-known/openid-configuration":
            return web.json_response({"issuer": "x", "token_endpoint": self.endpoint})
        if self.refusal is not None:
            return web.json_response(self.refusal[1], status=self.refusal[0])
        self.token_count += 1
        token = {"access_token": f"token-{self.token_count}", "expires_in": 3600, "token_type": "bearer"}
        return web.json_response(token)


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with run_fake_broker() as server:
        yield Issuer(server)


def credential_of(issuer: Issuer) -> OAuth2ClientCredentials:
    return OAuth2ClientCredentials(f"{issuer.server.url}/realm/", "operator", SECRET, "urn:pulsar", "a b")


@pytest.fixture
async def broker(wire: FakeBroker, issuer: Issuer, clock: ManualClock) -> AsyncIterator[Broker]:
    broker = Broker(ClientConfig(wire.url, LOOPBACK, credential_of(issuer)), clock.as_clock())
    yield broker
    await broker.close()


def tokens(wire: FakeBroker) -> list[str]:
    return [each.headers["Authorization"] for each in wire.requests]


async def test_a_token_is_fetched_once_and_used_until_shortly_before_its_end(
    wire: FakeBroker, issuer: Issuer, broker: Broker, clock: ManualClock
) -> None:
    wire.respond_with(200, VERSION)
    await asyncio.gather(*(broker.latest(TOPIC) for _ in range(8)))
    clock.time += 3539
    await broker.latest(TOPIC)
    assert set(tokens(wire)) == {"Bearer token-1"}
    clock.time += 2
    await broker.latest(TOPIC)
    assert tokens(wire)[-1] == "Bearer token-2"
    assert issuer.server.request_lines[:2] == ["GET /realm/.well-known/openid-configuration", "POST /oauth/token"]
    sent = {"grant_type": "client_credentials", "client_id": "operator", "client_secret": SECRET}
    assert dict(parse_qsl(issuer.server.bodies[1])) == {**sent, "audience": "urn:pulsar", "scope": "a b"}
    assert issuer.server.requests[1].content_type == "application/x-www-form-urlencoded"


async def test_a_client_that_the_issuer_refuses_is_unauthorized_and_does_not_retry_at_once(
    wire: FakeBroker, issuer: Issuer, broker: Broker
) -> None:
    issuer.refusal = (401, {"error": "invalid_client", "error_description": f"no such secret: {SECRET}"})
    for _ in range(3):
        with pytest.raises(BrokerUnauthorizedError, match="refuses the client: 401 invalid_client") as caught:
            await broker.latest(TOPIC)
        assert SECRET not in caught.value.message
    assert wire.requests == []
    assert len(issuer.server.requests) == 2


async def test_an_issuer_that_fails_after_the_broker_refused_its_token_gets_no_retry_at_once(
    wire: FakeBroker, issuer: Issuer, broker: Broker
) -> None:
    wire.respond_with(200, VERSION)
    await broker.latest(TOPIC)
    wire.clear()
    wire.respond_with(401, {"message": "Authentication required"})
    issuer.refusal = (401, {"error": "invalid_client"})
    for _ in range(3):
        with pytest.raises(BrokerUnauthorizedError, match="refuses the client"):
            await broker.latest(TOPIC)
    assert len(wire.requests) == 1
    assert issuer.server.request_lines.count("POST /oauth/token") == 2


@pytest.mark.parametrize("answer", [(500, {}), (200, {}), (200, {"access_token": "two\nlines"}), (200, [])])
async def test_an_issuer_without_a_token_makes_the_broker_unavailable(
    wire: FakeBroker, issuer: Issuer, broker: Broker, answer: tuple[int, Any]
) -> None:
    issuer.refusal = answer
    with pytest.raises(BrokerUnavailableError, match="the token endpoint gives no token"):
        await broker.latest(TOPIC)
    assert wire.requests == []


@pytest.mark.parametrize(
    "endpoint",
    ["http://169.254.169.254/token", "/oauth/token", "//issuer/token", "http://issuer:port/token", "http://[::1"],
)
async def test_a_token_endpoint_that_is_no_allowed_host_or_no_valid_url_is_not_called(
    wire: FakeBroker, issuer: Issuer, broker: Broker, endpoint: str
) -> None:
    issuer.endpoint = endpoint
    with pytest.raises(BrokerNotAllowedError):
        await broker.latest(TOPIC)
    assert wire.requests == []


async def test_a_secret_for_an_issuer_with_https_is_not_sent_to_an_endpoint_with_http() -> None:
    urls: list[str] = []

    async def fetch(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        del method, body, headers
        urls.append(url)
        return 200, b'{"token_endpoint": "http://issuer/token"}'

    credential = OAuth2ClientCredentials("https://issuer", "operator", SECRET)
    with pytest.raises(BrokerNotAllowedError, match="https"):
        await Identity(credential, fetch, ManualClock().as_clock()).headers()
    assert urls == ["https://issuer/.well-known/openid-configuration"]


def test_a_credential_shows_no_secret() -> None:
    assert SECRET not in repr(OAuth2ClientCredentials("https://issuer", "operator", SECRET))


def test_a_secret_is_one_line_of_plain_text() -> None:
    assert Token.of(b"  ey.x.y\n") == Token("ey.x.y")
    assert OAuth2ClientCredentials.secret_of(b"word\n") == "word"
    for wrong in (b"", b"  \n", b"two words", b"two\nlines", "é".encode(), b"\xff"):
        with pytest.raises(SecretInvalidError) as caught:
            Token.of(wrong)
        assert caught.value.message == "the token is empty, or is not one line of plain text"
