"""The calls of a fault proxy, and the faults of a test."""

import asyncio
import hashlib
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from aiohttp import web

_READS = {"GET", "HEAD", "OPTIONS"}
_POSTED_READS = ("/compatibility", "/version")


@dataclass(slots=True)
class Call:
    """One call of a proxy. `number` counts all calls from 1, `repeat` those of the same method and path.

    `path` is as sent, still encoded, with its query. `when` is in seconds of the monotonic clock. `status` is None
    until and unless the proxy responds. `credential` is a hash, which distinguishes credentials.
    """

    number: int
    repeat: int
    method: str
    path: str
    credential: str
    when: float
    body: bytes = field(default=b"", repr=False)
    status: int | None = None

    @property
    def at(self) -> str:
        """`when` as a UTC time in the format of an audit log, so that the two compare as texts."""
        began = datetime.now(UTC) - timedelta(seconds=time.monotonic() - self.when)
        return began.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    @property
    def is_write(self) -> bool:
        """True if a broker that accepts the call changes its state."""
        return self.method not in _READS and not self.path.partition("?")[0].endswith(_POSTED_READS)

    @property
    def is_watch(self) -> bool:
        """True for a watch of an API server, whose response has no end."""
        return "watch=true" in self.path or "watch=1" in self.path

    def __str__(self) -> str:
        """Return its text in an assertion's message."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call that waits for its response."""

    call: Call
    request: web.Request
    forward: Callable[[], Awaitable[web.StreamResponse]]

    def reset(self) -> None:
        reset(self.request.transport)


Fault = Callable[[Exchange], Awaitable[web.StreamResponse]]
"""A handler of a call: it may forward it or not, act before or after, and send any response."""


def credential_of(authorization: str) -> str:
    """Return `Call.credential` for an Authorization header; empty for none."""
    return hashlib.sha256(authorization.encode()).hexdigest()[:12] if authorization else ""


def reset(transport: asyncio.BaseTransport | None) -> None:
    """Close the connection at once, so that the peer receives a reset."""
    if not isinstance(transport, asyncio.Transport):
        return
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
