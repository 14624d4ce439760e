"""The fault proxy before a server that stands for a broker: what callers get, what it hears, what is counted."""

import asyncio
import datetime as dt
import errno
import gc
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from testbed import broker_faults, ports
from testbed.calls import Exchange, Fault, credential_of
from testbed.certificates import Authority
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar

_SCHEMA = "/admin/v2/schemas/t/n/x/schema"
_STORED = b'{"version": {"version": 3}}'


@pytest.fixture
async def upstream() -> AsyncIterator[tuple[Pulsar, list[str]]]:
    """A server that answers everything alike, and what it heard."""
    heard: list[str] = []

    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        heard.append(f"{request.method} {request.raw_path} {(await request.read()).decode()}".strip())
        return web.Response(body=_STORED, content_type="application/json", headers={"X-Of": "broker"})

    runner = web.ServerRunner(web.Server(answered))
    await runner.setup()
    port = ports.free()
    await web.TCPSite(runner, ports.LOOPBACK, port).start()
    yield Pulsar(f"http://{ports.LOOPBACK}:{port}", ""), heard
    await runner.cleanup()


@pytest.fixture
def heard(upstream: tuple[Pulsar, list[str]]) -> list[str]:
    return upstream[1]


@pytest.fixture
def proxy(upstream: tuple[Pulsar, list[str]]) -> Iterator[FaultProxy]:
    with FaultProxy.before(upstream[0]) as proxy:
        yield proxy


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_what_is_not_disturbed_passes_unchanged(
    proxy: FaultProxy, client: aiohttp.ClientSession, heard: list[str]
) -> None:
    url = URL(f"{proxy.url}/admin/v2/schemas/t/n/a%252Bb/schema?authoritative=false", encoded=True)
    async with client.post(url, data=b"body", headers={"Authorization": "Bearer secret", "X-Kept": "yes"}) as answer:
        assert (answer.status, await answer.read(), answer.headers["X-Of"]) == (200, _STORED, "broker")

    assert heard == ["POST /admin/v2/schemas/t/n/a%252Bb/schema?authoritative=false body"]
    (call,) = proxy.calls
    assert (call.number, call.method, call.path, call.status) == (1, "POST", url.raw_path_qs, 200)
    assert call.headers["X-Kept"] == "yes"
    assert call.credential == credential_of("Bearer secret")
    assert "secret" not in repr(call)


async def test_calls_and_writes_are_counted_since_the_last_forget(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    for method, path in [("GET", _SCHEMA), ("GET", _SCHEMA), ("POST", _SCHEMA), ("POST", f"{_SCHEMA[:-7]}/version")]:
        await (await client.request(method, proxy.url + path)).read()

    assert [(call.number, call.repeat) for call in proxy.calls] == [(1, 1), (2, 2), (3, 1), (4, 1)]
    assert [str(call) for call in proxy.writes] == [f"POST {_SCHEMA}"]
    assert proxy.connections == 1  # kept alive
    proxy.forget()
    assert proxy.calls == []


async def test_a_status_is_answered_with_a_reason_and_a_time_to_wait(
    proxy: FaultProxy, client: aiohttp.ClientSession, heard: list[str]
) -> None:
    proxy.fault = broker_faults.status(503, retry_after=7)

    async with client.get(proxy.url + _SCHEMA) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
        assert await answer.json() == {"reason": "a fault of status 503"}

    assert heard == []
    assert proxy.calls[0].status == 503


async def test_a_page_is_answered_where_json_is_expected(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    proxy.fault = broker_faults.html(502)

    async with client.get(proxy.url + _SCHEMA) as answer:
        assert (answer.status, answer.content_type) == (502, "text/html")


async def test_half_an_answer_is_no_json(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    proxy.fault = broker_faults.truncated

    async with client.get(proxy.url + _SCHEMA) as answer:
        assert await answer.read() == _STORED[: len(_STORED) // 2]


@pytest.mark.parametrize(
    ("fault", "is_heard"),
    [(broker_faults.reset, False), (broker_faults.reset_after_forwarding, True), (broker_faults.silence(0.1), False)],
    ids=["before the broker hears", "after it has heard", "after a silence"],
)
async def test_a_connection_that_breaks_before_the_answer(
    proxy: FaultProxy, client: aiohttp.ClientSession, heard: list[str], fault: Fault, *, is_heard: bool
) -> None:
    proxy.fault = fault

    with pytest.raises(aiohttp.ClientConnectionError):
        await client.post(proxy.url + _SCHEMA)

    assert bool(heard) == is_heard


async def test_a_connection_that_breaks_in_the_middle_of_the_answer(
    proxy: FaultProxy, client: aiohttp.ClientSession, heard: list[str]
) -> None:
    proxy.fault = broker_faults.reset_mid_body

    answer = await client.get(proxy.url + _SCHEMA)
    assert answer.status == 200
    with pytest.raises(aiohttp.ClientError):
        await answer.read()

    assert len(heard) == 1


async def test_silence_lasts_until_the_caller_has_had_enough(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    proxy.fault = broker_faults.silence(60)

    with pytest.raises(TimeoutError):
        await client.get(proxy.url + _SCHEMA, timeout=aiohttp.ClientTimeout(total=0.3))


async def test_an_answer_may_be_as_large_as_memory(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    proxy.fault = broker_faults.huge(2)
    async with client.get(proxy.url + _SCHEMA) as answer:
        assert len(await answer.json()) == 2 * 1024 * 1024 - 2

    proxy.fault = broker_faults.huge(50)
    async with client.get(proxy.url + _SCHEMA) as answer:
        assert answer.content_length == 50 * 1024 * 1024
        await answer.content.readexactly(65536)  # and leaves


async def test_a_caller_is_sent_elsewhere_with_the_same_path(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    proxy.fault = broker_faults.redirect("http://127.0.0.2:1")

    async with client.get(f"{proxy.url}{_SCHEMA}?a=b", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (307, f"http://127.0.0.2:1{_SCHEMA}?a=b")


async def test_a_broker_may_say_yes_and_store_nothing(
    proxy: FaultProxy, client: aiohttp.ClientSession, heard: list[str]
) -> None:
    proxy.fault = broker_faults.stores_nothing(7)

    async with client.post(proxy.url + _SCHEMA) as answer:
        assert await answer.json() == {"version": {"version": 7}}
    async with client.put(f"{proxy.url}/admin/v2/namespaces/t/n/schemaCompatibilityStrategy") as answer:
        assert answer.status == 204
    await (await client.get(proxy.url + _SCHEMA)).read()

    assert heard == [f"GET {_SCHEMA}"]


async def test_hooks_run_before_the_broker_hears_and_after_it_has_done(
    proxy: FaultProxy, client: aiohttp.ClientSession, heard: list[str]
) -> None:
    seen: list[int] = []

    async def hook() -> None:
        seen.append(len(heard))

    proxy.fault = broker_faults.before(2, hook)
    for _ in range(3):
        await (await client.get(proxy.url + _SCHEMA)).read()
    proxy.forget()
    proxy.fault = broker_faults.after(2, hook)
    for _ in range(3):
        await (await client.get(proxy.url + _SCHEMA)).read()

    assert seen == [1, 5]


async def test_the_broker_may_do_it_and_the_caller_be_told_otherwise_and_late(
    proxy: FaultProxy, client: aiohttp.ClientSession, heard: list[str]
) -> None:
    proxy.fault = broker_faults.slow(0.01, broker_faults.forwarded(broker_faults.status(500)))

    assert (await client.post(proxy.url + _SCHEMA)).status == 500

    assert heard == [f"POST {_SCHEMA}"]


async def test_the_first_calls_fail_and_then_all_is_well(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    proxy.fault = broker_faults.first(2, broker_faults.status(500))

    assert [(await client.get(proxy.url + _SCHEMA)).status for _ in range(3)] == [500, 500, 200]


async def test_a_refused_connection_is_refused_on_open_ones_too_until_it_is_taken_again(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    await (await client.get(proxy.url + _SCHEMA)).read()
    proxy.refuse()
    with pytest.raises(aiohttp.ClientOSError):  # a reset, on the connection that was open
        await client.post(proxy.url + _SCHEMA)

    with pytest.raises(aiohttp.ClientConnectorError) as refused:
        await client.post(proxy.url + _SCHEMA)
    assert refused.value.os_error.errno == errno.ECONNREFUSED

    proxy.accept()
    assert (await client.get(proxy.url + _SCHEMA)).status == 200


async def test_certificates_that_are_good_expired_and_for_another_name(
    upstream: tuple[Pulsar, list[str]], tmp_path: Path
) -> None:
    authority = Authority.at(tmp_path / "pki")
    good = authority.issue("good", [ports.LOOPBACK])
    expired = authority.issue("expired", [ports.LOOPBACK], dt.timedelta(minutes=1))
    elsewhere = authority.issue("elsewhere", ["elsewhere.example"])
    context = ssl.create_default_context(cafile=str(authority.certificate))
    with FaultProxy.before(upstream[0], good) as proxy:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client:
            assert (await client.get(proxy.url + _SCHEMA)).status == 200
            for serving, word in ((expired, "expired"), (elsewhere, "IP address mismatch")):
                proxy.serve_with(serving)
                with pytest.raises(aiohttp.ClientConnectorCertificateError, match=word):
                    await client.get(proxy.url + _SCHEMA)
        assert (len(proxy.calls), proxy.connections) == (1, 3)


async def test_an_error_in_a_fault_is_told_at_the_end(
    upstream: tuple[Pulsar, list[str]], client: aiohttp.ClientSession
) -> None:
    async def broken(_: Exchange) -> web.StreamResponse:
        raise ValueError("the fault's own")

    async def asked() -> None:
        with FaultProxy.before(upstream[0]) as proxy:
            proxy.fault = broken
            assert (await client.get(proxy.url + _SCHEMA)).status == 500

    with pytest.raises(ValueError, match="the fault's own"):
        await asked()


async def test_the_proxy_ends_at_once_whatever_is_in_flight(
    upstream: tuple[Pulsar, list[str]], client: aiohttp.ClientSession
) -> None:
    in_flight = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def hanging(exchange: Exchange) -> web.StreamResponse:
        loop.call_soon_threadsafe(in_flight.set)
        return await broker_faults.silence(3600)(exchange)

    with FaultProxy.before(upstream[0]) as proxy:
        proxy.fault = hanging
        waiting = asyncio.ensure_future(client.get(proxy.url + _SCHEMA))
        await in_flight.wait()

    with pytest.raises(aiohttp.ClientError):
        await waiting


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_that_is_being_accepted_is_closed_as_others_are(proxy: FaultProxy, turns: int) -> None:
    async def refused_while_accepting() -> socket.socket:
        client = socket.create_connection((ports.LOOPBACK, proxy.port), 5)
        for _ in range(turns):
            await asyncio.sleep(0)
        await proxy._refuse()
        return client

    with proxy._run(refused_while_accepting()) as client, pytest.raises(ConnectionResetError):
        client.recv(1)
    gc.collect()
