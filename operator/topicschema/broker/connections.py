"""HTTP connections to one broker, to allowed hosts only, with limits of time and memory.

`error_mapping` interprets the answers; `transport` schedules the requests.
"""

import io
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
from yarl import URL

from topicschema.broker import error_mapping
from topicschema.broker.credentials import ClientCertificate, Credential
from topicschema.broker.error_mapping import BrokerFailure, RequestInfo
from topicschema.broker.errors import AnswerTooLargeError, BrokerNotAllowedError, BrokerUnavailableError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.tls import context_of

_CONNECT_SECONDS: Final = 5.0
_IDLE_SECONDS: Final = 60.0
_MAX_ERROR_BYTES: Final = 64 << 10
_LARGE_BYTES: Final = 1 << 20
# Jetty repeats a refusal, which quotes two schemas, in the reason phrase of its status line.
_MAX_STATUS_LINE: Final = 16 << 20
_HEADERS: Final = {"User-Agent": "topicschema", "Accept-Encoding": "identity", "Accept": "application/json"}
_REDIRECTS: Final = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class Exchange:
    """One HTTP request. `info` names it in errors. `max_bytes` limits the answer; that of an error is truncated."""

    method: str
    url: URL
    body: bytes | None
    headers: Mapping[str, str]
    seconds: float
    max_bytes: int
    info: RequestInfo


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        """True if the status is 2xx."""
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP's numbers

    def next_url(self, url: URL) -> URL | None:
        """Return the URL of the same request at the broker that a redirect names, or None without a redirect.

        Only the address of the target is used, and its parameter `authoritative`, by which Pulsar marks such requests.
        So a redirect can change the broker of a request, but not its path.
        """
        if self.status not in _REDIRECTS:
            return None
        try:
            target = url.join(URL(self.headers.get("Location", ""), encoded=True))
            is_whole = bool(target.host and target.port)  # yarl parses them on first access
        except ValueError:
            return None
        return _redirected(target, url) if is_whole else None


def _redirected(target: URL, url: URL) -> URL:
    mark = target.query.get("authoritative", "")
    parts = [part for part in url.raw_query_string.split("&") if part and not part.startswith("authoritative=")]
    if mark in {"true", "false"}:
        parts.append(f"authoritative={mark}")
    query = f"?{'&'.join(parts)}" if parts else ""
    return URL(f"{target.scheme}://{target.raw_authority}{url.raw_path}{query}", encoded=True)


class HttpConnections:
    """A pool of connections, opened on demand. Raise SecretInvalidError for invalid certificates."""

    def __init__(self, allowed: AllowedHosts, credential: Credential, ca: bytes | None) -> None:
        self._allowed = allowed
        self._credential = credential
        self._ca = ca
        self._contexts: dict[bool, ssl.SSLContext] = {}
        if ca is not None or isinstance(credential, ClientCertificate):
            self._tls(to_issuer=False)
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def send(self, exchange: Exchange, *, to_issuer: bool = False) -> HttpResponse | BrokerFailure:
        """Return the answer of any status, or the meaning of its absence.

        Raise BrokerNotAllowedError, and send nothing, if the host is not allowed.
        """
        self._allowed.check(exchange.url)
        try:
            async with self._open().request(
                exchange.method,
                exchange.url,
                data=_sendable(exchange.body),
                headers=exchange.headers,
                allow_redirects=False,
                ssl=self._tls(to_issuer=to_issuer) if exchange.url.scheme == "https" else True,
                timeout=aiohttp.ClientTimeout(total=exchange.seconds, sock_connect=_CONNECT_SECONDS),
            ) as response:
                body = await _body(response, exchange)
                return HttpResponse(response.status, response.headers, body)
        except error_mapping.FOREIGN as error:
            return error_mapping.from_network_error(error, exchange.info)
        except AnswerTooLargeError as error:
            return BrokerFailure(error)

    def _tls(self, *, to_issuer: bool) -> ssl.SSLContext:
        """Return the TLS context, made on demand: reading the system's certificates takes tens of milliseconds."""
        if to_issuer not in self._contexts:
            credential = None if to_issuer else self._credential
            self._contexts[to_issuer] = context_of(credential, self._ca, trusts_system=to_issuer)
        return self._contexts[to_issuer]

    def _open(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise BrokerUnavailableError("the way to the broker was changed meanwhile", after=1.0)
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_HEADERS,
                auto_decompress=False,
                max_line_size=_MAX_STATUS_LINE,
                middlewares=(_only_once,),
            )
        return self._session


def check_downgrade(before: URL, after: URL) -> None:
    """Raise BrokerNotAllowedError if a redirect from HTTPS would send credentials in clear text."""
    if before.scheme == "https" and after.scheme != "https":
        raise BrokerNotAllowedError(f"the broker redirects from https to {after.scheme}://{(after.host or '')[:200]}")


async def _only_once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Return the answer of a request that aiohttp must not retry by itself, as it does even for a DELETE."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError("the connection ended before the answer") from error


async def _body(response: aiohttp.ClientResponse, exchange: Exchange) -> bytes:
    """Return the body. Truncate that of an error; raise AnswerTooLargeError for another that exceeds its limit."""
    is_error = not response.ok
    limit = _MAX_ERROR_BYTES if is_error else exchange.max_bytes
    whole = bytearray()
    if is_error or (response.content_length or 0) <= limit:
        async for chunk in response.content.iter_any():
            whole += chunk
            if len(whole) > limit:
                break
        else:
            return bytes(whole)
    response.close()
    if is_error:
        return bytes(whole[:limit])
    raise AnswerTooLargeError(f"{exchange.info.request}: the answer has more than {limit >> 20} MiB and was not read")


def _sendable(body: bytes | None) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if body is not None and len(body) >= _LARGE_BYTES else body  # sent in chunks
