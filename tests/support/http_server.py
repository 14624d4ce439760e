"""A real HTTP server on loopback whose responses a test sets."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serve(handler: Handler, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Serve all requests with `handler` while the context lasts, at the URL that it gives."""
    application = web.Application(client_max_size=8 << 20)
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, 0, ssl_context=tls).start()
        yield f"{'http' if tls is None else 'https'}://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
