"""Requests over a socket: bounded responses, redirects, silence, and tokens."""

import asyncio
import logging

import pytest
from aiohttp import web

from support.http_server import Handler
from support.metrics import counted
from support.pulsar.fake_broker import LOOPBACK, VERSION, FakeBroker, ManualClock, run_fake_broker
from topicschema.broker.broker import Broker
from topicschema.broker.clock import Clock
from topicschema.broker.credentials import ClientCertificate, Token
from topicschema.broker.error_mapping import CallKind
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerNotAllowedError,
    BrokerSilentError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    TenantNotFoundError,
)
from topicschema.broker.transport import BrokerRequest, ClientConfig, Transport
from topicschema.core.errors import WaitingError
from topicschema.core.reasons import Reason
from topicschema.core.remote import NamespaceSettings, TopicSettings
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

TOPIC = Topic("shop", "orders", "created")
MANY = 50_000_000


def send_spaces(size: int, sent: list[int], **headers: str) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for _ in range(0, size, 1 << 16):
            await response.write(b" " * (1 << 16))
            sent.append(1 << 16)
        return response

    return answer


@pytest.mark.parametrize("headers", [{"Content-Length": str(MANY)}, {}], ids=["announced", "chunked"])
async def test_a_response_of_50_mb_is_refused_without_being_read(
    wire: FakeBroker, broker: Broker, headers: dict[str, str]
) -> None:
    sent: list[int] = []
    wire.handlers.append(send_spaces(MANY, sent, **headers))
    with pytest.raises(BrokerUnavailableError, match="more than 16 MiB and was not read"):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1
    assert sum(sent) < MANY


async def test_a_history_too_large_for_one_response_is_read_version_by_version(
    wire: FakeBroker, broker: Broker
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        call = request.path.rsplit("/created/", 1)[1]
        if call == "schemas":
            return await send_spaces(MANY, [], **{"Content-Length": str(MANY)})(request)
        if call == "metadata":
            return web.json_response({"index": [{"version": each} for each in range(4)]})
        number = int(call.rpartition("/")[2])
        if number < 2:
            return web.json_response({"reason": "Schema not found"}, status=404)
        return web.json_response({**VERSION, "version": number})

    wire.handlers.append(answer)
    assert [each.schema_version async for each in broker.versions(TOPIC)] == [3, 2]
    assert [each.schema_version async for each in broker.versions(TOPIC, 3)] == [3]


async def test_a_redirect_to_the_owner_repeats_the_same_request(wire: FakeBroker) -> None:
    async with run_fake_broker(host="localhost") as owner:
        wire.respond_with(307, Location=f"{owner.url}/admin/v2/schemas/shop/orders/a%252Bb/schema?authoritative=true")
        owner.respond_with(200, {"version": {"version": 4}})
        broker = Broker(ClientConfig(wire.url, LOOPBACK, Token("t0ken")))
        assert await broker.upload(Topic("shop", "orders", "a+b"), SchemaInfo(SchemaType.STRING)) == 4
        assert owner.request_lines == ["POST /admin/v2/schemas/shop/orders/a%252Bb/schema?authoritative=true"]
        assert owner.bodies == wire.bodies
        assert owner.requests[0].headers["Authorization"] == "Bearer t0ken"
        await broker.close()


async def test_a_redirect_changes_the_host_of_a_request_and_nothing_else(wire: FakeBroker) -> None:
    async with run_fake_broker(host="localhost") as owner:
        theirs = f"{owner.url}/admin/v2/schemas/other/orders/theirs/schema"
        wire.respond_with(307, Location=f"{theirs}?authoritative=true&force=true")
        owner.respond_with(404, {"reason": "Tenant does not exist"})
        broker = Broker(ClientConfig(wire.url, LOOPBACK))
        with pytest.raises(TenantNotFoundError):
            await broker.soft_delete(TOPIC)
        assert owner.request_lines == [f"DELETE {wire.requests[0].raw_path}&authoritative=true"]
        assert "force=false" in owner.request_lines[0]
        await broker.close()


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest", "http://example.com/", "http://u:p@127.0.0.1/", "ftp://127.0.0.1/"]
)
async def test_a_redirect_out_of_the_allowed_hosts_is_not_followed(
    wire: FakeBroker, broker: Broker, target: str
) -> None:
    wire.respond_with(307, Location=target)
    with pytest.raises(BrokerNotAllowedError):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1


@pytest.mark.parametrize("target", ["http://[::1", "mailto:a", "http://h:port/", "gopher://127.0.0.1/"])
async def test_a_redirect_to_an_invalid_url_is_an_error(wire: FakeBroker, broker: Broker, target: str) -> None:
    wire.respond_with(307, Location=target)
    with pytest.raises(BrokerUnavailableError, match="307 Temporary Redirect"):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1


async def test_circular_redirects_end(wire: FakeBroker, broker: Broker) -> None:
    wire.respond_with(307, Location="/again")
    with pytest.raises(BrokerUnavailableError, match="in circles"):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 4


async def test_listings_that_take_too_long_do_not_open_the_circuit_breaker(wire: FakeBroker) -> None:
    silence = asyncio.Event()

    async def late(request: web.Request) -> web.Response:
        if request.path.endswith("/listing"):
            await silence.wait()
        return web.json_response("there")

    wire.handlers.append(late)
    transport = Transport(ClientConfig(wire.url, LOOPBACK), Clock())
    for _ in range(3):
        with pytest.raises(BrokerSilentError):
            await transport.send(BrokerRequest("versions", CallKind.LISTING, "GET", "/admin/v2/listing", seconds=0.1))
    assert await transport.send(BrokerRequest("latest", CallKind.READ, "GET", "/admin/v2/x")) == "there"
    silence.set()
    await transport.close()


async def test_json_is_accepted_and_nothing_compressed(wire: FakeBroker, broker: Broker) -> None:
    wire.respond_with(200, VERSION)
    await broker.latest(TOPIC)
    assert wire.requests[0].headers["Accept"] == "application/json"
    assert wire.requests[0].headers["Accept-Encoding"] == "identity"


async def test_a_connection_is_used_again(wire: FakeBroker, broker: Broker) -> None:
    wire.respond_with(200, VERSION)
    for _ in range(3):
        await broker.latest(TOPIC)
    assert len({request.transport for request in wire.requests}) == 1


async def test_a_closed_broker_sends_no_request(wire: FakeBroker, broker: Broker) -> None:
    await broker.close()
    with pytest.raises(BrokerUnavailableError, match="changed meanwhile"):
        await broker.latest(TOPIC)
    assert wire.requests == []


async def test_a_refused_token_is_not_tried_again(wire: FakeBroker, clock: ManualClock) -> None:
    wire.respond_with(401, {"message": "Authentication required"})
    broker = Broker(ClientConfig(wire.url, LOOPBACK, Token("stale")), clock.as_clock())
    with pytest.raises(BrokerUnauthorizedError):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1
    await broker.close()


async def test_credentials_are_in_no_message_log_or_repr(wire: FakeBroker, caplog: pytest.LogCaptureFixture) -> None:
    secret = "s3cr3t-t0ken"  # noqa: S105 - the test searches for it
    access = ClientConfig(wire.url, LOOPBACK, Token(secret))
    assert secret not in repr(access)
    assert secret not in repr(ClientCertificate(secret.encode(), secret.encode()))
    wire.respond_with(403, {"reason": f"no: Bearer {secret}"})
    broker = Broker(access)
    with caplog.at_level(logging.DEBUG), pytest.raises(Exception, match="403") as caught:
        await broker.latest(TOPIC)
    assert secret not in str(caught.value) + caplog.text
    await broker.close()


async def test_a_write_that_the_broker_accepts_and_does_not_apply_is_an_error(wire: FakeBroker, broker: Broker) -> None:
    wire.respond_with(204)
    wire.respond_with(200, {"schema_compatibility_strategy": "UNDEFINED"})
    with pytest.raises(BrokerInconsistentError, match="schemaCompatibilityStrategy FULL and returns None"):
        await broker.set_namespace(PulsarNamespaceKey("c", "t", "n"), NamespaceSettings(strategy=Strategy.FULL))
    assert wire.request_lines[0] == "PUT /admin/v2/namespaces/t/n/schemaCompatibilityStrategy"
    assert wire.bodies[0] == '"FULL"'


async def test_requests_are_counted_by_operation_and_outcome(wire: FakeBroker, broker: Broker) -> None:
    def count() -> tuple[float, ...]:
        outcomes = ("success", "SchemaNotFound", "BrokerForbidden")
        return tuple(counted("broker_requests_total", operation="latest", outcome=each) for each in outcomes)

    before = count()
    wire.respond_with(200, VERSION)
    wire.respond_with(404, {"reason": "Schema not found"})
    wire.respond_with(403, {"reason": "no"})
    await broker.latest(TOPIC)
    assert await broker.latest(TOPIC) is None
    with pytest.raises(BrokerForbiddenError):
        await broker.latest(TOPIC)
    assert [now - then for now, then in zip(count(), before, strict=True)] == [1, 1, 1]


async def test_a_write_is_stopped_by_the_fence_and_a_read_is_not(wire: FakeBroker) -> None:
    def fence() -> None:
        raise WaitingError(Reason.NOT_LEADING, "no more")

    wire.respond_with(200, VERSION)
    broker = Broker(ClientConfig(wire.url, LOOPBACK, fence=fence))
    assert await broker.latest(TOPIC) is not None
    for write in (
        broker.upload(TOPIC, SchemaInfo(SchemaType.STRING)),
        broker.soft_delete(TOPIC),
        broker.set_namespace(PulsarNamespaceKey("c", "t", "n"), NamespaceSettings(strategy=Strategy.FULL)),
        broker.set_topic(TOPIC, "persistent", TopicSettings(enforces_validation=True)),
    ):
        with pytest.raises(WaitingError, match="no more"):
            await write
    assert len(wire.requests) == 1
    await broker.close()
