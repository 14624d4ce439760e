"""A proxy before a broker or an API server that a test controls: it records every call and applies the test's fault.

    with FaultProxy.before(pulsar) as proxy:            # in the clear; `serving=` makes it speak TLS
        proxy.fault = broker_faults.status(503)         # from now on; broker_faults.forward ends it
        proxy.calls                                     # every call since clear(): number, method, path, when, status

`FaultProxy.before_api_server` is the same before an API server. Faults of a response are in `testbed.broker_faults`,
those of the connection are here: `refuse` and `accept`, `cut`. The proxy runs in its own thread, so that tests can be
plain functions. Faults and their hooks run in that thread's event loop.
"""

import asyncio
import contextlib
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import aiohttp
from aiohttp import web
from yarl import URL

from testbed import ports
from testbed.broker_faults import forward
from testbed.calls import Call, Exchange, Fault, credential_of, reset
from testbed.certificates import Issued
from testbed.errors import TestbedError
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Access

_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "host", "keep-alive"}
_LARGEST = 128 * 1024 * 1024
_TURNS_OF_AN_ACCEPT = 3  # of the loop: asyncio's task begins, the transport is made, the protocol gets it
_LINGER_SECONDS = 0.2  # TLS connections take a moment to close, and must not outlive the loop

T = TypeVar("T")


@dataclass(slots=True)
class FaultProxy:
    """The running proxy. `fault` may be exchanged at any time; `errors` are those of faults and hooks themselves."""

    server: str
    tls: ssl.SSLContext | None
    port: int
    broker: Pulsar | None = None
    fault: Fault = forward
    calls: list[Call] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    _context: ssl.SSLContext | None = None
    _repeats: Counter[tuple[str, str]] = field(default_factory=Counter)
    _watches: dict[web.StreamResponse, web.Request] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _server: asyncio.Server | None = None
    _runner: web.AppRunner | None = None
    _session: aiohttp.ClientSession | None = None

    @classmethod
    def before(cls, upstream: Pulsar, serving: Issued | None = None) -> AbstractContextManager[Self]:
        """Start a proxy on loopback to that broker; with `serving`, by TLS with that certificate.

        Raise at the end the error of a fault or a hook, if there was one.
        """
        return cls._before(upstream.admin_url, _upstream_context(upstream), serving, upstream)

    @classmethod
    def before_api_server(cls, url: str, ca: Path, serving: Issued) -> AbstractContextManager[Self]:
        """Start a proxy to the API server that has a certificate of that authority."""
        return cls._before(url, ssl.create_default_context(cafile=str(ca)), serving)

    @classmethod
    @contextlib.contextmanager
    def _before(
        cls, server: str, tls: ssl.SSLContext | None, serving: Issued | None, broker: Pulsar | None = None
    ) -> Iterator[Self]:
        proxy = cls(server, tls, ports.free(), broker)
        if serving is not None:
            proxy._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            proxy._context.load_cert_chain(serving.certificate, serving.key)
        thread = threading.Thread(target=proxy._loop.run_forever, name="fault-proxy", daemon=True)
        thread.start()
        try:
            proxy._run(proxy._open())
            proxy.accept()
            yield proxy
        finally:
            proxy._run(proxy._close())
            proxy._loop.call_soon_threadsafe(proxy._loop.stop)
            thread.join(30)
            proxy._loop.close()
        if proxy.errors:
            raise proxy.errors[0]

    @property
    def upstream(self) -> Pulsar:
        """The broker behind it."""
        if self.broker is None:
            raise TestbedError("this proxy is before no broker")
        return self.broker

    @property
    def url(self) -> str:
        return f"{'http' if self._context is None else 'https'}://{ports.LOOPBACK}:{self.port}"

    @property
    def writes(self) -> list[Call]:
        return [call for call in self.calls if call.is_write]

    def clear(self) -> None:
        """Remove the calls and the fault."""
        self.fault, self.calls, self._repeats = forward, [], Counter()

    def refuse(self) -> None:
        """Refuse new connections and reset the open ones, until `accept`."""
        self._run(self._refuse())

    def accept(self) -> None:
        """Accept connections again, on the same port."""
        self._run(self._listen())

    def cut(self) -> None:
        """Reset the open connections. New ones are accepted."""
        self._run(self._cut())

    def cut_watches(self) -> int:
        """Reset the open watches and return their number."""
        return self._run(self._cut_watches())

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call the callback in the proxy's event loop."""
        self._loop.call_soon_threadsafe(callback)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _open(self) -> None:
        connector = aiohttp.TCPConnector(ssl=self.tls or True, limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await self._loop.create_server(
                self._connection, ports.LOOPBACK, self.port, ssl=self._context
            )

    def _connection(self) -> asyncio.Protocol:
        if self._runner is None or self._runner.server is None:
            raise RuntimeError("the proxy is not open")
        return self._runner.server()

    async def _refuse(self) -> None:
        if self._server is not None:
            for listener in self._server.sockets:  # a connection that asyncio has begun to accept leaks on close()
                self._loop.remove_reader(listener.fileno())
            for _ in range(_TURNS_OF_AN_ACCEPT):
                await asyncio.sleep(0)
            self._server.close()
            self._server = None
        await self._cut()

    async def _cut(self) -> None:
        if self._runner is not None and self._runner.server is not None:
            for connection in self._runner.server.connections:
                reset(connection.transport)

    async def _cut_watches(self) -> int:
        transports = [each.transport for each in self._watches.values() if each.transport is not None]
        for transport in transports:
            reset(transport)
        return len(transports)

    async def _close(self) -> None:
        await self._refuse()
        in_flight = asyncio.all_tasks() - {asyncio.current_task()}
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        if self._context is not None or self.tls is not None:
            await asyncio.sleep(_LINGER_SECONDS)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        call = self._record(request, body)
        try:
            response = await self.fault(Exchange(call, request, lambda: self._forward(request, call)))
        except (ConnectionError, aiohttp.ClientError):  # one of the two ends is gone, as a test intends
            reset(request.transport)
            return web.Response(status=502)
        except Exception as error:  # noqa: BLE001 - the test's own error is raised at the end
            self.errors.append(error)
            return web.Response(status=500, text="the test's fault failed")
        call.status = response.status if request.transport is not None else None
        return response

    def _record(self, request: web.Request, body: bytes) -> Call:
        key = (request.method, request.raw_path)
        self._repeats[key] += 1
        credential = credential_of(request.headers.get("Authorization", ""))
        call = Call(len(self.calls) + 1, self._repeats[key], *key, credential, time.monotonic(), body)
        self.calls.append(call)
        return call

    async def _forward(self, request: web.Request, call: Call) -> web.StreamResponse:
        if self._session is None:
            raise RuntimeError("the proxy is not open")
        url = URL(f"{self.server}{request.raw_path}", encoded=True)
        sent = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        options: dict[str, Any] = {"headers": sent, "data": call.body or None, "allow_redirects": False}
        async with self._session.request(request.method, url, **options) as response:
            headers = {name: value for name, value in response.headers.items() if name.lower() not in _HOP_BY_HOP}
            if call.is_watch:
                return await self._stream(request, response, headers)
            return web.Response(
                status=response.status, reason=response.reason, headers=headers, body=await response.read()
            )

    async def _stream(
        self, request: web.Request, response: aiohttp.ClientResponse, headers: dict[str, str]
    ) -> web.StreamResponse:
        stream = web.StreamResponse(status=response.status, headers=headers)
        await stream.prepare(request)
        self._watches[stream] = request
        try:
            while chunk := await response.content.readany():
                await stream.write(chunk)
        finally:
            del self._watches[stream]
        return stream


def _upstream_context(upstream: Pulsar) -> ssl.SSLContext | None:
    credentials = upstream.credentials
    if credentials is None:
        return None
    context = ssl.create_default_context(cafile=str(credentials.ca))
    if credentials.access is Access.CERTIFICATE:  # the caller's own cannot be passed on
        context.load_cert_chain(credentials.superuser.certificate, credentials.superuser.key)
    return context
