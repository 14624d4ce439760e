"""Two brokers that redirect to each other, or away: two proxies before one broker that asks for a token.

A redirect is followed to an allowed host, three times at most; nobody else ever sees the token.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.pulsar.fake_broker import TurnedClock
from testbed import broker_faults
from testbed.calls import Call, credential_of
from testbed.certificates import Authority
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar
from testbed.tokens import Tokens
from topicschema.broker.broker import Broker
from topicschema.broker.credentials import Token
from topicschema.broker.errors import BrokerNotAllowedError, BrokerTLSVerificationFailedError, BrokerUnavailableError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import PulsarNamespaceKey, Topic

pytestmark = pytest.mark.broker

STRING = SchemaInfo(SchemaType.STRING)
ONE_ANSWER = 4  # requests that one question may cost when it is sent around


@dataclass(frozen=True, slots=True)
class Pair:
    """Two addresses of one broker, and who asks the first of them."""

    first: FaultProxy
    second: FaultProxy
    topic: Topic
    clock: TurnedClock = field(default_factory=TurnedClock)

    @asynccontextmanager
    async def asked(self, allowed: str = "127.0.0.1", ca: bytes | None = None) -> AsyncIterator[Broker]:
        hosts = AllowedHosts.parse(allowed)
        token = Token(self.tokens.superuser)
        access = ClientConfig(self.first.url, hosts, token, ca)
        broker = Broker(access, self.clock.as_clock())
        yield broker
        await broker.close()

    @property
    def tokens(self) -> Tokens:
        assert self.first.upstream.credentials is not None
        return self.first.upstream.credentials.tokens

    @property
    def calls(self) -> list[Call]:
        return [*self.first.calls, *self.second.calls]


@pytest.fixture
def pair(secured_pulsar: Pulsar, secured_namespace: str) -> Iterator[Pair]:
    key = PulsarNamespaceKey.parse("main", secured_namespace)
    with FaultProxy.before(secured_pulsar) as first, FaultProxy.before(secured_pulsar) as second:
        yield Pair(first, second, Topic(key.tenant, key.namespace, "x"))


async def test_a_broker_that_does_not_own_a_topic_sends_to_the_one_that_does_and_each_call_is_done_once(
    pair: Pair,
) -> None:
    pair.first.fault = broker_faults.redirect(pair.second.url)
    async with pair.asked() as broker:
        assert await broker.upload(pair.topic, STRING) == 0
        assert await broker.latest(pair.topic) is not None
        assert await broker.soft_delete(pair.topic) == 1
        assert await broker.index(pair.topic) == (0, 1)
    assert [str(call) for call in pair.first.calls] == [str(call) for call in pair.second.calls]
    assert {call.credential for call in pair.calls} == {credential_of(f"Bearer {pair.tokens.superuser}")}


async def test_two_brokers_that_send_to_each_other_are_asked_a_few_times_by_each_call(pair: Pair) -> None:
    pair.first.fault = broker_faults.redirect(pair.second.url)
    pair.second.fault = broker_faults.redirect(pair.first.url)
    async with pair.asked() as broker:
        for ask in (broker.latest(pair.topic), broker.upload(pair.topic, STRING), broker.soft_delete(pair.topic)):
            pair.first.calls.clear()
            pair.second.calls.clear()
            with pytest.raises(BrokerUnavailableError, match="redirected in circles; is this a broker's admin URL"):
                await ask
            assert (len(pair.first.calls), len(pair.second.calls)) == (ONE_ANSWER // 2, ONE_ANSWER // 2)
        pair.second.fault = broker_faults.untouched
        assert await broker.index(pair.topic) == ()
        assert await broker.upload(pair.topic, STRING) == 0


@pytest.mark.parametrize(("allowed", "host"), [("127.0.0.1", "localhost"), ("127.0.0.1:{port}", "127.0.0.1")])
async def test_another_broker_that_is_not_in_the_list_hears_nothing(pair: Pair, allowed: str, host: str) -> None:
    """It is another by its name, or by its port."""
    pair.first.fault = broker_faults.redirect(f"http://{host}:{pair.second.port}")
    async with pair.asked(allowed.format(port=pair.first.port)) as broker:
        for ask in (broker.latest(pair.topic), broker.upload(pair.topic, STRING), broker.soft_delete(pair.topic)):
            with pytest.raises(BrokerNotAllowedError) as caught:
                await ask
            assert str(pair.second.port) in caught.value.message
            assert pair.tokens.superuser not in caught.value.message
    assert (len(pair.first.calls), pair.second.connections) == (3, 0)


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254", "http://[fe80::1]", "http://[::ffff:169.254.169.254]", "http://0.0.0.0"]
)
async def test_two_steps_away_metadata_and_link_local_addresses_are_as_far_as_at_once(pair: Pair, target: str) -> None:
    pair.first.fault = broker_faults.redirect(pair.second.url)
    pair.second.fault = broker_faults.redirect(target)
    async with pair.asked("127.0.0.1, *.*.*.*, *") as broker:
        with pytest.raises(BrokerNotAllowedError):
            await broker.upload(pair.topic, STRING)
    assert (len(pair.first.calls), len(pair.second.calls)) == (1, 1)


async def test_from_tls_into_the_clear_and_to_a_certificate_of_strangers_no_token_goes(
    pair: Pair, tmp_path: Path
) -> None:
    ours, theirs = (Authority.at(tmp_path / name) for name in ("ours", "theirs"))
    pair.first.serve_with(ours.issue("first", ["127.0.0.1"]))
    pair.first.fault = broker_faults.redirect(pair.second.url)
    async with pair.asked(ca=ours.certificate.read_bytes()) as broker:
        with pytest.raises(BrokerNotAllowedError, match="redirects from https to http"):
            await broker.upload(pair.topic, STRING)
        assert pair.second.connections == 0
        pair.second.serve_with(theirs.issue("second", ["127.0.0.1"]))
        pair.first.fault = broker_faults.redirect(pair.second.url)
        with pytest.raises(BrokerTLSVerificationFailedError):
            await broker.upload(pair.topic, STRING)
    assert pair.second.calls == []
