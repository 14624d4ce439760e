"""The circuit breaker of one broker: what opens and closes it, and the requests while it is open."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from support.metrics import counted
from support.pulsar.fake_broker import LOOPBACK, VERSION, FakeBroker, ManualClock, abort_connection, send_half
from topicschema.broker.broker import Broker
from topicschema.broker.circuit_breaker import CircuitBreaker
from topicschema.broker.clock import Clock
from topicschema.broker.error_mapping import CallKind
from topicschema.broker.errors import BrokerSilentError, BrokerUnavailableError
from topicschema.broker.transport import BrokerLimits, BrokerRequest, ClientConfig, Transport
from topicschema.core.errors import TopicSchemaError
from topicschema.core.topics import Topic

TOPIC = Topic("t", "n", "x")
PROBE = "GET /admin/v2/brokers/version"
AWAY = BrokerUnavailableError("http://b: no server answers at this address")

ANSWERS: dict[str, Callable[[FakeBroker], None]] = {
    "401": lambda wire: wire.respond_with(401, {"message": "Authentication required"}),
    "403": lambda wire: wire.respond_with(403, {"reason": "no"}),
    "404": lambda wire: wire.respond_with(404, {"reason": "Namespace not found"}),
    "429": lambda wire: wire.respond_with(429),
    "500": lambda wire: wire.respond_with(500, {"reason": "an error"}),
    "503": lambda wire: wire.respond_with(503),
    "html": lambda wire: wire.respond_with(200, "<html>a login page</html>"),
    "truncated": lambda wire: wire.handlers.append(send_half),
    "reset": lambda wire: wire.handlers.append(abort_connection),  # as if a client's certificate is refused
}


@pytest.fixture
def limits(clock: ManualClock) -> BrokerLimits:
    return BrokerLimits(clock.as_clock())


@pytest.fixture
async def broker(wire: FakeBroker, clock: ManualClock, limits: BrokerLimits) -> AsyncIterator[Broker]:
    broker = Broker(ClientConfig(wire.url, LOOPBACK, limits=limits), clock.as_clock())
    yield broker
    await broker.close()


@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_response_that_may_concern_one_policy_alone_does_not_open_it(
    wire: FakeBroker, broker: Broker, limits: BrokerLimits, answer: str
) -> None:
    ANSWERS[answer](wire)
    for _ in range(4):
        with pytest.raises(TopicSchemaError):
            await broker.latest(TOPIC)
    assert not limits.breaker.is_open


async def test_three_calls_without_a_response_open_it(clock: ManualClock, limits: BrokerLimits) -> None:
    broker = Broker(ClientConfig("http://127.0.0.1:1", LOOPBACK, limits=limits), clock.as_clock())
    for _ in range(3):
        assert not limits.breaker.is_open
        with pytest.raises(BrokerUnavailableError, match="no server answers"):
            await broker.latest(TOPIC)
    assert limits.breaker.is_open
    clock.time += 6
    with pytest.raises(BrokerUnavailableError, match="no server answers") as raised:
        await broker.latest(TOPIC)
    assert raised.value.after == 10.0  # the probe had no response either
    await broker.close()


async def test_requests_without_a_response_open_it(wire: FakeBroker, limits: BrokerLimits) -> None:
    is_over = asyncio.Event()

    async def silent(_: web.Request) -> web.Response:
        await is_over.wait()
        return web.Response()

    wire.handlers.append(silent)
    transport = Transport(ClientConfig(wire.url, LOOPBACK, limits=limits), Clock())
    for _ in range(3):
        with pytest.raises(BrokerSilentError):
            await transport.send(BrokerRequest("latest", CallKind.READ, "GET", "/admin/v2/x", seconds=0.1))
    assert limits.breaker.is_open
    is_over.set()
    await transport.close()


@pytest.mark.parametrize("status", [200, 401, 404, 503])
async def test_a_probe_with_any_response_closes_it(
    wire: FakeBroker, clock: ManualClock, broker: Broker, limits: BrokerLimits, status: int
) -> None:
    for _ in range(10):
        limits.breaker.open(AWAY)
    clock.time += 75
    wire.respond_with(status)
    wire.respond_with(200, VERSION)
    assert await broker.latest(TOPIC) is not None
    assert wire.request_lines == [PROBE, "GET /admin/v2/schemas/t/n/x/schema"]
    assert not limits.breaker.is_open
    started = clock.time
    await asyncio.gather(*(broker.latest(Topic("t", "n", f"x{each}")) for each in range(12)))
    assert clock.time == started


async def test_during_a_probe_no_other_request_is_sent(
    wire: FakeBroker, clock: ManualClock, broker: Broker, limits: BrokerLimits
) -> None:
    limits.breaker.open(AWAY)
    clock.time += 10
    wire.respond_with(200, VERSION)
    first, *others = await asyncio.gather(*(broker.latest(TOPIC) for _ in range(5)), return_exceptions=True)
    assert not isinstance(first, BaseException)
    assert [type(each) for each in others] == [BrokerUnavailableError] * 4
    assert len(wire.requests) == 2


def test_each_error_of_an_open_circuit_is_new_and_has_the_time_of_the_next_probe() -> None:
    breaker = CircuitBreaker(ManualClock().as_clock())
    breaker.open(AWAY)
    raised = []
    for _ in range(2):
        with pytest.raises(BrokerUnavailableError, match="http://b: no server answers") as caught:
            breaker.check()
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert raised[0].after == 5.0
    assert raised[0].reason == "BrokerUnavailable"


def test_calls_that_hang_while_others_succeed_do_not_open_it() -> None:
    breaker = CircuitBreaker(ManualClock().as_clock())
    before = breaker.answers
    breaker.succeed()
    for _ in range(5):
        breaker.fail(AWAY, before)
    assert not breaker.is_open


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.75), (0.5, 1.0), (1.0, 1.25)])
def test_probes_come_a_quarter_sooner_to_a_quarter_later(chance: float, share: float) -> None:
    clock = ManualClock(chance=chance)
    breaker = CircuitBreaker(clock.as_clock())
    breaker.open(AWAY)
    for pause in (5.0, 10.0, 20.0, 40.0, 60.0, 60.0):
        clock.time += pause * share - 0.01
        with pytest.raises(BrokerUnavailableError), breaker.probe():
            pass
        clock.time += 0.02
        with breaker.probe():
            breaker.open(AWAY)


def test_open_circuits_are_counted_while_they_are_in_use(clock: ManualClock) -> None:
    gc.collect()  # those of other tests, which have no reference
    before = counted("broker_circuit_breakers_open")
    breakers = [CircuitBreaker(clock.as_clock()) for _ in range(2)]
    for breaker in breakers:
        breaker.open(AWAY)
    del breaker
    assert counted("broker_circuit_breakers_open") == before + 2
    breakers[0].succeed()
    assert counted("broker_circuit_breakers_open") == before + 1
    breakers.clear()
    gc.collect()
    assert counted("broker_circuit_breakers_open") == before
