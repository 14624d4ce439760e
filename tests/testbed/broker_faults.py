"""What can go wrong in a broker's answer, for `FaultProxy.fault`; and when it does.

A fault of its own is any coroutine function from an Exchange to an answer.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from testbed.calls import Call, Exchange, Fault

Hook = Callable[[], Awaitable[None]]
"""Something to do at a moment of a call; it runs in the proxy's event loop, and the call waits for it."""

_CHUNK = b" " * 65536
_MEGABYTE = 1024 * 1024
_ERROR_PAGE = "<html><head><title>Error</title></head><body><h2>HTTP ERROR {status}</h2></body></html>"


def _any(_: Call) -> bool:
    return True


async def untouched(exchange: Exchange) -> web.StreamResponse:
    """No fault."""
    return await exchange.forward()


def status(code: int, body: Any = None, *, retry_after: int | str | None = None) -> Fault:
    """Answer that status without asking the broker; `body` is sent as JSON, by default a reason as Pulsar gives it."""
    text = json.dumps({"reason": f"a fault of status {code}"} if body is None else body)
    return text_of("application/json", text, code, retry_after=retry_after)


def html(code: int = 200) -> Fault:
    """Answer a page where JSON is expected, as a load balancer does."""
    return text_of("text/html", _ERROR_PAGE.format(status=code), code)


def text_of(content_type: str, text: str, code: int = 200, *, retry_after: int | str | None = None) -> Fault:
    """Answer that text without asking the broker."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    async def answered(_: Exchange) -> web.StreamResponse:
        return web.Response(status=code, text=None if code == 204 else text, content_type=content_type, headers=headers)

    return answered


async def reset(exchange: Exchange) -> web.StreamResponse:
    """Break the connection off before any answer; the broker never hears of the call."""
    exchange.reset()
    return web.Response(status=502)


def forwarded(fault: Fault) -> Fault:
    """Let the broker do it, and give the caller the fault instead of its answer."""

    async def done(exchange: Exchange) -> web.StreamResponse:
        await exchange.forward()
        return await fault(exchange)

    return done


reset_after_forwarding = forwarded(reset)
"""The broker has done it, and the caller never hears of it."""


async def reset_mid_body(exchange: Exchange) -> web.StreamResponse:
    """Let the broker do it, send half of its answer, and break the connection off."""
    body = _body(await exchange.forward())
    stream = await _begun(exchange, len(body) + 2)  # also of an empty body one half is missing
    await stream.write(body[: len(body) // 2] or b" ")
    await asyncio.sleep(0.05)  # a reset throws away what was not sent yet
    exchange.reset()
    return stream


async def truncated(exchange: Exchange) -> web.StreamResponse:
    """Let the broker do it and give the first half of its answer as if it were all."""
    answer = await exchange.forward()
    body = _body(answer)
    return web.Response(status=answer.status, body=body[: len(body) // 2], content_type=answer.content_type)


def silence(seconds: float) -> Fault:
    """Say nothing for that long, and then break the connection off."""
    return slow(seconds, reset)


def slow(seconds: float, fault: Fault = untouched) -> Fault:
    """The fault, after that long."""

    async def delayed(exchange: Exchange) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await fault(exchange)

    return delayed


def huge(megabytes: int = 50, code: int = 200) -> Fault:
    """Answer JSON that is that large: a text of blanks, written until the caller has had enough."""

    async def grown(exchange: Exchange) -> web.StreamResponse:
        stream = await _begun(exchange, megabytes * _MEGABYTE, code)
        await stream.write(b'"')
        for _ in range(megabytes * _MEGABYTE // len(_CHUNK) - 1):
            await stream.write(_CHUNK)
        await stream.write(_CHUNK[:-2] + b'"')
        return stream

    return grown


def redirect(base: str, code: int = 307) -> Fault:
    """Send the caller with the same path to another base URL."""

    async def sent_away(exchange: Exchange) -> web.StreamResponse:
        return web.Response(status=code, headers={"Location": f"{base}{exchange.request.raw_path}"})

    return sent_away


def stores_nothing(schema_version: int = 0) -> Fault:
    """Say yes to every write, with that schema version where one is due, and do nothing; answer questions truly."""

    async def lied(exchange: Exchange) -> web.StreamResponse:
        path = exchange.request.path
        if not exchange.call.is_write:
            return await exchange.forward()
        if not path.endswith("/schema"):
            return web.Response(status=204)
        number: Any = {"version": schema_version}
        return web.json_response({"version": number} if exchange.call.method == "POST" else number)

    return lied


def when(concerned: Callable[[Call], bool], fault: Fault) -> Fault:
    """The fault for the calls that are concerned; the others pass."""

    async def chosen(exchange: Exchange) -> web.StreamResponse:
        return await (fault if concerned(exchange.call) else untouched)(exchange)

    return chosen


def at(number: int, fault: Fault) -> Fault:
    """The fault for one call, by its number since `FaultProxy.forget`."""
    return when(lambda call: call.number == number, fault)


def first(count: int, fault: Fault) -> Fault:
    """The fault for the first calls; then all pass."""
    return when(lambda call: call.number <= count, fault)


def nth(number: int, concerned: Callable[[Call], bool], fault: Fault) -> Fault:
    """The fault for one call, by its number among those that are concerned; the others pass."""
    seen = 0

    async def chosen(exchange: Exchange) -> web.StreamResponse:
        nonlocal seen
        is_concerned = concerned(exchange.call)
        seen += is_concerned
        return await (fault if is_concerned and seen == number else untouched)(exchange)

    return chosen


def before(number: int, hook: Hook, concerned: Callable[[Call], bool] = _any) -> Fault:
    """Run the hook when the concerned call `number` has arrived and the broker has not heard of it; then forward it."""

    async def hooked(exchange: Exchange) -> web.StreamResponse:
        await hook()
        return await exchange.forward()

    return nth(number, concerned, hooked)


def after(number: int, hook: Hook, concerned: Callable[[Call], bool] = _any) -> Fault:
    """Run the hook when the broker has done the concerned call `number` and the caller has not heard of it."""

    async def hooked(exchange: Exchange) -> web.StreamResponse:
        answer = await exchange.forward()
        await hook()
        return answer

    return nth(number, concerned, hooked)


async def _begun(exchange: Exchange, length: int, code: int = 200) -> web.StreamResponse:
    """An answer whose head is sent and whose body is to come."""
    stream = web.StreamResponse(status=code, headers={"Content-Type": "application/json"})
    stream.content_length = length
    await stream.prepare(exchange.request)
    return stream


def _body(answer: web.StreamResponse) -> bytes:
    body = answer.body if isinstance(answer, web.Response) else None
    return body if isinstance(body, bytes) else b""
