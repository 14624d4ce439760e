"""What goes over the wire: bounded answers, redirects, silence, and tokens."""

import asyncio
import logging

import pytest
from aiohttp import web

from support.http_server import Answer
from support.metrics import counted
from support.pulsar.fake_broker import PlayedBroker, TurnedClock, playing
from topicschema.broker.broker import Broker
from topicschema.broker.clock import Clock
from topicschema.broker.credentials import ClientCertificate, Credential, Token
from topicschema.broker.error_mapping import Call
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerNotAllowedError,
    BrokerSilentError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    TenantNotFoundError,
)
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig, Request, Transport
from topicschema.core.errors import WaitingError
from topicschema.core.reasons import Reason
from topicschema.core.remote import NamespaceSettings, TopicSettings
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

ANY_LOOPBACK = AllowedHosts.parse("127.0.0.1, localhost")
TOPIC = Topic("shop", "orders", "created")
VERSION = {"version": 0, "type": "STRING", "data": "", "timestamp": 1700000000123, "properties": {}}
MANY = 50_000_000


def pouring(size: int, poured: list[int], **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for _ in range(0, size, 1 << 16):
            await response.write(b" " * (1 << 16))
            poured.append(1 << 16)
        return response

    return answer


@pytest.mark.parametrize("headers", [{"Content-Length": str(MANY)}, {}], ids=["announced", "chunked"])
async def test_an_answer_of_50_mb_is_refused_without_being_read(
    wire: PlayedBroker, broker: Broker, headers: dict[str, str]
) -> None:
    poured: list[int] = []
    wire.answers.append(pouring(MANY, poured, **headers))
    with pytest.raises(BrokerUnavailableError, match="more than 16 MiB and was not read"):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1
    assert sum(poured) < MANY


async def test_a_history_too_large_for_one_answer_is_read_version_by_version(
    wire: PlayedBroker, broker: Broker
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        call = request.path.rsplit("/created/", 1)[1]
        if call == "schemas":
            return await pouring(MANY, [], **{"Content-Length": str(MANY)})(request)
        if call == "metadata":
            return web.json_response({"index": [{"version": each} for each in range(4)]})
        number = int(call.rpartition("/")[2])
        if number < 2:
            return web.json_response({"reason": "Schema not found"}, status=404)
        return web.json_response({**VERSION, "version": number})

    wire.answers.append(answer)
    assert [each.schema_version async for each in broker.versions(TOPIC)] == [3, 2]
    assert [each.schema_version async for each in broker.versions(TOPIC, 3)] == [3]


async def test_the_owner_that_a_broker_names_is_asked_in_the_same_way(wire: PlayedBroker) -> None:
    async with playing(host="localhost") as owner:
        wire.says(307, Location=f"{owner.url}/admin/v2/schemas/shop/orders/a%252Bb/schema?authoritative=true")
        owner.says(200, {"version": {"version": 4}})
        broker = Broker(ClientConfig(wire.url, ANY_LOOPBACK, Token("t0ken")))
        assert await broker.upload(Topic("shop", "orders", "a+b"), SchemaInfo(SchemaType.STRING)) == 4
        assert owner.asked == ["POST /admin/v2/schemas/shop/orders/a%252Bb/schema?authoritative=true"]
        assert owner.bodies == wire.bodies
        assert owner.requests[0].headers["Authorization"] == "Bearer t0ken"
        await broker.close()


async def test_a_redirect_says_who_is_to_be_asked_and_never_what(wire: PlayedBroker) -> None:
    async with playing(host="localhost") as owner:
        theirs = f"{owner.url}/admin/v2/schemas/other/orders/theirs/schema"
        wire.says(307, Location=f"{theirs}?authoritative=true&force=true")
        owner.says(404, {"reason": "Tenant does not exist"})
        broker = Broker(ClientConfig(wire.url, ANY_LOOPBACK))
        with pytest.raises(TenantNotFoundError):
            await broker.soft_delete(TOPIC)
        assert owner.asked == [f"DELETE {wire.requests[0].raw_path}&authoritative=true"]
        assert "force=false" in owner.asked[0]
        await broker.close()


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest", "http://example.com/", "http://u:p@127.0.0.1/", "ftp://127.0.0.1/"]
)
async def test_a_redirect_out_of_the_allowed_hosts_is_not_followed(
    wire: PlayedBroker, broker: Broker, target: str
) -> None:
    wire.says(307, Location=target)
    with pytest.raises(BrokerNotAllowedError):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1


@pytest.mark.parametrize("target", ["http://[::1", "mailto:somebody", "http://h:port/", "gopher://127.0.0.1/"])
async def test_a_redirect_to_nowhere_is_no_answer(wire: PlayedBroker, broker: Broker, target: str) -> None:
    wire.says(307, Location=target)
    with pytest.raises(BrokerUnavailableError, match="307 Temporary Redirect"):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1


async def test_redirects_in_a_circle_end(wire: PlayedBroker, broker: Broker) -> None:
    wire.says(307, Location="/again")
    with pytest.raises(BrokerUnavailableError, match="in circles"):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 4


async def test_listings_that_take_too_long_do_not_make_the_broker_one_that_is_away(wire: PlayedBroker) -> None:
    silence = asyncio.Event()

    async def late(request: web.Request) -> web.Response:
        if request.path.endswith("/listing"):
            await silence.wait()
        return web.json_response("there")

    wire.answers.append(late)
    transport = Transport(ClientConfig(wire.url, ANY_LOOPBACK), Clock())
    for _ in range(3):
        with pytest.raises(BrokerSilentError):
            await transport.send(Request("versions", Call.LISTING, "GET", "/admin/v2/listing", seconds=0.1))
    assert await transport.send(Request("latest", Call.READ, "GET", "/admin/v2/x")) == "there"
    silence.set()
    await transport.close()


async def test_json_is_accepted_and_nothing_compressed(wire: PlayedBroker, broker: Broker) -> None:
    wire.says(200, VERSION)
    await broker.latest(TOPIC)
    assert wire.requests[0].headers["Accept"] == "application/json"
    assert wire.requests[0].headers["Accept-Encoding"] == "identity"


async def test_a_connection_is_used_again(wire: PlayedBroker, broker: Broker) -> None:
    wire.says(200, VERSION)
    for _ in range(3):
        await broker.latest(TOPIC)
    assert len({request.transport for request in wire.requests}) == 1


async def test_after_its_end_a_broker_is_not_asked(wire: PlayedBroker, broker: Broker) -> None:
    await broker.close()
    with pytest.raises(BrokerUnavailableError, match="changed meanwhile"):
        await broker.latest(TOPIC)
    assert wire.requests == []


async def test_a_token_that_changed_is_read_again_once_and_kept(wire: PlayedBroker, turned: TurnedClock) -> None:
    reads: list[int] = []

    async def reread() -> Credential:
        reads.append(1)
        return Token("fresh")

    async def answer(request: web.Request) -> web.Response:
        if request.headers["Authorization"] == "Bearer fresh":
            return web.json_response(VERSION)
        return web.json_response({"message": "Authentication required"}, status=401)

    wire.answers.append(answer)
    broker = Broker(ClientConfig(wire.url, ANY_LOOPBACK, Token("stale"), reread=reread), turned.as_clock())
    assert None not in await asyncio.gather(*(broker.latest(TOPIC) for _ in range(6)))
    assert await broker.latest(TOPIC) is not None
    assert (len(reads), len(wire.requests)) == (1, 13)
    await broker.close()


async def test_the_same_token_read_again_is_not_tried_again(wire: PlayedBroker, turned: TurnedClock) -> None:
    async def reread() -> Credential:
        return Token("stale")

    wire.says(401, {"message": "Authentication required"})
    broker = Broker(ClientConfig(wire.url, ANY_LOOPBACK, Token("stale"), reread=reread), turned.as_clock())
    with pytest.raises(BrokerUnauthorizedError):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 1
    await broker.close()


async def test_credentials_are_in_no_text(wire: PlayedBroker, caplog: pytest.LogCaptureFixture) -> None:
    secret = "s3cr3t-t0ken"  # noqa: S105 - it is what is looked for
    access = ClientConfig(wire.url, ANY_LOOPBACK, Token(secret))
    assert secret not in repr(access)
    assert secret not in repr(ClientCertificate(secret.encode(), secret.encode()))
    wire.says(403, {"reason": f"no: Bearer {secret}"})
    broker = Broker(access)
    with caplog.at_level(logging.DEBUG), pytest.raises(Exception, match="403") as caught:
        await broker.latest(TOPIC)
    assert secret not in str(caught.value) + caplog.text
    await broker.close()


async def test_a_broker_that_says_yes_and_shows_something_else_is_not_believed(
    wire: PlayedBroker, broker: Broker
) -> None:
    wire.says(204)
    wire.says(200, {"schema_compatibility_strategy": "UNDEFINED"})
    with pytest.raises(BrokerInconsistentError, match="schemaCompatibilityStrategy FULL and returns None"):
        await broker.set_namespace(PulsarNamespaceKey("c", "t", "n"), NamespaceSettings(strategy=Strategy.FULL))
    assert [wire.asked[0], wire.bodies[0]] == ["PUT /admin/v2/namespaces/t/n/schemaCompatibilityStrategy", '"FULL"']


async def test_what_was_asked_and_how_it_ended_is_counted(wire: PlayedBroker, broker: Broker) -> None:
    def count() -> tuple[float, ...]:
        outcomes = ("success", "SchemaNotFound", "BrokerForbidden")
        return tuple(counted("broker_requests_total", operation="latest", outcome=each) for each in outcomes)

    before = count()
    wire.says(200, VERSION)
    wire.says(404, {"reason": "Schema not found"})
    wire.says(403, {"reason": "no"})
    await broker.latest(TOPIC)
    assert await broker.latest(TOPIC) is None
    with pytest.raises(BrokerForbiddenError):
        await broker.latest(TOPIC)
    assert [now - then for now, then in zip(count(), before, strict=True)] == [1, 1, 1]


async def test_a_write_is_stopped_by_the_fence_and_a_read_is_not(wire: PlayedBroker) -> None:
    def shut() -> None:
        raise WaitingError(Reason.NOT_LEADING, "no more")

    wire.says(200, VERSION)
    broker = Broker(ClientConfig(wire.url, ANY_LOOPBACK, fence=shut))
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
