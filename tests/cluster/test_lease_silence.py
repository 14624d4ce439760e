"""The elector when the API server does not respond: one's work ends before another's begins."""

import asyncio
import math
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from support.kubernetes.electors import TIMES, candidates, log_of
from support.sizes import sized
from testbed.cluster import Cluster
from topicschema.cluster.connection import ApiConnection

pytestmark = pytest.mark.cluster


class SlowLink:
    """A connection to the API server: data arrives `delay` seconds late in both directions, or never."""

    def __init__(self, server: str) -> None:
        self._host, _, port = server.removeprefix("https://").rpartition(":")
        self._port = int(port)
        self._copies: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.StreamWriter] = set()
        self.delay = 0.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        try:
            yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for copy in self._copies:
                copy.cancel()
            await asyncio.gather(*self._copies, return_exceptions=True)
            for end in self._ends:
                end.close()
            await asyncio.gather(*(end.wait_closed() for end in self._ends), return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(self._host, self._port)
        self._ends |= {writer, there_writer}
        for source, target in ((reader, there_writer), (there_reader, writer)):
            self._copies.add(asyncio.create_task(self._copy(source, target)))

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while load := await source.read(65_536):
                await asyncio.sleep(self.delay)
                target.write(load)
                await target.drain()
        target.close()


@pytest.mark.parametrize("delay", [math.inf, 1.5], ids=["silent", "slower than a renewal may be"])
async def test_a_leader_without_its_api_server_ends_its_work_before_the_next_one_begins(
    cluster: Cluster, namespace: str, delay: float
) -> None:
    direct = ApiConnection.load(str(cluster.kubeconfig))
    link = SlowLink(direct.server)
    async with (
        link.open() as address,
        candidates(namespace, TIMES, a=replace(direct, server=address), b=direct) as made,
    ):
        link.delay = delay
        await log_of(made).until(lambda log: "b begins" in log)
        assert not made["a"].elector.is_leading


async def test_with_replies_that_are_now_and_then_slow_only_one_works(cluster: Cluster, namespace: str) -> None:
    direct = ApiConnection.load(str(cluster.kubeconfig))
    first, second = SlowLink(direct.server), SlowLink(direct.server)
    chance = random.Random(1)  # noqa: S311 - only to vary
    async with (
        first.open() as one,
        second.open() as two,
        candidates(namespace, TIMES, a=replace(direct, server=one), b=replace(direct, server=two)) as made,
    ):
        for _ in range(sized(10, 24)):
            first.delay, second.delay = chance.choices([0.0, 0.1, 0.3, 1.5], k=2)
            await asyncio.sleep(TIMES.duration / 8)
        first.delay = second.delay = 0.0
        await log_of(made).until(lambda log: log[-1].endswith("begins"))
