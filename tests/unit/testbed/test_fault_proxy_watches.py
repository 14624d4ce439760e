"""The fault proxy passes a watch's answer on as it comes: it has no end."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from testbed import ports
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar

_EVENT = b'{"type": "ADDED"}\n'


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    over = asyncio.Event()

    async def watched(request: web.BaseRequest) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        await stream.write(_EVENT)
        await over.wait()
        return stream

    runner = web.ServerRunner(web.Server(watched))
    await runner.setup()
    site = web.TCPSite(runner, ports.LOOPBACK, ports.free())
    await site.start()
    with FaultProxy.before(Pulsar(site.name, "")) as proxy:
        yield proxy
    over.set()
    await runner.cleanup()


async def test_a_watch_passes_piece_by_piece_until_it_is_cut(proxy: FaultProxy) -> None:
    async with aiohttp.ClientSession() as client, client.get(f"{proxy.url}/api/v1/secrets?watch=true") as answer:
        assert await answer.content.readline() == _EVENT
        assert proxy.cut_watches() == 1
        with pytest.raises(aiohttp.ClientError):
            await answer.content.readline()
    assert [call.is_watch for call in proxy.calls] == [True]
