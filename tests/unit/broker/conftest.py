from collections.abc import AsyncIterator

import pytest

from support.pulsar.fake_broker import LOOPBACK, FakeBroker, ManualClock, run_fake_broker
from topicschema.broker.broker import Broker
from topicschema.broker.transport import ClientConfig


@pytest.fixture
async def wire() -> AsyncIterator[FakeBroker]:
    async with run_fake_broker() as broker:
        yield broker


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def broker(wire: FakeBroker, clock: ManualClock) -> AsyncIterator[Broker]:
    broker = Broker(ClientConfig(wire.url, LOOPBACK), clock.as_clock())
    yield broker
    await broker.close()
