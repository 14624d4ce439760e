from collections.abc import AsyncIterator

import pytest

from support.pulsar.fake_broker import FakeBroker, ManualClock, run_fake_broker
from topicschema.broker.broker import Broker
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig

LOOPBACK = AllowedHosts.parse("127.0.0.1")


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
