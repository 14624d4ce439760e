"""Access to a real broker and its errors: over TLS, by token and by certificate."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.pulsar.fake_broker import ManualClock
from testbed.pulsar import PULSAR_VERSION, Pulsar
from testbed.tokens import ORDINARY
from topicschema.broker.broker import Broker
from topicschema.broker.credentials import ClientCertificate, Credential, Token
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerTLSVerificationFailedError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
)
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig
from topicschema.core.remote import NamespaceSettings, TopicSettings
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

pytestmark = pytest.mark.broker

ALLOWED = AllowedHosts.parse("127.0.0.1, localhost")
STRING = SchemaInfo(SchemaType.STRING)


@asynccontextmanager
async def reaching(pulsar: Pulsar, credential: Credential) -> AsyncIterator[Broker]:
    assert pulsar.credentials is not None
    access = ClientConfig(pulsar.admin_url, ALLOWED, credential, pulsar.credentials.ca.read_bytes())
    broker = Broker(access, ManualClock().as_clock())  # without the slower rate after refusals
    yield broker
    await broker.close()


def tokens(pulsar: Pulsar) -> tuple[Token, Token, Token]:
    """Return the superuser's token, an ordinary role's, and one that expired."""
    assert pulsar.credentials is not None
    known = pulsar.credentials.tokens
    return Token(known.superuser), Token(known.ordinary), Token(known.expired)


@pytest.fixture
def key(secured_namespace: str) -> PulsarNamespaceKey:
    return PulsarNamespaceKey.parse("main", secured_namespace)


@pytest.fixture
def topic(key: PulsarNamespaceKey) -> Topic:
    return Topic(key.tenant, key.namespace, "x")


async def test_an_unknown_client_is_unauthorized(secured_pulsar: Pulsar, topic: Topic) -> None:
    for stranger in (None, tokens(secured_pulsar)[2], Token("garbage")):
        async with reaching(secured_pulsar, stranger) as broker:
            with pytest.raises(BrokerUnauthorizedError, match="401 Authentication required"):
                await broker.latest(topic)


async def test_a_known_role_without_the_right_is_forbidden_though_the_broker_responds_401(
    secured_pulsar: Pulsar, key: PulsarNamespaceKey, topic: Topic
) -> None:
    async with reaching(secured_pulsar, tokens(secured_pulsar)[1]) as broker:
        for call in (
            broker.latest(topic),
            anext(broker.versions(topic)),
            broker.index(topic),
            broker.upload(topic, STRING),
            broker.soft_delete(topic),
            broker.namespace_settings(key),
            broker.set_namespace(key, NamespaceSettings(strategy=Strategy.FULL)),
            broker.topic_settings(topic, "persistent"),
            broker.set_topic(topic, "persistent", TopicSettings(Strategy.FULL)),
            broker.topics(key),
        ):
            with pytest.raises(BrokerForbiddenError):
                await call
        assert await broker.broker_settings() is None
        assert (await broker.release() or "").startswith(f"{PULSAR_VERSION}.")


async def test_a_role_that_may_produce_uploads_and_reads_and_does_no_more(
    secured_pulsar: Pulsar, key: PulsarNamespaceKey, topic: Topic
) -> None:
    secured_pulsar.call("POST", f"/namespaces/{key.pulsar_namespace}/permissions/{ORDINARY}", ["produce", "consume"])
    async with reaching(secured_pulsar, tokens(secured_pulsar)[1]) as broker:
        assert await broker.upload(topic, STRING) == 0
        assert await broker.latest(topic) is not None
        with pytest.raises(BrokerForbiddenError):
            await broker.soft_delete(topic)


async def test_a_client_certificate_authenticates(certificate_pulsar: Pulsar) -> None:
    credentials = certificate_pulsar.credentials
    assert credentials is not None
    key = PulsarNamespaceKey.parse("main", certificate_pulsar.create_namespace())
    topic = Topic(key.tenant, key.namespace, "x")
    admin, app = (
        ClientCertificate(each.certificate.read_bytes(), each.key.read_bytes())
        for each in (credentials.superuser, credentials.ordinary)
    )
    async with reaching(certificate_pulsar, admin) as broker:
        assert await broker.upload(topic, STRING) == 0
    async with reaching(certificate_pulsar, app) as broker:
        with pytest.raises(BrokerForbiddenError):
            await broker.latest(topic)
    async with reaching(certificate_pulsar, None) as broker:
        with pytest.raises((BrokerUnavailableError, BrokerTLSVerificationFailedError), match="certificate"):
            await broker.latest(topic)
