"""A proxy in front of the API server that is under a test's control.

It runs in a thread of its own, so that tests can be plain functions. It keeps which calls it saw; every write except
those of Leases is told apart, because a write is a moment at which a process may die.
"""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import aiohttp
from aiohttp import web

from testbed import ports
from testbed.certificates import Authority, Issued

_HOP_BY_HOP = {"connection", "transfer-encoding", "content-encoding", "content-length", "host", "keep-alive"}
_LINGER_SECONDS = 0.3  # TLS connections take a moment to close, and must not outlive the loop
_READS = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the proxy saw it; `body` is that of a write, empty for others and for Leases."""

    is_write: bool
    method: str
    path: str
    query: str
    body: bytes = b""

    @property
    def is_watch(self) -> bool:
        """Whether it is a watch."""
        return "watch=true" in self.query or "watch=1" in self.query

    @property
    def target(self) -> str:
        """The resource, and the part of it if it is one: `topicschemas/status`."""
        parts = self.path.strip("/").split("/")
        parts = parts[2:] if parts[0] == "api" else parts[3:]
        parts = parts[2:] if parts[0] == "namespaces" and len(parts) > 2 else parts
        return "/".join((parts[0], *parts[2:]))

    def __str__(self) -> str:
        """As it stands in an assertion's message."""
        return f"{self.method} {self.path}"


Answer = web.StreamResponse
Fault = Callable[[Call, Callable[[], Awaitable[Answer]]], Awaitable[Answer]]
"""What happens to one call: it may forward it (or not), do something before or after, and answer what it likes."""


async def untouched(_: Call, forward: Callable[[], Awaitable[Answer]]) -> Answer:
    """No fault."""
    return await forward()


def unanswered() -> Answer:
    """What stands where nobody is left to read an answer."""
    return web.Response(status=503)


@dataclass(slots=True)
class Proxy:
    """The running proxy. `fault` may be exchanged at any time; `calls` holds what was seen since `forget`."""

    server: str
    serving: Issued
    upstream_ca: Path
    port: int
    fault: Fault = untouched
    calls: list[Call] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _streams: set[web.StreamResponse] = field(default_factory=set)
    _thread: threading.Thread | None = None
    _session: aiohttp.ClientSession | None = None
    _runner: web.AppRunner | None = None

    @classmethod
    def start(cls, server: str, upstream_ca: Path, folder: Path) -> Self:
        """A proxy to `server`, listening on loopback with a certificate of its own."""
        serving = Authority.at(folder / "proxy-pki").issue("proxy", [ports.LOOPBACK])
        proxy = cls(server, serving, upstream_ca, ports.free())
        proxy._thread = threading.Thread(target=proxy._loop.run_forever, name="proxy", daemon=True)
        proxy._thread.start()
        asyncio.run_coroutine_threadsafe(proxy._open(), proxy._loop).result(30)
        return proxy

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"https://{ports.LOOPBACK}:{self.port}"

    @property
    def writes(self) -> list[Call]:
        """The writes that were seen."""
        return [call for call in self.calls if call.is_write]

    def forget(self) -> None:
        """Begin without a fault, and with no calls seen."""
        self.fault, self.calls = untouched, []

    def cut_watches(self) -> int:
        """Cut the open watch connections; how many there were."""
        return asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(30)

    def call_soon(self, do: Callable[[], None]) -> None:
        """Have it done in the proxy's thread."""
        self._loop.call_soon_threadsafe(do)

    def close(self) -> None:
        """Stop serving."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not None:
            self._thread.join(30)
        self._loop.close()

    async def _open(self) -> None:
        upstream = ssl.create_default_context(cafile=str(self.upstream_ca))
        connector = aiohttp.TCPConnector(ssl=upstream, limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.serving.certificate, self.serving.key)
        await web.TCPSite(self._runner, ports.LOOPBACK, self.port, ssl_context=context).start()

    async def _close(self) -> None:
        self.fault = untouched
        await self._cut()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await asyncio.sleep(_LINGER_SECONDS)

    async def _cut(self) -> int:
        cut = list(self._streams)
        for stream in cut:
            transport = getattr(getattr(stream, "_req", None), "transport", None)
            if transport is not None:
                transport.abort()
        return len(cut)

    async def _serve(self, request: web.Request) -> Answer:
        is_write = request.method not in _READS and "/leases" not in request.path
        body = await request.read() if is_write else b""
        call = Call(is_write, request.method, request.path, request.query_string, body)
        self.calls.append(call)
        return await self.fault(call, lambda: self._forward(request, call))

    async def _forward(self, request: web.Request, call: Call) -> Answer:
        if self._session is None:
            raise RuntimeError("the proxy is not open")
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        body = await request.read()
        url = f"{self.server}{request.raw_path}"
        async with self._session.request(request.method, url, headers=headers, data=body or None) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            if not call.is_watch:
                encoding = {k: v for k, v in answer.headers.items() if k.lower() == "content-encoding"}
                return web.Response(status=answer.status, headers={**kept, **encoding}, body=await answer.read())
            return await self._stream(request, answer, kept)

    async def _stream(self, request: web.Request, answer: aiohttp.ClientResponse, headers: dict[str, str]) -> Answer:
        stream = web.StreamResponse(status=answer.status, headers=headers)
        await stream.prepare(request)
        self._streams.add(stream)
        try:
            with contextlib.suppress(ConnectionResetError):  # the client went away, as it should when it is killed
                async with contextlib.aclosing(_chunks(answer)) as chunks:
                    async for chunk in chunks:
                        await stream.write(chunk)
        finally:
            self._streams.discard(stream)
        return stream


async def _chunks(answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    async for chunk in answer.content.iter_any():
        yield chunk
