"""A fake broker: a real HTTP server on loopback that sends the responses that a test sets, and records requests.

tests/broker has the responses of real brokers; this one sends those of a faulty broker.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from support.http_server import Handler, serve
from topicschema.broker.clock import Clock
from topicschema.broker.host_allow_list import AllowedHosts

LOOPBACK = AllowedHosts.parse("127.0.0.1, localhost")
VERSION = {"version": 0, "type": "STRING", "data": "", "timestamp": 1, "properties": {}}
"""A schema as a broker returns it."""


@dataclass
class ManualClock:
    """A clock that only a test or `sleep` moves. `chance` (0 to 1) is its random number."""

    time: float = 1000.0
    chance: float = 0.5

    async def sleep(self, seconds: float) -> None:
        self.time += max(seconds, 0.0)
        await asyncio.sleep(0)

    def as_clock(self) -> Clock:
        return Clock(lambda: self.time, self.sleep, lambda least, most: least + (most - least) * self.chance)


@dataclass
class FakeBroker:
    """The handlers of its requests, one after another (the last one repeats), and the requests that it received."""

    url: str = ""
    handlers: list[Handler] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.text())
        return await (self.handlers.pop(0) if len(self.handlers) > 1 else self.handlers[0])(request)

    def respond_with(self, status: int, body: object = "", **headers: str) -> None:
        """Add a response. A header's name has `_` for `-`."""
        text = body if isinstance(body, str) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        async def respond(_: web.Request) -> web.Response:
            return web.Response(status=status, text=text, headers=named)

        self.handlers.append(respond)

    def clear(self) -> None:
        self.handlers.clear()
        self.requests.clear()
        self.bodies.clear()

    @property
    def request_lines(self) -> list[str]:
        """Method and path of each request, the path as it was sent."""
        return [f"{each.method} {each.raw_path}" for each in self.requests]


@asynccontextmanager
async def run_fake_broker(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[FakeBroker]:
    broker = FakeBroker()
    async with serve(broker.handle, tls, host) as broker.url:
        yield broker


async def abort_connection(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def send_half(request: web.Request) -> web.StreamResponse:
    """Announce a thousand bytes, send a few, and abort the connection."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"version"')
    if request.transport is not None:
        request.transport.abort()
    return response
