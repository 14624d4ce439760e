"""TLS to a broker: trusted CAs and client certificates."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from support.pulsar.fake_broker import LOOPBACK, VERSION, FakeBroker, run_fake_broker
from testbed.certificates import Authority
from topicschema.broker.broker import Broker
from topicschema.broker.credentials import ClientCertificate, Credential, Token
from topicschema.broker.errors import (
    BrokerNotAllowedError,
    BrokerTLSVerificationFailedError,
    BrokerUnavailableError,
    SecretInvalidError,
)
from topicschema.broker.transport import ClientConfig
from topicschema.core.topics import Topic

TOPIC = Topic("shop", "orders", "created")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.at(tmp_path_factory.mktemp("pki"))


def serving(authority: Authority, hosts: list[str], lifetime: timedelta = timedelta(days=1)) -> ssl.SSLContext:
    issued = authority.issue("server", hosts, lifetime)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(issued.certificate, issued.key)
    return context


def trusting(url: str, authority: Authority, credential: Credential = None) -> Broker:
    return Broker(ClientConfig(url, LOOPBACK, credential, authority.certificate.read_bytes()))


async def test_a_redirect_from_tls_into_the_clear_is_not_followed(authority: Authority, wire: FakeBroker) -> None:
    async with run_fake_broker(serving(authority, ["127.0.0.1"])) as secure:
        secure.respond_with(307, Location=wire.url)
        broker = trusting(secure.url, authority, Token("t0ken"))
        with pytest.raises(BrokerNotAllowedError, match="redirects from https to http"):
            await broker.latest(TOPIC)
        await broker.close()
    assert wire.requests == []


@pytest.mark.parametrize(
    ("host", "lifetime", "words"),
    [("pulsar.example", timedelta(days=1), r"127\.0\.0\.1"), ("127.0.0.1", timedelta(minutes=1), "expired")],
)
async def test_a_certificate_for_another_name_or_time_is_not_trusted(
    authority: Authority, host: str, lifetime: timedelta, words: str
) -> None:
    async with run_fake_broker(serving(authority, [host], lifetime)) as secure:
        broker = trusting(secure.url, authority)
        with pytest.raises(BrokerTLSVerificationFailedError, match=words):
            await broker.latest(TOPIC)
        await broker.close()
        assert secure.requests == []


async def test_a_certificate_of_an_unknown_issuer_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    async with run_fake_broker(serving(authority, ["127.0.0.1"])) as secure:
        for ca in (Authority.at(tmp_path / "other").certificate.read_bytes(), None):
            broker = Broker(ClientConfig(secure.url, LOOPBACK, ca=ca))
            with pytest.raises(BrokerTLSVerificationFailedError):
                await broker.latest(TOPIC)
            await broker.close()


async def test_a_client_certificate_is_sent_and_a_missing_one_is_reported(authority: Authority) -> None:
    tls = serving(authority, ["127.0.0.1"])
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(authority.certificate)
    client = authority.issue_client("operator", "pulsar")
    async with run_fake_broker(tls) as secure:
        secure.respond_with(200, VERSION)
        credential = ClientCertificate(client.certificate.read_bytes(), client.key.read_bytes())
        broker = trusting(secure.url, authority, credential)
        assert await broker.latest(TOPIC) is not None
        await broker.close()
        anonymous = trusting(secure.url, authority)
        with pytest.raises(BrokerUnavailableError, match="does it want a client certificate"):
            await anonymous.latest(TOPIC)
        await anonymous.close()
        assert len(secure.requests) == 1


def test_an_invalid_certificate_or_key_is_reported_without_its_content(authority: Authority) -> None:
    first, other = authority.issue_client("a", "g"), authority.issue_client("b", "g")
    certificate, key = first.certificate.read_bytes(), first.key.read_bytes()
    for wrong in (
        ClientCertificate(certificate, other.key.read_bytes()),
        ClientCertificate(certificate, b""),
        ClientCertificate(b"garbage", key),
    ):
        with pytest.raises(SecretInvalidError, match=r"tls\.crt and tls\.key"):
            trusting("https://127.0.0.1:1", authority, wrong)
    with pytest.raises(SecretInvalidError, match="the CA"):
        Broker(ClientConfig("https://127.0.0.1:1", LOOPBACK, ca=b"no PEM"))
