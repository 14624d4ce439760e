from collections.abc import AsyncIterator

import pytest

from support.pulsar.fake_broker import PlayedBroker, TurnedClock, playing
from topicschema.broker.broker import Broker
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig

LOOPBACK = AllowedHosts.parse("127.0.0.1")


@pytest.fixture
async def wire() -> AsyncIterator[PlayedBroker]:
    async with playing() as broker:
        yield broker


@pytest.fixture
def turned() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
async def broker(wire: PlayedBroker, turned: TurnedClock) -> AsyncIterator[Broker]:
    broker = Broker(ClientConfig(wire.url, LOOPBACK), turned.as_clock())
    yield broker
    await broker.close()
