"""The hosts that get a registry's credentials."""

import pytest
from yarl import URL

from topicschema.broker.errors import BrokerNotAllowedError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.core.errors import StalledError

OWN = "https://admin:8443"


@pytest.mark.parametrize(
    ("redirect_host", "url", "is_allowed"),
    [
        (None, "https://admin:8443", True),
        (None, "https://ADMIN.:8443", True),
        (None, "https://admin", False),
        (None, "https://pulsar:8443", False),
        ("pulsar", "http://pulsar:8080", True),
        ("pulsar", "http://pulsar.", True),
        ("PULSAR.Example", "https://pulsar.example", True),
        ("pulsar:8080", "http://pulsar:8080", True),
        ("pulsar:8080", "http://pulsar:8081", False),
        ("pulsar:443", "https://pulsar", True),
        ("pulsar:80", "http://pulsar", True),
        ("*.pulsar.svc", "http://proxy.pulsar.svc", True),
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
    ],
)
def test_the_hosts_of_the_registry_s_urls_and_its_redirect_hosts_are_allowed(
    redirect_host: str | None, url: str, *, is_allowed: bool
) -> None:
    allowed = AllowedHosts.of([OWN], [] if redirect_host is None else [redirect_host], "prod")
    if is_allowed:
        allowed.check(URL(url))
        return
    with pytest.raises(BrokerNotAllowedError) as caught:
        allowed.check(URL(url))
    assert isinstance(caught.value, StalledError)
    assert "word" not in caught.value.message


def test_a_refusal_names_the_field_that_would_allow_the_host() -> None:
    with pytest.raises(BrokerNotAllowedError, match=r"pulsar:80, .* not in spec\.pulsar\.redirectHosts of .* prod"):
        AllowedHosts.of([OWN], (), "prod").check(URL("http://pulsar"))


@pytest.mark.parametrize("text", ["http://pulsar", "pulsar:port", "a b", "pulsar:", "*:8080:1", "pulsar/admin"])
def test_a_redirect_host_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not HOST or HOST:PORT"):
        AllowedHosts.of([OWN], [text])


def test_an_address_that_is_no_url_is_refused() -> None:
    with pytest.raises(BrokerNotAllowedError, match="is not a URL"):
        AllowedHosts.of(["https://pulsar:port"])
