"""The hosts that the operator may call."""

import socket

import pytest
from aiohttp.abc import ResolveResult
from yarl import URL

from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerNotAllowedError
from topicschema.broker.host_allow_list import AllowedHosts, GuardedResolver
from topicschema.broker.transport import ClientConfig
from topicschema.core.errors import StalledError
from topicschema.core.topics import Topic


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("pulsar://pulsar", True),
        ("pulsar+ssl://pulsar:6651/", True),
        ("pulsar://a:1,a:1", True),
        ("pulsar://a", False),
        ("pulsar://pulsar,b", False),
        ("pulsar://user@pulsar", False),
        ("pulsar://user:word@pulsar", False),
        ("http://pulsar", False),
        ("pulsar://", False),
        ("pulsar", False),
        ("pulsar://pulsar:99999", False),
        ("pulsar://169.254.169.254", False),
        ("pulsar://10.96.0.1:443", False),
    ],
)
def test_all_hosts_of_a_service_url_must_be_allowed(url: str, *, is_allowed: bool) -> None:
    allowed = AllowedHosts.parse("pulsar, a:1, 169.254.169.254, 10.96.0.1", ["https://10.96.0.1"])
    if is_allowed:
        allowed.check_service(url)
    else:
        with pytest.raises(BrokerNotAllowedError):
            allowed.check_service(url)


@pytest.mark.parametrize(
    ("text", "url", "is_allowed"),
    [
        ("", "http://pulsar:8080", False),
        ("pulsar", "http://pulsar:8080", True),
        ("pulsar", "http://pulsar.", True),
        ("PULSAR.Example", "https://pulsar.example", True),
        ("pulsar:8080", "http://pulsar:8080", True),
        ("pulsar:8080", "http://pulsar:8081", False),
        ("pulsar:443", "https://pulsar", True),
        ("pulsar:80", "http://pulsar", True),
        ("a, *.pulsar.svc ,b", "http://proxy.pulsar.svc", True),
        ("*.pulsar.svc", "http://a.b.pulsar.svc", False),
        ("*.pulsar.svc", "http://pulsar.svc", False),
        ("*.pulsar.svc", "http://pulsar.svc.evil.example", False),
        ("broker-*.pulsar", "http://broker-17.pulsar", True),
        ("pulsar", "http://evil.example/?pulsar", False),
        ("pulsar", "http://pulsar@evil.example", False),
        ("pulsar", "http://user:word@pulsar", False),
        ("pulsar", "ftp://pulsar", False),
        ("pulsar", "file:///etc/passwd", False),
        ("pulsar", "pulsar", False),
        ("10.0.0.*", "http://10.0.0.7:8080", True),
        ("10.0.0.*", "http://10.0.0.7.evil.example", False),
        ("[2001:db8::1]:8443", "https://[2001:db8::1]:8443", True),
        ("[2001:db8::1]", "https://[2001:db8::2]", False),
        ("*", "http://127.0.0.1", False),
        ("*.*.*.*", "http://127.0.0.1", False),
        ("127.0.0.1", "http://127.0.0.1:8080", True),
        ("127.0.0.1", "http://127.0.0.2:8080", False),
        ("[::1]", "http://[::1]:8080", True),
        ("localhost", "http://localhost", True),
        ("169.254.169.254", "http://169.254.169.254", False),
        ("[fe80::1]", "http://[fe80::1]", False),
        ("[::ffff:169.254.169.254]", "http://[::ffff:169.254.169.254]", False),
        ("[64:ff9b::a9fe:a9fe]", "http://[64:ff9b::a9fe:a9fe]", False),
        ("0.0.0.0", "http://0.0.0.0", False),  # noqa: S104 - it is what must not be called
        ("[::]", "http://[::]", False),
        ("224.0.0.1", "http://224.0.0.1", False),
        ("100.100.100.200", "http://100.100.100.200", False),
        ("[fd00:ec2::254]", "http://[fd00:ec2::254]", False),
        ("10.96.0.1", "https://10.96.0.1:443", False),
        ("10.96.0.1", "https://10.96.0.1:8443", True),
        ("kubernetes.default.svc", "https://kubernetes.default.svc", False),
    ],
)
def test_only_what_the_list_names_is_called_and_some_addresses_never(text: str, url: str, *, is_allowed: bool) -> None:
    allowed = AllowedHosts.parse(text, ["https://10.96.0.1", "https://kubernetes.default.svc:443"])
    if is_allowed:
        allowed.check(URL(url))
        return
    with pytest.raises(BrokerNotAllowedError) as caught:
        allowed.check(URL(url))
    assert isinstance(caught.value, StalledError)
    assert "word" not in caught.value.message


@pytest.mark.parametrize("text", ["http://pulsar", "pulsar:port", "a b", "pulsar:", "*:8080:1", "pulsar/admin"])
def test_an_entry_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not HOST or HOST:PORT"):
        AllowedHosts.parse(text)


class Names:
    """A name server of the test's own."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        if host not in self.addresses:
            raise OSError(host)
        return [
            ResolveResult(hostname=host, host=each, port=port, family=family, proto=0, flags=0)
            for each in self.addresses[host]
        ]


def resolver_of(**addresses: list[str]) -> GuardedResolver:
    allowed = AllowedHosts.parse("pulsar, localhost, *", ["https://10.96.0.1", "https://apiserver:6443"])
    resolver = GuardedResolver(allowed)
    resolver._names = Names(**addresses)  # type: ignore[assignment]
    return resolver


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("169.254.169.254", 80),
        ("fe80::1%eth0", 80),
        ("127.0.0.1", 80),
        ("::1", 80),
        ("::ffff:127.0.0.1", 80),
        ("0.0.0.0", 80),  # noqa: S104 - it is what must not be called
        ("224.0.0.1", 80),
        ("168.63.129.16", 80),
        ("10.96.0.1", 443),
        ("10.1.2.3", 6443),
    ],
)
async def test_an_allowed_name_that_leads_to_a_refused_address_is_not_called(address: str, port: int) -> None:
    resolver = resolver_of(pulsar=["10.0.0.1", address], apiserver=["10.1.2.3"])
    with pytest.raises(BrokerNotAllowedError):
        await resolver.resolve("pulsar", port)


async def test_an_allowed_name_may_have_any_other_address() -> None:
    resolver = resolver_of(pulsar=["10.0.0.1", "2001:db8::1"], localhost=["127.0.0.1", "::1"])
    assert [each["host"] for each in await resolver.resolve("pulsar", 8080)] == ["10.0.0.1", "2001:db8::1"]
    assert len(await resolver.resolve("pulsar", 6443)) == 2  # the API server's name has no address now
    assert len(await resolver.resolve("localhost", 8080)) == 2
    await resolver.close()


async def test_other_spellings_of_loopback_are_refused() -> None:
    for spelling in ("2130706433", "0x7f000001", "127.1", "0177.0.0.1", "0x7f.1"):
        broker = Broker(ClientConfig(f"http://{spelling}:1", AllowedHosts.parse(spelling)))
        with pytest.raises(BrokerNotAllowedError):
            await broker.latest(Topic("t", "n", "x"))
        await broker.close()
