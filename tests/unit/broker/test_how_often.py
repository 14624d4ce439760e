"""The numbers of docs/broker.md ("Retries and rate limit"), counted at the wire by a clock that is clock."""

import asyncio
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from support.pulsar.fake_broker import LOOPBACK, FakeBroker, ManualClock
from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerInconsistentError, BrokerUnavailableError, TopicNotFoundError
from topicschema.broker.transport import BrokerLimits, ClientConfig
from topicschema.core.errors import WaitingError
from topicschema.core.topics import Topic
from topicschema.reconcile.runtime.work_queue import Backoff, Key

TOPIC = Topic("t", "n", "x")
MINUTE = 60.0
PAGE = (Path(__file__).parents[3] / "docs" / "broker.md").read_text()
AT_ONCE = 8
AWAY_FIRST, AWAY_LATER = 24, 2
RECONCILES, REQUESTS, MORE, FIRST, LATER = 5, 7, 2, 45, 4


def test_the_manual_has_the_numbers() -> None:
    assert f"{AWAY_FIRST} requests in the first minute at most, then **{AWAY_LATER}**" in PAGE
    assert "Five reconciles in the first minute at most, then one in two and a half minutes" in PAGE
    assert f"{FIRST} in the first minute, then **{LATER}**" in PAGE


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.5), (0.5, 1.0), (1.0, 1.5)])
async def test_the_pause_within_a_call_is_half_as_long_to_half_as_long_again(
    wire: FakeBroker, chance: float, share: float
) -> None:
    clock = ManualClock(chance=chance)
    times: list[float] = []

    async def answer(_: web.Request) -> web.Response:
        times.append(clock.time)
        return web.json_response({"reason": "ledger"}, status=500)

    wire.handlers.append(answer)
    broker = Broker(ClientConfig(wire.url, LOOPBACK), clock.as_clock())
    with pytest.raises(BrokerUnavailableError):
        await broker.latest(TOPIC)
    await broker.close()
    assert [each - times[0] for each in times] == pytest.approx([0.0, 0.3 * share])


def record_connections(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the times of connection attempts from now on, with or without a listener."""
    times: list[float] = []
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect

    async def record(client: socket.socket, address: Any) -> None:
        times.append(clock.time)
        await connect(client, address)

    monkeypatch.setattr(loop, "sock_connect", record)
    return times


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("policies", [1, 4])
async def test_all_policies_together_call_an_unreachable_broker_as_often_as_the_manual_documents(
    monkeypatch: pytest.MonkeyPatch, policies: int, chance: float
) -> None:
    clock = ManualClock(chance=chance)
    times = record_connections(clock, monkeypatch)
    limits = BrokerLimits(clock.as_clock())
    async with AsyncExitStack() as stack:
        closed = stack.enter_context(socket.socket())
        closed.bind(("127.0.0.1", 0))  # without a listener
        access = ClientConfig(f"http://127.0.0.1:{closed.getsockname()[1]}", LOOPBACK, limits=limits)
        brokers = [Broker(access, clock.as_clock()) for _ in range(policies)]
        for broker in brokers:
            stack.push_async_callback(broker.close)
        end = clock.time + 10 * MINUTE
        while clock.time < end:
            began = clock.time
            calls = (brokers[each % policies].latest(Topic("t", "n", f"x{each}")) for each in range(AT_ONCE))
            await asyncio.gather(*calls, return_exceptions=True)
            clock.time = max(clock.time, began + 1)
    assert 6 <= _within(times, times[0], 1) <= AWAY_FIRST
    late = [each for each in times if each >= times[0] + 2 * MINUTE]
    assert 1 <= max(_within(times, each, 1) for each in late) <= AWAY_LATER


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "error",
    [BrokerUnavailableError(""), BrokerInconsistentError(""), TopicNotFoundError("")],
    ids=lambda each: each.reason,
)
def test_a_topic_with_an_error_is_reconciled_as_rarely_as_the_manual_documents(
    error: WaitingError, chance: float
) -> None:
    backoff, key = Backoff(lambda: chance), Key("topicschemas", "shop", "x")
    reconciles = [0.0]
    while reconciles[-1] < 70 * MINUTE:
        reconciles.append(reconciles[-1] + (backoff.delay(key, error) or 0.0))
    assert _within(reconciles, 0.0, 1) <= RECONCILES
    assert _within(reconciles, 0.0, 1) * (REQUESTS + MORE) <= FIRST
    settled = next(each for each in reconciles if each >= 5 * MINUTE)
    an_hour = _within(reconciles, settled, 60)
    assert an_hour <= 60 / 2.5
    assert an_hour * (REQUESTS + MORE) <= 60 * LATER


def _within(times: list[float], since: float, minutes: float) -> int:
    return sum(since <= each < since + minutes * MINUTE for each in times)
