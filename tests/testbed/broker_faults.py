"""What can go wrong in a broker's answer, for `FaultProxy.fault`; and when it does.

A fault of its own is any coroutine function from an Exchange to an answer.
"""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from testbed.calls import Call, Exchange, Fault

Hook = Callable[[], Awaitable[None]]
"""Something to do at a moment of a call; it runs in the proxy's event loop, and the call waits for it."""


async def untouched(exchange: Exchange) -> web.StreamResponse:
    """No fault."""
    return await exchange.forward()


def status(code: int) -> Fault:
    """Answer that status, with a reason as Pulsar gives it, without asking the broker."""

    async def answered(_: Exchange) -> web.StreamResponse:
        return web.json_response({"reason": f"a fault of status {code}"}, status=code)

    return answered


async def reset(exchange: Exchange) -> web.StreamResponse:
    """Break the connection off before any answer; the broker never hears of the call."""
    exchange.reset()
    return web.Response(status=502)


async def reset_after_forwarding(exchange: Exchange) -> web.StreamResponse:
    """Let the broker do it, and break the connection off before the caller hears of it."""
    await exchange.forward()
    return await reset(exchange)


def silence(seconds: float) -> Fault:
    """Say nothing for that long, and then break the connection off."""

    async def delayed(exchange: Exchange) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await reset(exchange)

    return delayed


def when(concerned: Callable[[Call], bool], fault: Fault) -> Fault:
    """The fault for the calls that are concerned; the others pass."""

    async def chosen(exchange: Exchange) -> web.StreamResponse:
        return await (fault if concerned(exchange.call) else untouched)(exchange)

    return chosen


def first(count: int, fault: Fault) -> Fault:
    """The fault for the first calls; then all pass."""
    return when(lambda call: call.number <= count, fault)


def before(number: int, hook: Hook, concerned: Callable[[Call], bool]) -> Fault:
    """Run the hook when the concerned call `number` has arrived and the broker has not heard of it; then forward it."""

    async def hooked(exchange: Exchange) -> web.StreamResponse:
        await hook()
        return await exchange.forward()

    return _nth(number, concerned, hooked)


def after(number: int, hook: Hook, concerned: Callable[[Call], bool]) -> Fault:
    """Run the hook when the broker has done the concerned call `number` and the caller has not heard of it."""

    async def hooked(exchange: Exchange) -> web.StreamResponse:
        answer = await exchange.forward()
        await hook()
        return answer

    return _nth(number, concerned, hooked)


def _nth(number: int, concerned: Callable[[Call], bool], fault: Fault) -> Fault:
    """The fault for one call, by its number among those that are concerned; the others pass."""
    count = 0

    async def chosen(exchange: Exchange) -> web.StreamResponse:
        nonlocal count
        is_concerned = concerned(exchange.call)
        count += is_concerned
        return await (fault if is_concerned and count == number else untouched)(exchange)

    return chosen
