"""The allow list of broker hosts, so that no tenant can use the operator as a proxy (SSRF).

The host name is checked when a policy names it, and its resolved addresses at each call. So a change of DNS between the
two (DNS rebinding) bypasses nothing.
"""

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, Self

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from typing_extensions import override
from yarl import URL

from topicschema.broker.errors import BrokerNotAllowedError

_PORTS: Final = {"http": 80, "https": 443}
_SERVICE_PORTS: Final = {"pulsar": 6650, "pulsar+ssl": 6651}
_NAT64: Final = IPv6Network("64:ff9b::/96")
# The metadata services of clouds. Those with link-local addresses are refused anyway.
_METADATA: Final = frozenset(
    map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
_HOST: Final = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[-\w.*]+)(:(?P<port>\d{1,5}))?", re.ASCII)
_NUMERIC: Final = re.compile(r"[0-9.:]+")

_Address = IPv4Address | IPv6Address


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
    """The allow list of broker hosts, and the API servers' addresses, which no list can allow."""

    patterns: tuple[_Pattern, ...] = ()
    api_servers: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def parse(cls, text: str, api_servers: Iterable[str] = ()) -> Self:
        """Return the list of `text`, `HOST[:PORT]` separated by commas. `*` matches any text without a dot.

        An empty text allows no host. `api_servers` are the URLs of the cluster's API servers. Raise ValueError for an
        invalid entry.
        """
        patterns = tuple(_pattern(entry.strip()) for entry in text.split(",") if entry.strip())
        own = frozenset((_host(url), url.port or _PORTS["https"]) for url in map(URL, api_servers))
        return cls(patterns, own)

    def check(self, url: URL) -> None:
        """Raise BrokerNotAllowedError unless it is an HTTP or HTTPS URL with an allowed host."""
        if url.scheme not in _PORTS or not url.host or url.user is not None or url.password is not None:
            raise BrokerNotAllowedError("a broker's address must read http://HOST:PORT or https://HOST:PORT")
        self._check_host(_host(url), url.port or _PORTS[url.scheme])

    def _check_host(self, host: str, port: int) -> None:
        if not any(each.names(host, port) for each in self.patterns):
            raise BrokerNotAllowedError(
                f"the operator may not call {host[:200]}:{port}; its administrator lists the hosts of brokers in "
                "TOPICSCHEMA_BROKER_HOSTS (the chart's brokers.allowedHosts)"
            )
        if (host, port) in self.api_servers:
            raise _forbidden(host, port)
        literal = _literal(host)
        if literal is not None:
            self.check_address(host, str(literal), port)
        elif _NUMERIC.fullmatch(host):
            raise _forbidden(host, port)  # an address in another notation, which would not be resolved

    def check_text(self, text: str) -> None:
        """Raise BrokerNotAllowedError like `check`, and for a text that is not a URL."""
        self.check(_parsed(text))

    def check_service(self, text: str) -> None:
        """Raise BrokerNotAllowedError unless all hosts of a service URL are allowed with their ports."""
        scheme, _, hosts = text.rstrip("/").partition("://")
        for each in hosts.split(","):
            url = _parsed(f"{scheme}://{each}")
            if scheme not in _SERVICE_PORTS or not url.host or url.user is not None:
                raise BrokerNotAllowedError("a broker's address must read pulsar://HOST:PORT or pulsar+ssl://HOST:PORT")
            self._check_host(_host(url), url.port or _SERVICE_PORTS[scheme])

    def check_address(self, host: str, text: str, port: int) -> None:
        """Raise BrokerNotAllowedError for an address that no host may have, even if the list has its name."""
        address = _innermost(ip_address(text.partition("%")[0]))
        is_refused = address.is_link_local or address.is_unspecified or address.is_multicast or address in _METADATA
        if is_refused or (str(address), port) in self.api_servers:
            raise _forbidden(host, port)
        if address.is_loopback and not self._names_loopback(host):
            raise _forbidden(host, port)

    def _names_loopback(self, host: str) -> bool:
        literal = _literal(host)
        is_literal = host == "localhost" or (literal is not None and literal.is_loopback)
        return is_literal and any(each.host == host for each in self.patterns)


class GuardedResolver(AbstractResolver):
    """A resolver that refuses a name if one of its addresses is not allowed."""

    def __init__(self, allowed: AllowedHosts) -> None:
        self._allowed = allowed
        self._names = ThreadedResolver()

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the host's addresses. Raise BrokerNotAllowedError if one is refused, OSError if there are none."""
        addresses = await self._names.resolve(host, port, family)
        own = await self._api_servers(port)
        for each in addresses:
            self._allowed.check_address(host, each["host"], port)
            if each["host"] in own:
                raise _forbidden(host, port)
        return addresses

    @override
    async def close(self) -> None:
        """Do nothing: the resolver has no open resources."""

    async def _api_servers(self, port: int) -> set[str]:
        """Return the current addresses of the API servers' names with that port."""
        addresses: set[str] = set()
        for name, its_port in self._allowed.api_servers:
            if its_port == port and _literal(name) is None:
                try:
                    addresses.update(each["host"] for each in await self._names.resolve(name, port, socket.AF_UNSPEC))
                except OSError:
                    continue  # it has no address now, so nothing leads to it
        return addresses


def _pattern(entry: str) -> _Pattern:
    match = _HOST.fullmatch(entry)
    if match is None:
        raise ValueError(f"{entry[:80]!r} is not HOST or HOST:PORT")
    return _Pattern(match["host"].strip("[]").lower(), int(match["port"]) if match["port"] else None)


def _parsed(text: str) -> URL:
    try:
        url = URL(text)
        url.origin()  # yarl parses some of it on first access
    except ValueError:
        raise BrokerNotAllowedError(f"{text[:200]!r} is not a URL") from None
    return url


def _host(url: URL) -> str:
    return (url.host or "").lower().rstrip(".")


def _literal(host: str) -> _Address | None:
    try:
        return _innermost(ip_address(host.partition("%")[0]))
    except ValueError:
        return None


def _innermost(address: _Address) -> _Address:
    """Return the IPv4 address that an IPv6 address embeds (NAT64, mapped, 6to4), else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _forbidden(host: str, port: int) -> BrokerNotAllowedError:
    return BrokerNotAllowedError(f"{host[:200]}:{port} is no address that a broker may have; no allow list permits it")
