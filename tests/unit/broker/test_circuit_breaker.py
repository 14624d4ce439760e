"""How often a broker is asked while it is away or ill: counted at the wire, by a clock that is turned."""

import asyncio
import gc
import socket
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from support.metrics import counted
from support.pulsar.fake_broker import PlayedBroker, TurnedClock, reset
from topicschema.broker.broker import Broker
from topicschema.broker.circuit_breaker import Circuit
from topicschema.broker.errors import BrokerUnauthorizedError, BrokerUnavailableError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.rate_limiter import BURST_SECONDS, PER_SECOND, Pace
from topicschema.broker.transport import Access
from topicschema.core.errors import TopicSchemaError
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import Topic

LOOPBACK = AllowedHosts.parse("127.0.0.1")
MINUTE = 60.0
AWAY_FIRST, AWAY_LATER = 57, 2
ILL_FIRST, ILL_LATER = 50, 40  # one in two seconds, and the eight that may be under way
CALLERS = 12
VERSION = {"version": 0, "type": "STRING", "data": "", "timestamp": 1, "properties": {}}


def plays(wire: PlayedBroker, clock: TurnedClock, ill: Callable[[PlayedBroker], None]) -> list[float]:
    """Let the broker be well at first; the times at which it was asked when it was ill."""
    times: list[float] = []
    wire.says(200, VERSION)
    ill(wire)
    sick = wire.answers.pop()

    async def answer(request: web.Request) -> web.StreamResponse:
        times.append(clock.time)
        return await sick(request)

    wire.answers.append(answer)
    return times


async def hammer(broker: Broker, clock: TurnedClock, minutes: int) -> None:
    """Ask for twelve topics at once, each second; those that wait for their turn are not asked again meanwhile."""
    end = clock.time + minutes * MINUTE
    while clock.time < end:
        before = clock.time
        asks = (broker.latest(Topic("t", "n", f"x{each}")) for each in range(CALLERS))
        await asyncio.gather(*asks, return_exceptions=True)
        clock.time = max(clock.time, before + 1)


def knocks(clock: TurnedClock, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times at which a connection is tried from now on, whether or not there is anybody to take it."""
    times: list[float] = []
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect

    async def counted(door: socket.socket, address: Any) -> None:
        times.append(clock.time)
        await connect(door, address)

    monkeypatch.setattr(loop, "sock_connect", counted)
    return times


def most_in_a_minute(times: list[float], since: float) -> int:
    late = [each for each in times if each >= since]
    return max((sum(start <= each < start + MINUTE for each in late) for start in late), default=0)


AWAY: dict[str, Callable[[PlayedBroker], None]] = {
    "reset": lambda wire: wire.answers.append(reset),
    "401": lambda wire: wire.says(401, {"message": "Authentication required"}),
    "429": lambda wire: wire.says(429),
    "502": lambda wire: wire.says(502, "<html>"),
    "503": lambda wire: wire.says(503, "", Retry_After="1"),
    "html": lambda wire: wire.says(200, "<html>a login page</html>"),
    "truncated": lambda wire: wire.says(200, '{"version": 1, '),
}
ILL: dict[str, Callable[[PlayedBroker], None]] = {
    "403": lambda wire: wire.says(403, {"reason": "no"}),
    "404": lambda wire: wire.says(404, {"reason": "Namespace not found"}),
    "500": lambda wire: wire.says(500, {"reason": "an error"}),
    "412": lambda wire: wire.says(412, {"reason": "Failed to find ownership"}),
}


@pytest.mark.parametrize("ill", AWAY)
async def test_a_broker_that_is_away_is_asked_57_times_in_its_first_minute_at_most_and_then_twice_a_minute(
    wire: PlayedBroker, turned: TurnedClock, broker: Broker, ill: str
) -> None:
    times = plays(wire, turned, AWAY[ill])
    await hammer(broker, turned, 10)
    assert 2 < most_in_a_minute(times, times[0]) <= AWAY_FIRST
    assert 1 <= most_in_a_minute(times, times[0] + 2 * MINUTE) <= AWAY_LATER


async def test_a_shut_door_is_knocked_at_as_rarely(turned: TurnedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    times = knocks(turned, monkeypatch)
    with socket.socket() as shut:
        shut.bind(("127.0.0.1", 0))  # and nobody listens
        broker = Broker(Access(f"http://127.0.0.1:{shut.getsockname()[1]}", LOOPBACK), turned.as_clock())
        await hammer(broker, turned, 10)
        await broker.close()
    assert 2 < most_in_a_minute(times, times[0]) <= AWAY_FIRST
    assert 1 <= most_in_a_minute(times, times[0] + 2 * MINUTE) <= AWAY_LATER


@pytest.mark.parametrize("ill", ILL)
async def test_a_broker_that_only_answers_with_trouble_is_asked_ever_more_slowly(
    wire: PlayedBroker, turned: TurnedClock, broker: Broker, ill: str
) -> None:
    times = plays(wire, turned, ILL[ill])
    await hammer(broker, turned, 10)
    assert most_in_a_minute(times, times[0]) <= ILL_FIRST
    assert most_in_a_minute(times, times[0] + MINUTE) <= ILL_LATER


async def test_a_broker_that_comes_back_is_found_by_itself_within_75_seconds(
    wire: PlayedBroker, turned: TurnedClock, broker: Broker
) -> None:
    wire.answers.append(reset)
    await hammer(broker, turned, 10)
    wire.forgets()
    wire.says(200, VERSION)
    turned.time += 75
    assert await broker.latest(Topic("t", "n", "x")) is not None
    started = turned.time
    await asyncio.gather(*(broker.latest(Topic("t", "n", f"x{each}")) for each in range(CALLERS)))
    assert turned.time == started


async def test_while_a_probe_is_under_way_nobody_else_goes_out(
    wire: PlayedBroker, turned: TurnedClock, broker: Broker
) -> None:
    wire.says(401, {"message": "Authentication required"})
    topic = Topic("t", "n", "x")
    with pytest.raises(BrokerUnauthorizedError):
        await broker.latest(topic)
    turned.time += 10
    wire.forgets()
    wire.says(200, VERSION)
    first, *others = await asyncio.gather(*(broker.latest(topic) for _ in range(5)), return_exceptions=True)
    assert not isinstance(first, BaseException)
    assert [type(each) for each in others] == [BrokerUnauthorizedError] * 4
    assert len(wire.requests) == 1


async def test_a_topic_that_alone_is_broken_stops_no_other(
    wire: PlayedBroker, turned: TurnedClock, broker: Broker
) -> None:
    async def answer(request: web.Request) -> web.Response:
        is_broken = "broken" in request.path
        return web.json_response({"reason": "ledger"} if is_broken else VERSION, status=500 if is_broken else 200)

    wire.answers.append(answer)
    for _ in range(10):
        with pytest.raises(BrokerUnavailableError, match="broken"):
            await broker.latest(Topic("t", "n", "broken"))
        assert await broker.latest(Topic("t", "n", "well")) is not None


async def test_a_refusal_says_nothing_of_the_broker(wire: PlayedBroker, turned: TurnedClock, broker: Broker) -> None:
    wire.says(409, {"message": "Incompatible schema"})
    started = turned.time
    for _ in range(30):
        with pytest.raises(TopicSchemaError):
            await broker.upload(Topic("t", "n", "x"), SchemaInfo(SchemaType.STRING))
    assert turned.time == started
    assert len(wire.requests) == 30


async def test_a_broker_that_asks_to_be_left_alone_is(wire: PlayedBroker, turned: TurnedClock, broker: Broker) -> None:
    wire.says(429, "", Retry_After="40")
    with pytest.raises(BrokerUnavailableError) as caught:
        await broker.latest(Topic("t", "n", "x"))
    assert caught.value.after == 40
    turned.time += 39
    with pytest.raises(BrokerUnavailableError):
        await broker.latest(Topic("t", "n", "y"))
    assert len(wire.requests) == 1


async def test_a_little_patience_is_had_in_the_call(wire: PlayedBroker, broker: Broker, turned: TurnedClock) -> None:
    wire.says(429, "", Retry_After="0.5")
    wire.says(200, VERSION)
    assert await broker.latest(Topic("t", "n", "x")) is not None
    assert turned.time == 1000.5


def test_the_error_of_an_open_circuit_is_a_fresh_one_that_says_when() -> None:
    clock = TurnedClock()
    circuit = Circuit(clock.as_clock())
    for _ in range(3):
        with circuit.passage() as passage:
            circuit.fail(passage, BrokerUnavailableError("http://b: no answer in time"))
    raised = []
    for _ in range(2):
        with pytest.raises(BrokerUnavailableError, match="http://b: no answer in time") as caught:
            circuit.check()
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert raised[0].after == 5.0
    assert raised[0].reason == "BrokerUnavailable"


@pytest.mark.parametrize("rate", [PER_SECOND, 3])
async def test_a_burst_goes_out_at_once_and_the_rest_at_its_pace_first_come_first_served(rate: int) -> None:
    clock = TurnedClock()
    pace = Pace(clock.as_clock(), rate)
    for _ in range(BURST_SECONDS * rate):
        await pace.take()
    assert clock.time == pytest.approx(1000.0)
    for _ in range(40):
        await pace.take()
    assert clock.time == pytest.approx(1000.0 + 40 / rate)
    clock.time += 3600
    late = clock.time
    for _ in range(BURST_SECONDS * rate):
        await pace.take()
    assert clock.time == pytest.approx(late)


async def test_who_came_first_goes_first() -> None:
    order: list[int] = []
    waits: list[float] = []
    clock = TurnedClock()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(seconds / 100)

    standing = clock.as_clock()
    pace = Pace(type(standing)(standing.now, sleep, standing.spread))

    async def go(number: int) -> None:
        await pace.take()
        order.append(number)

    await asyncio.gather(*(go(each) for each in range(60)))
    assert order == list(range(60))
    assert waits == sorted(waits)


async def test_open_circuits_are_counted_while_those_who_ask_are_there(wire: PlayedBroker, turned: TurnedClock) -> None:
    gc.collect()  # circuits of other tests, which nobody holds any more
    before = counted("broker_circuit_breakers_open")
    brokers = [Broker(Access(wire.url, LOOPBACK), turned.as_clock()) for _ in range(2)]
    wire.says(401, {"message": "Authentication required"})
    for broker in brokers:
        with pytest.raises(BrokerUnauthorizedError):
            await broker.latest(Topic("shop", "orders", "a"))
    assert counted("broker_circuit_breakers_open") == before + 2
    await brokers[0].close()
    assert counted("broker_circuit_breakers_open") == before + 1
    await brokers[1].close()
    assert counted("broker_circuit_breakers_open") == before
