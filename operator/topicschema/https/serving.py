"""Serving of an application over HTTPS until a signal, with limits on what a client may send."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, cast

from aiohttp import web

from topicschema.https.bodies import Bodies
from topicschema.https.certificate import Certificate
from topicschema.https.connections import Connections

_FINISH: Final = 10.0
# Longer than the idle timeout of API servers and of proxies, so that the server never closes a connection that is about
# to be used.
_KEEP_ALIVE: Final = 120.0
# At most twice as much of each connection is buffered before its handler reads it.
_READ_BYTES: Final = 64 * 1024
# The rest of a refused body is read for this time, so that the client receives the answer.
_LINGERING: Final = 0.5


@dataclass(frozen=True, slots=True)
class HeaderLimits:
    """Limits on the bytes of the request line, on the number of headers, and on the bytes of each."""

    line_bytes: int
    headers: int
    header_bytes: int


def runner(application: web.Application, limits: HeaderLimits) -> web.AppRunner:
    """Return a runner of the application with these limits. It decompresses no body."""
    return web.AppRunner(
        application,
        access_log=None,
        auto_decompress=False,  # a few bytes could become many
        read_bufsize=_READ_BYTES,
        max_line_size=limits.line_bytes,
        max_headers=limits.headers,
        max_field_size=limits.header_bytes,
        keepalive_timeout=_KEEP_ALIVE,
        lingering_time=_LINGERING,
        shutdown_timeout=_FINISH,
    )


@asynccontextmanager
async def served(runner: web.AppRunner, certificate: Certificate, bodies: Bodies, port: int) -> AsyncIterator[int]:
    """Serve on the port while the context lasts, and yield the port. Then finish the open requests."""
    following = asyncio.create_task(certificate.follow())
    try:
        await runner.setup()
        server = cast("web.Server", runner.server)  # None before the setup
        async with Connections(server, certificate.context, bodies.senders).accepted_on(port) as accepted:
            yield accepted
    finally:
        following.cancel()
        await runner.cleanup()


async def until_signal(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Await `serve` with an event that SIGTERM or SIGINT sets."""
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    await serve(stop)
