"""A broker played at the wire: a real HTTP server on loopback that answers what it is told to, and counts.

What a real broker answers is asked in tests/broker; here is what one answers that is ill.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from support.http_server import Answer, served
from topicschema.broker.clock import Clock


@dataclass
class TurnedClock:
    """A clock that stands until it is turned; whoever sleeps turns it. `chance` (0 to 1) is what it draws."""

    time: float = 1000.0
    chance: float = 0.5

    async def sleep(self, seconds: float) -> None:
        self.time += max(seconds, 0.0)
        await asyncio.sleep(0)

    def as_clock(self) -> Clock:
        return Clock(lambda: self.time, self.sleep, lambda least, most: least + (most - least) * self.chance)


@dataclass
class PlayedBroker:
    """What it answers, one after another (the last for ever), and the requests that it saw."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.text())
        return await (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])(request)

    def says(self, status: int, body: object = "", **headers: str) -> None:
        """Answer this next; a header is written with `_` for `-`."""
        text = body if isinstance(body, str) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        async def answer(_: web.Request) -> web.Response:
            return web.Response(status=status, text=text, headers=named)

        self.answers.append(answer)

    def forgets(self) -> None:
        """Forget what was to be answered, and what was asked."""
        self.answers.clear()
        self.requests.clear()
        self.bodies.clear()

    @property
    def asked(self) -> list[str]:
        """Method and path of each request, the path as it was sent."""
        return [f"{each.method} {each.raw_path}" for each in self.requests]


@asynccontextmanager
async def playing(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[PlayedBroker]:
    """A played broker, listening while the context lasts."""
    broker = PlayedBroker()
    async with served(broker.answer, tls, host) as broker.url:
        yield broker


async def reset(request: web.Request) -> web.StreamResponse:
    """End the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def half(request: web.Request) -> web.StreamResponse:
    """Promise a thousand bytes, send a few, and end the connection."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"version"')
    if request.transport is not None:
        request.transport.abort()
    return response
