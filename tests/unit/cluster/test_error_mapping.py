"""The table of foreign errors, and the client at the wire: a fake API server answers what a real one once did."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from kubernetes.client import Configuration

from support.pulsar.fake_broker import FakeBroker, run_fake_broker
from topicschema.api.kinds import LEASE, NAMESPACE, SCHEMA_HISTORY
from topicschema.cluster.client import ApiClient, Selection
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.errors import (
    ApiRefusedError,
    ApiUnavailableError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    NotLeadingError,
    ThrottledError,
)
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError

SECRET = "a text that must not be repeated"  # noqa: S105 - it stands for a schema


def status(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


@pytest.fixture
async def wire() -> AsyncIterator[FakeBroker]:
    async with run_fake_broker() as wire:
        yield wire


def client_of(url: str, seconds: float = 10.0) -> ApiClient:
    return ApiClient(ApiConnection(url, ssl.create_default_context(), None, Configuration()), seconds)


@pytest.fixture
async def client(wire: FakeBroker) -> AsyncIterator[ApiClient]:
    async with client_of(wire.url) as client:
        yield client


TABLE: list[tuple[int, object, type[TopicSchemaError]]] = [
    (404, status(404, "NotFound", 'leases "x" not found', name="x", kind="leases"), NotFoundError),
    (404, "404 page not found\n", ApiUnavailableError),
    (404, status(404, "NotFound", "the server could not find the requested resource"), ApiUnavailableError),
    (409, status(409, "AlreadyExists", 'leases "x" already exists', name="x"), ConflictError),
    (409, status(409, "Conflict", "the object has been modified", name="x"), ConflictError),
    (401, status(401, "Unauthorized", "Unauthorized"), ForbiddenError),
    (403, status(403, "Forbidden", 'User "u" cannot get resource "leases"', name="x"), ForbiddenError),
    (400, status(400, "BadRequest", "strict decoding error"), ApiRefusedError),
    (413, "request body too large", ApiRefusedError),
    (422, status(422, "Invalid", SECRET, causes=[{"field": "spec.schema", "message": SECRET}]), ApiRefusedError),
    (422, status(422, "Invalid", SECRET), ApiRefusedError),
    (302, "elsewhere", ApiRefusedError),
    (408, "slow", ApiUnavailableError),
    (410, status(410, "Expired", "the provided continue parameter is too old"), ApiUnavailableError),
    (429, status(429, "TooManyRequests", "storage is (re)initializing", retryAfterSeconds=9), ThrottledError),
    (500, status(500, "InternalError", "failed calling webhook: context deadline exceeded"), ApiUnavailableError),
    (500, status(500, "", "etcdserver: request is too large"), ApiRefusedError),
    (500, status(500, "", "rpc error: code = ResourceExhausted desc = trying to send message"), ApiRefusedError),
    (500, status(500, "", "failed to create typed patch object"), ApiRefusedError),
    (500, status(500, "", ".spec.nope: field not declared in schema"), ApiRefusedError),
    (502, "<html>bad gateway</html>", ApiUnavailableError),
    (503, status(503, "ServiceUnavailable", "starting"), ApiUnavailableError),
    (504, status(504, "Timeout", "too slow"), ApiUnavailableError),
    (200, "<html>a login page</html>", ApiUnavailableError),
    (200, "[]", ApiUnavailableError),
    (418, "[1, 2]", ApiRefusedError),
    (500, '{"kind": "Status", "details": []}', ApiUnavailableError),
    (404, '{"kind": "Status", "reason": "NotFound", "details": [1]}', ApiUnavailableError),
]


@pytest.mark.parametrize(("code", "body", "expected"), TABLE, ids=lambda value: str(value)[:40])
async def test_each_answer_becomes_one_of_our_errors_and_repeats_no_object(
    wire: FakeBroker, client: ApiClient, code: int, body: object, expected: type[TopicSchemaError]
) -> None:
    wire.respond_with(code, body, Retry_After="9")
    with pytest.raises(TopicSchemaError) as caught:
        await client.get(LEASE, "ns", "x")
    assert type(caught.value) is expected
    assert SECRET not in caught.value.message
    assert "leases/x" in caught.value.message
    assert len(wire.requests) == 1


def test_what_a_person_must_mend_stalls_and_everything_else_waits() -> None:
    assert issubclass(ApiRefusedError, StalledError)
    for error in (NotFoundError, ConflictError, ForbiddenError, ApiUnavailableError, ThrottledError, NotLeadingError):
        assert issubclass(error, WaitingError)


async def test_a_long_answer_is_cut(wire: FakeBroker, client: ApiClient) -> None:
    wire.respond_with(400, status(400, "BadRequest", "x" * 100_000))
    wire.respond_with(400, "y" * 100_000)
    for _ in range(2):
        with pytest.raises(ApiRefusedError) as caught:
            await client.get(LEASE, "ns", "n" * 250)
        assert len(caught.value.message) < 600


async def test_the_delay_of_an_error_is_retry_after(wire: FakeBroker, client: ApiClient) -> None:
    numbers = (("9", 9.0), ("86400", 60.0), ("-5", 0.0), ("nan", 1.0), ("inf", 60.0), ("-inf", 0.0))
    for retry_after, after in (*numbers, ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0)):
        wire.handlers.clear()
        wire.respond_with(429, "slow down", Retry_After=retry_after)
        with pytest.raises(ThrottledError) as caught:
            await client.create(LEASE, "ns", {})
        assert caught.value.after == after


async def test_a_read_is_sent_three_times_at_most_and_a_write_once(wire: FakeBroker, client: ApiClient) -> None:
    for operation, times in ((client.get(LEASE, "ns", "x"), 3), (client.replace(LEASE, "ns", "x", {}), 1)):
        wire.clear()
        wire.respond_with(429, "slow down", Retry_After="0")
        with pytest.raises(ThrottledError):
            await operation
        assert len(wire.requests) == times
    wire.respond_with(200, {"kind": "Lease"})
    assert await client.get(LEASE, "ns", "x") == {"kind": "Lease"}
    assert len(wire.requests) == 3


async def test_a_silent_server_costs_no_more_than_the_timeout(wire: FakeBroker) -> None:
    silence = asyncio.Event()

    async def silent(_: web.Request) -> web.Response:
        await silence.wait()
        return web.Response()

    wire.handlers.append(silent)
    async with client_of(wire.url, 1.0) as client:
        with pytest.raises(ApiUnavailableError, match="no answer in time"):
            await client.get(LEASE, "ns", "x")
    silence.set()
    assert len(wire.requests) == 1


async def test_a_server_that_is_not_there_is_waited_for() -> None:
    async with client_of("http://127.0.0.1:1") as client:
        with pytest.raises(ApiUnavailableError, match="GET /api/v1/namespaces/x: ClientConnector"):
            await client.get(NAMESPACE, "", "x")


async def test_a_fence_stops_writes_and_lets_reads_pass(wire: FakeBroker, client: ApiClient) -> None:
    def shut() -> None:
        raise NotLeadingError

    wire.respond_with(200, {"kind": "Lease"})
    fenced = client.fenced(shut)
    for write in (
        fenced.create(LEASE, "ns", {}),
        fenced.replace(LEASE, "ns", "x", {}),
        fenced.apply(LEASE, "ns", "x", {}, field_manager="us"),
        fenced.patch(LEASE, "ns", "x", {}),
        fenced.delete(LEASE, "ns", "x"),
    ):
        with pytest.raises(NotLeadingError):
            await write
    assert wire.requests == []
    assert await fenced.get(LEASE, "ns", "x") == {"kind": "Lease"}
    assert await client.create(LEASE, "ns", {}) == {"kind": "Lease"}


async def test_a_list_is_read_to_its_end_in_pages(wire: FakeBroker, client: ApiClient) -> None:
    wire.respond_with(200, {"metadata": {"continue": "a+b/c="}, "items": [{"n": 1}, {"n": 2}]})
    wire.respond_with(200, {"metadata": {}, "items": [{"n": 3}]})
    assert await client.list(SCHEMA_HISTORY, "ns", label_selector="a=b", limit=2) == [{"n": 1}, {"n": 2}, {"n": 3}]
    first, second = wire.requests
    assert dict(first.query) == {"limit": "2", "labelSelector": "a=b"}
    assert second.query["continue"] == "a+b/c="


async def test_names_from_outside_stay_within_their_path(wire: FakeBroker, client: ApiClient) -> None:
    wire.respond_with(200, {})
    await client.get(LEASE, "ns", "../../secrets?x=#y")
    assert wire.requests[0].raw_path == "/apis/coordination.k8s.io/v1/namespaces/ns/leases/..%2F..%2Fsecrets%3Fx%3D%23y"


async def test_a_lone_surrogate_in_a_message_does_not_stop_a_write(wire: FakeBroker, client: ApiClient) -> None:
    wire.respond_with(200, {})
    await client.create(LEASE, "ns", {"note": "\ud800 é"})
    assert json.loads(await wire.requests[0].read()) == {"note": "\ud800 é"}


async def test_a_metadata_only_selection_requests_only_metadata(wire: FakeBroker, client: ApiClient) -> None:
    wire.respond_with(200, {"items": None})
    assert [page async for page in client.pages(LEASE, "", Selection(metadata_only=True))] == [[]]
    assert "as=PartialObjectMetadataList" in wire.requests[0].headers["Accept"]
    assert wire.requests[0].path == "/apis/coordination.k8s.io/v1/leases"
