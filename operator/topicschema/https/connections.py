"""Connections of a server: accepted with TLS, and limited in number.

asyncio's own server has no limit, and each of its TLS connections allocates a buffer of 256 KiB before it received a
byte. So any client that connects could use up the memory. A connection takes about 50 KiB here.
"""

import asyncio
import logging
import socket
import ssl
from asyncio import sslproto
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

_LOG = logging.getLogger(__name__)

# More than the reviews that can be in progress, so that the API server's idle connections mostly stay.
_MOST: Final = 1024
_BACKLOG: Final = 128
# The size of a TLS record, for asyncio's buffer of each TLS connection.
_BUFFER_BYTES: Final = 16 * 1024
_HANDSHAKE_SECONDS: Final = 5.0
# The time that a closed connection waits for the other side to close it, too.
_SHUTDOWN_SECONDS: Final = 1.0
# An accept fails if the process has too many open files, and keeps failing until some are closed.
_PAUSE: Final = 0.1


class Connections:
    """Connections of `server`: at most `most` in a handshake, and as many that are open.

    Beyond that the oldest one is closed: in a handshake, or open and not in `busy`. A busy one never is.
    """

    def __init__(
        self, server: web.Server, tls: ssl.SSLContext, busy: Collection[web.RequestHandler], most: int = _MOST
    ) -> None:
        self._server, self._tls, self._busy, self._most = server, tls, busy, most
        self._handshakes: dict[asyncio.Task[None], None] = {}

    @asynccontextmanager
    async def accepted_on(self, port: int) -> AsyncIterator[int]:
        """Accept connections on the port of every address until the context ends. Yield the port, also for port 0."""
        sslproto.SSLProtocol.max_size = _BUFFER_BYTES
        with _listen(port) as listening:
            accepting = asyncio.create_task(self._accept(listening))
            try:
                yield listening.getsockname()[1]
            finally:
                for task in (accepting, *self._handshakes):
                    task.cancel()
                await asyncio.wait([accepting])

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(listening)
            except OSError as error:
                _LOG.warning("no connection can be accepted now: %s", error)
                await asyncio.sleep(_PAUSE)
                continue
            self._close_oldest()
            handshake = asyncio.create_task(self._open(connection))
            self._handshakes[handshake] = None
            handshake.add_done_callback(lambda done: self._handshakes.pop(done, None))
            await asyncio.sleep(0)  # an accept that need not wait lets no other task run

    def _close_oldest(self) -> None:
        if len(self._handshakes) >= self._most:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            oldest.cancel()
        opened = self._server.connections
        if len(opened) >= self._most:
            idle = (each.transport for each in opened if each.transport is not None and each not in self._busy)
            for transport in idle:
                if not transport.is_closing():
                    transport.abort()
                    return

    async def _open(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._server,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
            )
        except OSError as error:  # an ssl.SSLError, also of a handshake that takes too long, is an OSError
            _LOG.debug("a connection was not opened: %s", error)


def _listen(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        listening = socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    else:
        listening = socket.create_server(("", port), backlog=_BACKLOG)
    listening.setblocking(False)  # noqa: FBT003 - socket's signature
    return listening
