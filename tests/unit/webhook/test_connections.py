"""The webhook's connections: beyond a number the oldest idle one is closed, and a review that is under way is not."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.certificates import Authority
from topicschema.admission.review import Answer, Review, allow
from topicschema.webhook import connections
from topicschema.webhook.connections import Connections
from topicschema.webhook.server import Certificate, Endpoint

BODY = json.dumps({"request": {"uid": "1", "kind": {"kind": "TopicSchema"}}}).encode()
REQUEST = b"POST /review HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


@dataclass(frozen=True, slots=True)
class Client:
    """A connection to the webhook."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def status(self) -> bytes:
        """The answer's first line; empty where the connection was closed instead."""
        try:
            return await self.reader.readline()
        except ConnectionError:
            return b""


@dataclass(frozen=True, slots=True)
class Door:
    """A port that takes two connections of each kind; its reviewer waits for `may_answer`."""

    port: int
    trusting: ssl.SSLContext
    asked: asyncio.Event
    may_answer: asyncio.Event
    clients: list[Client]

    async def connect(self, *, in_tls: bool = True) -> Client:
        tls = self.trusting if in_tls else None
        self.clients.append(Client(*await asyncio.open_connection("127.0.0.1", self.port, ssl=tls)))
        return self.clients[-1]


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    issued = Authority.at(tmp_path).issue("webhook", ["127.0.0.1"])
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def answer(_: Review) -> Answer:
        asked.set()
        await may_answer.wait()
        return allow()

    endpoint = Endpoint({"TopicSchema": answer})
    runner = endpoint.runner()
    await runner.setup()
    tls = Certificate(issued.certificate, issued.key).context
    async with Connections(runner.server, tls, endpoint.bodies.senders, most=2).accepted_on(0) as port:
        door = Door(port, ssl.create_default_context(cafile=issued.ca), asked, may_answer, [])
        yield door
        for client in door.clients:
            client.writer.transport.abort()
    may_answer.set()
    await runner.cleanup()


async def test_connections_that_begin_no_handshake_give_way_to_the_next(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_HANDSHAKE_SECONDS", 600.0)
    silent = await asyncio.gather(*(door.connect(in_tls=False) for _ in range(30)))
    for client in silent[:28]:
        assert await client.reader.read() == b""
    door.may_answer.set()
    client = await door.connect()
    client.writer.write(REQUEST)
    assert b"200" in await client.status()


async def test_the_oldest_idle_connection_gives_way_and_a_review_is_answered(door: Door) -> None:
    reviewed = await door.connect()
    reviewed.writer.write(REQUEST)
    await door.asked.wait()
    idle = [await door.connect() for _ in range(3)]
    for client in idle[:2]:
        assert await client.status() == b""
    door.may_answer.set()
    assert b"200" in await reviewed.status()
    idle[2].writer.write(REQUEST)
    assert b"200" in await idle[2].status()


async def test_a_handshake_that_fails_keeps_nobody_out(door: Door) -> None:
    strange = await door.connect(in_tls=False)
    strange.writer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await strange.reader.read() == b""
    door.may_answer.set()
    client = await door.connect()
    client.writer.write(REQUEST)
    assert b"200" in await client.status()
