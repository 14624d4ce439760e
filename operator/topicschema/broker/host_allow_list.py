"""The hosts of one registry that get its credentials: that of its admin URL, its issuer's, and its redirect hosts."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from yarl import URL

from topicschema.broker.errors import BrokerNotAllowedError

_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[-\w.*]+)(:(?P<port>\d{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One entry of the list. None as `port` means any port."""

    host: str
    port: int | None

    def names(self, host: str, port: int) -> bool:
        """Return True if the entry matches the host and port. `*` matches any text without a dot."""
        pieces = (re.escape(piece) for piece in self.host.split("*"))
        return self.port in {None, port} and re.fullmatch("[^.]*".join(pieces), host) is not None


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """An allow list of hosts. `registry` is the name of the registry, for messages."""

    patterns: tuple[_Pattern, ...] = ()
    registry: str = ""

    @classmethod
    def of(cls, urls: Iterable[str], redirect_hosts: Iterable[str] = (), registry: str = "") -> Self:
        """Return the list of the URLs' hosts with their ports, and of `redirect_hosts`: HOST[:PORT] with `*`.

        Raise BrokerNotAllowedError for a text that is no URL, and ValueError for an invalid redirect host.
        """
        parsed = (parsed_url(url) for url in urls)
        named = (_Pattern(_host(url), url.port or _PORTS.get(url.scheme)) for url in parsed)
        return cls((*named, *(_pattern(each) for each in redirect_hosts)), registry)

    def check(self, url: URL) -> None:
        """Raise BrokerNotAllowedError unless it is an HTTP or HTTPS URL with an allowed host."""
        if url.scheme not in _PORTS or not url.host or url.user is not None or url.password is not None:
            raise BrokerNotAllowedError("a broker's address must read http://HOST:PORT or https://HOST:PORT")
        host, port = _host(url), url.port or _PORTS[url.scheme]
        if not any(each.names(host, port) for each in self.patterns):
            where = f"registry {self.registry}" if self.registry else "the registry"
            raise BrokerNotAllowedError(
                f"the broker redirects to {host[:200]}:{port}, which is not in spec.pulsar.redirectHosts of {where}: "
                "its credentials are not sent there"
            )


def _pattern(entry: str) -> _Pattern:
    match = _HOST.fullmatch(entry)
    if match is None:
        raise ValueError(f"{entry[:80]!r} is not HOST or HOST:PORT")
    return _Pattern(match["host"].strip("[]").lower(), int(match["port"]) if match["port"] else None)


def parsed_url(text: str) -> URL:
    """Return the URL. Raise BrokerNotAllowedError if the text is none."""
    try:
        url = URL(text)
        url.origin()  # yarl parses some of it on first access
    except ValueError:
        raise BrokerNotAllowedError(f"{text[:200]!r} is not a URL") from None
    return url


def _host(url: URL) -> str:
    return (url.host or "").lower().rstrip(".")
