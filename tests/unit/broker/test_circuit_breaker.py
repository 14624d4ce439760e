"""The circuit breaker of one broker: what opens it, what closes it, and what is sent while it is open."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from support.metrics import counted
from support.pulsar.fake_broker import PlayedBroker, TurnedClock, half, reset
from topicschema.broker.broker import Broker
from topicschema.broker.circuit_breaker import CircuitBreaker
from topicschema.broker.clock import Clock
from topicschema.broker.error_mapping import Call
from topicschema.broker.errors import BrokerSilentError, BrokerUnavailableError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig, Limits, Request, Transport
from topicschema.core.errors import TopicSchemaError
from topicschema.core.topics import Topic

LOOPBACK = AllowedHosts.parse("127.0.0.1")
VERSION = {"version": 0, "type": "STRING", "data": "", "timestamp": 1, "properties": {}}
TOPIC = Topic("t", "n", "x")
PROBE = "GET /admin/v2/brokers/version"
AWAY = BrokerUnavailableError("http://b: no server answers at this address")

ANSWERS: dict[str, Callable[[PlayedBroker], None]] = {
    "401": lambda wire: wire.says(401, {"message": "Authentication required"}),
    "403": lambda wire: wire.says(403, {"reason": "no"}),
    "404": lambda wire: wire.says(404, {"reason": "Namespace not found"}),
    "429": lambda wire: wire.says(429),
    "500": lambda wire: wire.says(500, {"reason": "an error"}),
    "503": lambda wire: wire.says(503),
    "html": lambda wire: wire.says(200, "<html>a login page</html>"),
    "truncated": lambda wire: wire.answers.append(half),
    "reset": lambda wire: wire.answers.append(reset),  # as where a client's certificate is refused
}


@pytest.fixture
def limits(turned: TurnedClock) -> Limits:
    return Limits(turned.as_clock())


@pytest.fixture
async def broker(wire: PlayedBroker, turned: TurnedClock, limits: Limits) -> AsyncIterator[Broker]:
    broker = Broker(ClientConfig(wire.url, LOOPBACK, limits=limits), turned.as_clock())
    yield broker
    await broker.close()


@pytest.mark.parametrize("answer", ANSWERS)
async def test_what_one_policy_alone_may_be_answered_does_not_open_it(
    wire: PlayedBroker, broker: Broker, limits: Limits, answer: str
) -> None:
    ANSWERS[answer](wire)
    for _ in range(4):
        with pytest.raises(TopicSchemaError):
            await broker.latest(TOPIC)
    assert not limits.breaker.is_open


async def test_three_calls_without_an_answer_open_it(turned: TurnedClock, limits: Limits) -> None:
    broker = Broker(ClientConfig("http://127.0.0.1:1", LOOPBACK, limits=limits), turned.as_clock())
    for _ in range(3):
        assert not limits.breaker.is_open
        with pytest.raises(BrokerUnavailableError, match="no server answers"):
            await broker.latest(TOPIC)
    assert limits.breaker.is_open
    turned.time += 6
    with pytest.raises(BrokerUnavailableError, match="no server answers") as raised:
        await broker.latest(TOPIC)
    assert raised.value.after == 10.0  # the probe had no answer either
    await broker.close()


async def test_silence_opens_it(wire: PlayedBroker, limits: Limits) -> None:
    is_over = asyncio.Event()

    async def silent(_: web.Request) -> web.Response:
        await is_over.wait()
        return web.Response()

    wire.answers.append(silent)
    transport = Transport(ClientConfig(wire.url, LOOPBACK, limits=limits), Clock())
    for _ in range(3):
        with pytest.raises(BrokerSilentError):
            await transport.send(Request("latest", Call.READ, "GET", "/admin/v2/x", seconds=0.1))
    assert limits.breaker.is_open
    is_over.set()
    await transport.close()


@pytest.mark.parametrize("status", [200, 401, 404, 503])
async def test_a_probe_with_any_answer_closes_it(
    wire: PlayedBroker, turned: TurnedClock, broker: Broker, limits: Limits, status: int
) -> None:
    for _ in range(10):
        limits.breaker.open(AWAY)
    turned.time += 75
    wire.says(status)
    wire.says(200, VERSION)
    assert await broker.latest(TOPIC) is not None
    assert wire.asked == [PROBE, "GET /admin/v2/schemas/t/n/x/schema"]
    assert not limits.breaker.is_open
    started = turned.time
    await asyncio.gather(*(broker.latest(Topic("t", "n", f"x{each}")) for each in range(12)))
    assert turned.time == started


async def test_while_a_probe_is_under_way_nobody_else_goes_out(
    wire: PlayedBroker, turned: TurnedClock, broker: Broker, limits: Limits
) -> None:
    limits.breaker.open(AWAY)
    turned.time += 10
    wire.says(200, VERSION)
    first, *others = await asyncio.gather(*(broker.latest(TOPIC) for _ in range(5)), return_exceptions=True)
    assert not isinstance(first, BaseException)
    assert [type(each) for each in others] == [BrokerUnavailableError] * 4
    assert len(wire.requests) == 2


def test_the_error_of_an_open_circuit_is_a_fresh_one_that_says_when() -> None:
    breaker = CircuitBreaker(TurnedClock().as_clock())
    breaker.open(AWAY)
    raised = []
    for _ in range(2):
        with pytest.raises(BrokerUnavailableError, match="http://b: no server answers") as caught:
            breaker.check()
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert raised[0].after == 5.0
    assert raised[0].reason == "BrokerUnavailable"


def test_calls_that_hang_while_others_are_answered_do_not_open_it() -> None:
    breaker = CircuitBreaker(TurnedClock().as_clock())
    before = breaker.answers
    breaker.succeed()
    for _ in range(5):
        breaker.fail(AWAY, before)
    assert not breaker.is_open


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.75), (0.5, 1.0), (1.0, 1.25)])
def test_probes_come_a_quarter_sooner_to_a_quarter_later(chance: float, share: float) -> None:
    clock = TurnedClock(chance=chance)
    breaker = CircuitBreaker(clock.as_clock())
    breaker.open(AWAY)
    for pause in (5.0, 10.0, 20.0, 40.0, 60.0, 60.0):
        clock.time += pause * share - 0.01
        with pytest.raises(BrokerUnavailableError), breaker.probe():
            pass
        clock.time += 0.02
        with breaker.probe():
            breaker.open(AWAY)


def test_open_circuits_are_counted_while_somebody_asks_there(turned: TurnedClock) -> None:
    gc.collect()  # those of other tests, which nobody holds any more
    before = counted("broker_circuit_breakers_open")
    breakers = [CircuitBreaker(turned.as_clock()) for _ in range(2)]
    for breaker in breakers:
        breaker.open(AWAY)
    del breaker
    assert counted("broker_circuit_breakers_open") == before + 2
    breakers[0].succeed()
    assert counted("broker_circuit_breakers_open") == before + 1
    breakers.clear()
    gc.collect()
    assert counted("broker_circuit_breakers_open") == before
