"""Calls that open the circuit of a policy, which holds up no other policy of the same broker."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import pytest
from aiohttp import web

from support.pulsar.fake_broker import PlayedBroker, TurnedClock, reset
from topicschema.broker.broker import Broker
from topicschema.broker.circuit_breaker import Circuit
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.rate_limiter import Pace
from topicschema.broker.transport import Access
from topicschema.core.topics import Topic

LOOPBACK = AllowedHosts.parse("127.0.0.1")
VERSION = {"version": 0, "type": "STRING", "data": "", "timestamp": 1, "properties": {}}


async def unowned(_: web.Request) -> web.StreamResponse:
    return web.Response(status=503)


async def unknown(_: web.Request) -> web.StreamResponse:
    return web.json_response({"message": "Authentication required"}, status=401)


SICK: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
    "503": unowned,
    "401": unknown,
    "reset": reset,
}


@pytest.mark.parametrize("ill", [*SICK, "silence"])
async def test_what_one_policy_is_not_answered_holds_up_no_other(
    wire: PlayedBroker, turned: TurnedClock, ill: str
) -> None:
    hanging, is_over = asyncio.Semaphore(0), asyncio.Event()

    async def silence(_: web.Request) -> web.StreamResponse:
        hanging.release()
        await is_over.wait()
        return web.Response(status=504)

    sick = SICK.get(ill, silence)

    async def answer(request: web.Request) -> web.StreamResponse:
        return await (sick(request) if "/ill/" in request.path else well(request))

    async def well(_: web.Request) -> web.StreamResponse:
        return web.json_response(VERSION)

    wire.answers.append(answer)
    clock = turned.as_clock()
    one, other = (Broker(Access(wire.url, LOOPBACK, pace=Pace(clock)), clock) for _ in range(2))
    asks = [asyncio.create_task(one.latest(Topic("t", "ill", f"x{each}"))) for each in range(12)]
    if ill == "silence":
        for _ in range(8):
            await asyncio.wait_for(hanging.acquire(), 30)
        assert await other.latest(Topic("t", "n", "x")) is not None
    is_over.set()
    await asyncio.gather(*asks, return_exceptions=True)
    assert one.is_away
    assert await other.latest(Topic("t", "n", "x")) is not None
    await one.close()
    await other.close()


async def test_a_call_counts_once_however_often_it_was_sent(wire: PlayedBroker, broker: Broker) -> None:
    wire.answers.append(reset)
    for call in range(3):
        assert not broker.is_away
        with pytest.raises(BrokerUnavailableError):
            await broker.latest(Topic("t", "n", "x"))
        assert len(wire.requests) == 3 * (call + 1)
    assert broker.is_away


async def test_calls_that_hang_while_others_are_answered_do_not_open_the_circuit() -> None:
    circuit, away = Circuit(TurnedClock().as_clock()), BrokerUnavailableError("no answer in time")
    with ExitStack() as stack:
        hung = [stack.enter_context(circuit.passage()) for _ in range(5)]
        circuit.succeed()
        for passage in hung:
            circuit.fail(passage, away)
    assert not circuit.is_open


async def test_a_call_from_before_the_outage_does_not_put_the_next_probe_off() -> None:
    clock, away = TurnedClock(), BrokerUnavailableError("no answer in time")
    circuit = Circuit(clock.as_clock())
    with ExitStack() as stack:
        *hung, late = (stack.enter_context(circuit.passage()) for _ in range(4))
        for passage in hung:
            circuit.fail(passage, away)
        clock.time += 5
        probe = stack.enter_context(circuit.passage())
        circuit.fail(late, away)
        circuit.fail(probe, away)
    clock.time += 10
    circuit.check()
