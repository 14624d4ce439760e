"""The webhook's connections: beyond a number the oldest idle one is closed, but none with a running review."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.certificates import Authority
from topicschema.admission.review import Review, ReviewResponse, allow
from topicschema.https import connections
from topicschema.https.certificate import Certificate
from topicschema.https.connections import Connections
from topicschema.webhook.server import Endpoint

BODY = json.dumps({"request": {"uid": "1", "kind": {"kind": "TopicSchema"}}}).encode()
REQUEST = b"POST /review HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


@dataclass(frozen=True, slots=True)
class Client:
    """A connection to the webhook."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def status(self) -> bytes:
        """Return the first line of the response; empty if the connection was closed."""
        try:
            return await self.reader.readline()
        except ConnectionError:
            return b""


@dataclass(frozen=True, slots=True)
class Server:
    """A port that accepts two connections of each kind. Its reviewer waits for `may_respond`."""

    port: int
    trusting: ssl.SSLContext
    received: asyncio.Event
    may_respond: asyncio.Event
    clients: list[Client]

    async def connect(self, *, in_tls: bool = True) -> Client:
        tls = self.trusting if in_tls else None
        self.clients.append(Client(*await asyncio.open_connection("127.0.0.1", self.port, ssl=tls)))
        return self.clients[-1]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    issued = Authority.at(tmp_path).issue("webhook", ["127.0.0.1"])
    received, may_respond = asyncio.Event(), asyncio.Event()

    async def answer(_: Review) -> ReviewResponse:
        received.set()
        await may_respond.wait()
        return allow()

    endpoint = Endpoint({"TopicSchema": answer})
    runner = endpoint.runner()
    await runner.setup()
    tls = Certificate(issued.certificate, issued.key).context
    async with Connections(runner.server, tls, endpoint.bodies.senders, most=2).accepted_on(0) as port:
        server = Server(port, ssl.create_default_context(cafile=issued.ca), received, may_respond, [])
        yield server
        for client in server.clients:
            client.writer.transport.abort()
    may_respond.set()
    await runner.cleanup()


async def test_connections_without_a_handshake_are_closed_for_the_next(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_HANDSHAKE_SECONDS", 600.0)
    silent = await asyncio.gather(*(server.connect(in_tls=False) for _ in range(30)))
    for client in silent[:28]:
        assert await client.reader.read() == b""
    server.may_respond.set()
    client = await server.connect()
    client.writer.write(REQUEST)
    assert b"200" in await client.status()


async def test_the_oldest_idle_connection_is_closed_and_a_running_review_is_not(server: Server) -> None:
    reviewed = await server.connect()
    reviewed.writer.write(REQUEST)
    await server.received.wait()
    idle = [await server.connect() for _ in range(3)]
    for client in idle[:2]:
        assert await client.status() == b""
    server.may_respond.set()
    assert b"200" in await reviewed.status()
    idle[2].writer.write(REQUEST)
    assert b"200" in await idle[2].status()


async def test_a_failed_handshake_does_not_block_other_connections(server: Server) -> None:
    plain = await server.connect(in_tls=False)
    plain.writer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await plain.reader.read() == b""
    server.may_respond.set()
    client = await server.connect()
    client.writer.write(REQUEST)
    assert b"200" in await client.status()
