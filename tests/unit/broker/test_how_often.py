"""What chance may make of the pauses, and the numbers of docs/broker.md ("Retries and rate limit") by the clock.

What else is counted at the wire stands in test_circuit.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import web

from support.pulsar.fake_broker import PlayedBroker, TurnedClock, reset
from topicschema.broker.broker import Broker
from topicschema.broker.circuit_breaker import Circuit
from topicschema.broker.errors import BrokerInconsistentError, BrokerUnavailableError, TopicNotFoundError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.rate_limiter import Pace
from topicschema.broker.transport import Access
from topicschema.core.errors import WaitingError
from topicschema.core.topics import Topic
from topicschema.reconcile.runtime.work_queue import Backoff, Key

LOOPBACK = AllowedHosts.parse("127.0.0.1")
TOPIC = Topic("t", "n", "x")
MINUTE = 60.0
PAGE = (Path(__file__).parents[3] / "docs" / "broker.md").read_text()
OF_ONE_TOPIC = next(line for line in PAGE.splitlines() if "**one topic**" in line)
LOOKS, REQUESTS, MORE, FIRST, LATER = 5, 7, 2, 45, 4
NUMBERS = (
    "Five reconciles in the first minute at most, then one in two and a half minutes. Each sends seven requests at "
    f"most, and two more if the topic has settings of its own: {FIRST} in the first minute, then **{LATER}**"
)


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.5), (0.5, 1.0), (1.0, 1.5)])
async def test_the_pauses_within_a_call_are_half_as_long_to_half_as_long_again(
    wire: PlayedBroker, chance: float, share: float
) -> None:
    clock = TurnedClock(chance=chance)
    times: list[float] = []

    async def answer(_: web.Request) -> web.Response:
        times.append(clock.time)
        return web.json_response({"reason": "ledger"}, status=500)

    wire.answers.append(answer)
    async with AsyncExitStack() as stack:
        broker = Broker(Access(wire.url, LOOPBACK), clock.as_clock())
        stack.push_async_callback(broker.close)
        with pytest.raises(BrokerUnavailableError):
            await broker.latest(TOPIC)
    assert [each - times[0] for each in times] == pytest.approx([0.0, 0.3 * share, 0.9 * share])


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.75), (0.5, 1.0), (1.0, 1.25)])
def test_probes_come_a_quarter_sooner_to_a_quarter_later(chance: float, share: float) -> None:
    clock = TurnedClock(chance=chance)
    circuit = Circuit(clock.as_clock())
    away = BrokerUnavailableError("nobody is there")
    for _ in range(3):
        with circuit.passage() as passage:
            circuit.fail(passage, away)
    for pause in (5.0, 10.0, 20.0, 40.0, 60.0, 60.0):
        clock.time += pause * share - 0.01
        with pytest.raises(BrokerUnavailableError):
            circuit.check()
        clock.time += 0.02
        with circuit.passage() as passage:
            circuit.fail(passage, away)


@pytest.mark.parametrize("further", [1, 3])
async def test_each_policy_asks_a_broker_that_is_away_as_often_as_the_manual_says(
    wire: PlayedBroker, turned: TurnedClock, further: int
) -> None:
    assert "57 in the first minute at most" in PAGE
    times: list[float] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        times.append(turned.time)
        return await reset(request)

    wire.answers.append(answer)
    pace = Pace(turned.as_clock())
    async with AsyncExitStack() as stack:
        brokers = [Broker(Access(wire.url, LOOPBACK, pace=pace), turned.as_clock()) for _ in range(1 + further)]
        for broker in brokers:
            stack.push_async_callback(broker.close)
        end = turned.time + 5 * MINUTE
        while turned.time < end:
            began = turned.time
            asks = (broker.latest(Topic("t", "n", f"x{each}")) for broker in brokers for each in range(12))
            await asyncio.gather(*asks, return_exceptions=True)
            turned.time = max(turned.time, began + 1)
    assert 9 * (1 + further) <= _within(times, times[0], 1) <= 57 * (1 + further)
    assert max(_within(times, each, 1) for each in times if each >= times[0] + 2 * MINUTE) <= 2 * (1 + further)


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "error",
    [BrokerUnavailableError(""), BrokerInconsistentError(""), TopicNotFoundError("")],
    ids=lambda each: each.reason,
)
def test_one_topic_with_an_error_of_its_own_is_looked_at_as_rarely_as_the_manual_says(
    error: WaitingError, chance: float
) -> None:
    assert NUMBERS in OF_ONE_TOPIC
    backoff, key = Backoff(lambda: chance), Key("topicschemas", "shop", "x")
    looks = [0.0]
    while looks[-1] < 70 * MINUTE:
        looks.append(looks[-1] + (backoff.delay(key, error) or 0.0))
    assert _within(looks, 0.0, 1) <= LOOKS
    assert _within(looks, 0.0, 1) * (REQUESTS + MORE) <= FIRST
    settled = next(each for each in looks if each >= 5 * MINUTE)
    an_hour = _within(looks, settled, 60)
    assert an_hour <= 60 / 2.5
    assert an_hour * (REQUESTS + MORE) <= 60 * LATER


def _within(times: list[float], since: float, minutes: float) -> int:
    return sum(since <= each < since + minutes * MINUTE for each in times)
