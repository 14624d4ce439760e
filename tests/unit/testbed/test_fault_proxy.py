"""The fault proxy before a server that stands for a broker: responses, forwarded requests, and recorded calls."""

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from testbed import broker_faults, ports
from testbed.calls import Exchange, Fault, credential_of
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar

_SCHEMA = "/admin/v2/schemas/t/n/x/schema"
_STORED = b'{"version": {"version": 3}}'


@pytest.fixture
async def upstream() -> AsyncIterator[tuple[Pulsar, list[str]]]:
    """Run a server that sends one response to all requests, and yield it with the list of its requests."""
    requests: list[str] = []

    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        requests.append(f"{request.method} {request.raw_path} {(await request.read()).decode()}".strip())
        return web.Response(body=_STORED, content_type="application/json", headers={"X-Of": "broker"})

    runner = web.ServerRunner(web.Server(respond))
    await runner.setup()
    port = ports.free()
    await web.TCPSite(runner, ports.LOOPBACK, port).start()
    yield Pulsar(f"http://{ports.LOOPBACK}:{port}", ""), requests
    await runner.cleanup()


@pytest.fixture
def requests(upstream: tuple[Pulsar, list[str]]) -> list[str]:
    return upstream[1]


@pytest.fixture
def proxy(upstream: tuple[Pulsar, list[str]]) -> Iterator[FaultProxy]:
    with FaultProxy.before(upstream[0]) as proxy:
        yield proxy


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_a_call_without_a_fault_is_forwarded_unchanged(
    proxy: FaultProxy, client: aiohttp.ClientSession, requests: list[str]
) -> None:
    url = URL(f"{proxy.url}/admin/v2/schemas/t/n/a%252Bb/schema?authoritative=false", encoded=True)
    async with client.post(url, data=b"body", headers={"Authorization": "Bearer secret"}) as response:
        assert (response.status, await response.read(), response.headers["X-Of"]) == (200, _STORED, "broker")

    assert requests == ["POST /admin/v2/schemas/t/n/a%252Bb/schema?authoritative=false body"]
    (call,) = proxy.calls
    assert (call.number, call.method, call.path, call.status) == (1, "POST", url.raw_path_qs, 200)
    assert call.credential == credential_of("Bearer secret")
    assert "secret" not in repr(call)


@pytest.mark.parametrize("fault", [broker_faults.reset, broker_faults.silence(0.1)], ids=["at once", "after a silence"])
async def test_a_fault_can_reset_the_connection_before_the_response(
    proxy: FaultProxy, client: aiohttp.ClientSession, requests: list[str], fault: Fault
) -> None:
    proxy.fault = fault

    with pytest.raises(aiohttp.ClientConnectionError):
        await client.post(proxy.url + _SCHEMA)

    assert requests == []


async def test_an_error_in_a_fault_is_raised_at_the_end(
    upstream: tuple[Pulsar, list[str]], client: aiohttp.ClientSession
) -> None:
    async def broken(_: Exchange) -> web.StreamResponse:
        raise ValueError("the fault's own")

    async def request() -> None:
        with FaultProxy.before(upstream[0]) as proxy:
            proxy.fault = broken
            assert (await client.get(proxy.url + _SCHEMA)).status == 500

    with pytest.raises(ValueError, match="the fault's own"):
        await request()
