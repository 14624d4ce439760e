"""Which hosts the operator may call: a tenant names a broker's address, and must not make the operator its proxy.

An address is checked when it is written (the name) and again when it is called (the addresses that the name has then),
so a name that changes its address between the two gains nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from yarl import URL

from topicschema.broker.errors import BrokerNotAllowedError

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One entry of the list; `port` None means any."""

    host: str
    port: int | None

    def matches(self, host: str, port: int) -> bool:
        """Whether the entry names the host; `*` is any text without a dot."""
        pieces = (re.escape(piece) for piece in self.host.split("*"))
        return self.port in {None, port} and re.fullmatch("[^.]*".join(pieces), host) is not None


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The allow list of broker hosts, and the addresses of the API server, which no list can allow."""

    patterns: tuple[_Pattern, ...] = ()
    api_servers: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def parse(cls, text: str, api_servers: Iterable[str] = ()) -> Self:
        """The list that `text` holds: host globs with an optional `:port`, separated by commas; ValueError.

        `api_servers` are the URLs of the cluster's own API server. An empty text allows no host.
        """
        patterns = tuple(_pattern(entry.strip()) for entry in text.split(",") if entry.strip())
        own = frozenset((url.host or "", url.port or 443) for url in map(URL, api_servers))
        return cls(patterns, own)

    def check(self, url: URL) -> None:
        """BrokerNotAllowedError unless the address is an HTTP address on an allowed host."""
        if url.scheme not in _PORTS or url.host is None or url.user is not None:
            raise BrokerNotAllowedError("a broker's address must read http://HOST:PORT or https://HOST:PORT")
        port = url.port or _PORTS[url.scheme]
        if (url.host, port) in self.api_servers or not any(each.matches(url.host, port) for each in self.patterns):
            raise BrokerNotAllowedError(
                f"the operator may not call {url.host[:200]}:{port}; "
                "whoever runs it names a broker's host in TOPICSCHEMA_BROKER_HOSTS"
            )


def _pattern(entry: str) -> _Pattern:
    match = re.fullmatch(r"(?P<host>\[[0-9a-fA-F:.]+\]|[-\w.*]+)(:(?P<port>\d{1,5}))?", entry, re.ASCII)
    if match is None:
        raise ValueError(f"{entry[:80]!r} is not HOST or HOST:PORT")
    return _Pattern(match["host"].strip("[]").lower(), int(match["port"]) if match["port"] else None)
