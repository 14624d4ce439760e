"""The rate limiter of one broker, with a manual clock."""

import pytest

from support.pulsar.fake_broker import LOOPBACK, VERSION, FakeBroker, ManualClock
from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.broker.rate_limiter import BURST_SECONDS, PER_SECOND, RateLimiter
from topicschema.broker.transport import BrokerLimits, ClientConfig
from topicschema.core.topics import Topic


@pytest.mark.parametrize("rate", [PER_SECOND, 3])
async def test_a_burst_is_sent_at_once_and_later_requests_at_the_rate_in_order(rate: int) -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock.as_clock(), rate)
    for _ in range(BURST_SECONDS * rate):
        await limiter.take()
    assert clock.time == pytest.approx(1000.0)
    for _ in range(40):
        await limiter.take()
    assert clock.time == pytest.approx(1000.0 + 40 / rate)
    clock.time += 3600
    late = clock.time
    for _ in range(BURST_SECONDS * rate):
        await limiter.take()
    assert clock.time == pytest.approx(late)


async def test_after_a_pause_requests_are_sent_one_by_one() -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock.as_clock(), 10)
    limiter.pause(40.0)
    limiter.pause(7.0)  # a shorter one does not end it
    await limiter.take()
    assert clock.time == pytest.approx(1040.0)
    await limiter.take()
    assert clock.time == pytest.approx(1040.1)


async def test_a_pause_that_the_broker_requests_holds_for_all_policies(wire: FakeBroker, clock: ManualClock) -> None:
    wire.respond_with(429, "", Retry_After="40")
    wire.respond_with(200, VERSION)
    limits = BrokerLimits(clock.as_clock())
    first, second = (Broker(ClientConfig(wire.url, LOOPBACK, limits=limits), clock.as_clock()) for _ in range(2))
    with pytest.raises(BrokerUnavailableError) as caught:
        await first.latest(Topic("t", "n", "x"))
    assert (caught.value.after, len(wire.requests)) == (40, 1)
    assert await second.latest(Topic("t", "n", "y")) is not None
    assert clock.time == pytest.approx(1040.0)
    await first.close()
    await second.close()


async def test_a_call_waits_for_a_short_pause(wire: FakeBroker, broker: Broker, clock: ManualClock) -> None:
    wire.respond_with(429, "", Retry_After="0.5")
    wire.respond_with(200, VERSION)
    assert await broker.latest(Topic("t", "n", "x")) is not None
    assert clock.time == pytest.approx(1000.5)
