"""A real broker behind a proxy that fails: which error a fault is, that nothing is done twice, and that it ends."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from support.pulsar.fake_broker import TurnedClock
from testbed import broker_faults
from testbed.calls import Fault
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerNotAllowedError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
)
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import NamespaceSettings
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

pytestmark = pytest.mark.broker

AVRO = SchemaInfo(SchemaType.AVRO, b'{"type":"record","name":"A","fields":[]}')
LONGEST_PAUSE = 75.0


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


FAULTS: dict[str, tuple[Fault, type[TopicSchemaError]]] = {
    "reset": (broker_faults.reset, BrokerUnavailableError),
    "reset mid-body": (broker_faults.reset_mid_body, BrokerUnavailableError),
    "401": (broker_faults.status(401), BrokerUnauthorizedError),
    "403": (broker_faults.status(403), BrokerForbiddenError),
    "404": (broker_faults.html(404), BrokerUnavailableError),
    "412": (broker_faults.status(412), BrokerUnavailableError),
    "429": (broker_faults.status(429, retry_after=7), BrokerUnavailableError),
    "500": (broker_faults.status(500), BrokerUnavailableError),
    "503": (broker_faults.status(503), BrokerUnavailableError),
    "HTML": (broker_faults.html(), BrokerUnavailableError),
    "truncated": (broker_faults.truncated, BrokerUnavailableError),
    "50 MB": (broker_faults.huge(50), BrokerUnavailableError),
    "redirect": (broker_faults.redirect("http://169.254.169.254"), BrokerNotAllowedError),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_an_error_that_ends_with_it_and_a_schema_is_one_version(
    broker: Broker, proxy: FaultProxy, turned: TurnedClock, topic: Topic, fault: str
) -> None:
    await broker.upload(topic, AVRO)
    proxy.fault, error = FAULTS[fault]
    for _ in range(3):
        with pytest.raises(error):
            await broker.latest(topic)
        with pytest.raises(error):
            await broker.upload(topic, AVRO)
    proxy.fault = broker_faults.untouched
    turned.time += LONGEST_PAUSE
    assert await broker.latest(topic) is not None
    assert await broker.index(topic) == (0,)


async def test_a_broker_that_refuses_connections_is_away_until_it_takes_them(
    broker: Broker, proxy: FaultProxy, turned: TurnedClock, topic: Topic
) -> None:
    proxy.refuse()
    with pytest.raises(BrokerUnavailableError, match="no server answers at this address"):
        await broker.latest(topic)
    proxy.accept()
    turned.time += LONGEST_PAUSE
    assert await broker.latest(topic) is None


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


async def test_a_history_that_takes_the_broker_too_long_to_list_is_read_version_by_version(
    broker: Broker, proxy: FaultProxy, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        fields = b'[{"name":"f%d","type":"int","default":0}]' % number
        assert await broker.upload(topic, replace(AVRO, schema=AVRO.schema.replace(b"[]", fields))) == number
    monkeypatch.setattr("topicschema.broker.broker._LIST_SECONDS", 0.5)
    proxy.fault = broker_faults.when(lambda call: call.path.endswith("/schemas"), broker_faults.silence(2))
    for _ in range(4):  # were it taken for a broker that is away, the third would end that
        assert [each.schema_version async for each in broker.versions(topic)] == [2, 1, 0]


async def test_a_broker_that_says_yes_and_stores_nothing_is_found_out(
    broker: Broker, proxy: FaultProxy, key: PulsarNamespaceKey, topic: Topic
) -> None:
    proxy.fault = broker_faults.stores_nothing(3)
    with pytest.raises(BrokerInconsistentError):
        await broker.set_namespace(key, NamespaceSettings(strategy=Strategy.FORWARD))
    assert await broker.upload(topic, AVRO) == 3  # believed by nobody before it is read back:
    assert await broker.latest(topic) is None
    assert await broker.index(topic) == ()
