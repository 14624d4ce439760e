"""A real broker behind a proxy that fails: the error of a fault, and that nothing is done twice."""

from collections.abc import AsyncIterator, Iterator

import pytest

from support.pulsar.fake_broker import TurnedClock
from testbed import broker_faults
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerUnavailableError,
)
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import PulsarNamespaceKey, Topic

pytestmark = pytest.mark.broker

AVRO = SchemaInfo(SchemaType.AVRO, b'{"type":"record","name":"A","fields":[]}')


@pytest.fixture
def proxy(pulsar: Pulsar) -> Iterator[FaultProxy]:
    with FaultProxy.before(pulsar) as proxy:
        yield proxy


@pytest.fixture
def turned() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
async def broker(proxy: FaultProxy, turned: TurnedClock) -> AsyncIterator[Broker]:
    broker = Broker(ClientConfig(proxy.url, AllowedHosts.parse("127.0.0.1")), turned.as_clock())
    yield broker
    await broker.close()


@pytest.fixture
def key(pulsar_namespace: str) -> PulsarNamespaceKey:
    return PulsarNamespaceKey.parse("main", pulsar_namespace)


@pytest.fixture
def topic(key: PulsarNamespaceKey) -> Topic:
    return Topic(key.tenant, key.namespace, "x")


async def test_an_upload_whose_answer_is_lost_is_one_version(broker: Broker, proxy: FaultProxy, topic: Topic) -> None:
    proxy.fault = broker_faults.first(1, broker_faults.reset_after_forwarding)
    assert await broker.upload(topic, AVRO) == 0
    assert len(proxy.writes) == 2
    assert await broker.index(topic) == (0,)


async def test_a_deletion_whose_answer_is_lost_is_one_tombstone(
    broker: Broker, proxy: FaultProxy, topic: Topic
) -> None:
    await broker.upload(topic, AVRO)
    proxy.fault = broker_faults.reset_after_forwarding
    with pytest.raises(BrokerUnavailableError):
        await broker.soft_delete(topic)
    proxy.fault = broker_faults.untouched
    assert await broker.index(topic) == (0, 1)
