"""Faults of a broker's response for `FaultProxy.fault`, and their times.

A test may write its own: any coroutine function from an Exchange to a response.
"""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from testbed.calls import Call, Exchange, Fault

Hook = Callable[[], Awaitable[None]]
"""An action at a moment of a call. It runs in the proxy's event loop, and the call waits for it."""


async def forward(exchange: Exchange) -> web.StreamResponse:
    """Forward the call: no fault."""
    return await exchange.forward()


def status(code: int) -> Fault:
    """Respond with that status and a reason, as Pulsar does, without a request to the broker."""

    async def respond(_: Exchange) -> web.StreamResponse:
        return web.json_response({"reason": f"a fault of status {code}"}, status=code)

    return respond


async def reset(exchange: Exchange) -> web.StreamResponse:
    """Reset the connection before any response. The broker does not receive the call."""
    exchange.reset()
    return web.Response(status=502)


def silence(seconds: float) -> Fault:
    """Respond nothing for that time, then reset the connection."""

    async def delay(exchange: Exchange) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await reset(exchange)

    return delay


def when(concerned: Callable[[Call], bool], fault: Fault) -> Fault:
    """Return a fault that applies to the concerned calls. Others are forwarded."""

    async def choose(exchange: Exchange) -> web.StreamResponse:
        return await (fault if concerned(exchange.call) else forward)(exchange)

    return choose


def before(number: int, hook: Hook, concerned: Callable[[Call], bool]) -> Fault:
    """Run the hook when the concerned call `number` has arrived, before it is forwarded."""

    async def run_hook(exchange: Exchange) -> web.StreamResponse:
        await hook()
        return await exchange.forward()

    return _nth(number, concerned, run_hook)


def after(number: int, hook: Hook, concerned: Callable[[Call], bool]) -> Fault:
    """Run the hook when the broker has responded to the concerned call `number`, before the caller receives it."""

    async def run_hook(exchange: Exchange) -> web.StreamResponse:
        response = await exchange.forward()
        await hook()
        return response

    return _nth(number, concerned, run_hook)


def _nth(number: int, concerned: Callable[[Call], bool], fault: Fault) -> Fault:
    """Return a fault that applies to one call, by its number among the concerned ones. Others are forwarded."""
    count = 0

    async def choose(exchange: Exchange) -> web.StreamResponse:
        nonlocal count
        is_concerned = concerned(exchange.call)
        count += is_concerned
        return await (fault if is_concerned and count == number else forward)(exchange)

    return choose
