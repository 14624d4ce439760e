"""Connections to one broker: requests out and answers in, inside the allowed hosts, in bounded time and memory.

What an answer means is read in `foreign`; when a request may go out is `transport`'s to say.
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
from topicschema.broker.error_mapping import Asked, Trouble
from topicschema.broker.errors import AnswerTooLargeError, BrokerNotAllowedError, BrokerUnavailableError
from topicschema.broker.host_allow_list import AllowedHosts, GuardedResolver
from topicschema.broker.tls import context_of

_CONNECT_SECONDS: Final = 5.0
_KEPT_SECONDS: Final = 60.0
_MAX_ERROR_BYTES: Final = 64 << 10
_LARGE_BYTES: Final = 1 << 20
# Jetty repeats a refusal, which quotes two schemas, as the reason phrase of its status line.
_MAX_STATUS_LINE: Final = 16 << 20
_HEADERS: Final = {"User-Agent": "topicschema", "Accept-Encoding": "identity", "Accept": "application/json"}
_REDIRECTS: Final = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to be sent; `asked` names it in errors, `max_bytes` bounds the answer, an error's is cut."""

    method: str
    url: URL
    body: bytes | None
    headers: Mapping[str, str]
    seconds: float
    max_bytes: int
    asked: Asked


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        """Whether it is a yes; a redirect is none."""
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP's numbers

    def next_url(self, url: URL) -> URL | None:
        """The same question to the broker that owns what is asked for, where this one sends us there; None elsewhere.

        Of the target only the address is taken, and `authoritative`, Pulsar's own mark of such a question: an answer
        says who is to be asked, never what.
        """
        if self.status not in _REDIRECTS:
            return None
        try:
            target = url.join(URL(self.headers.get("Location", ""), encoded=True))
            is_whole = bool(target.host and target.port)  # which are parsed only when they are asked for
        except ValueError:
            return None
        return _asked_at(target, url) if is_whole else None


def _asked_at(target: URL, url: URL) -> URL:
    mark = target.query.get("authoritative", "")
    parts = [part for part in url.raw_query_string.split("&") if part and not part.startswith("authoritative=")]
    if mark in {"true", "false"}:
        parts.append(f"authoritative={mark}")
    query = f"?{'&'.join(parts)}" if parts else ""
    return URL(f"{target.scheme}://{target.raw_authority}{url.raw_path}{query}", encoded=True)


class Connections:
    """A pool of connections, opened when it is first needed. SecretInvalidError for certificates that are none."""

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
        """End all connections."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def send(self, exchange: Exchange, *, to_issuer: bool = False) -> Answer | Trouble:
        """The answer, whatever its status, or what its absence means; BrokerNotAllowedError before anything is sent."""
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
                return Answer(response.status, response.headers, body)
        except error_mapping.FOREIGN as error:
            return error_mapping.from_silence(error, exchange.asked)
        except AnswerTooLargeError as error:
            return Trouble(error)

    def _tls(self, *, to_issuer: bool) -> ssl.SSLContext:
        """The context, made when it is first needed: reading the system's certificates takes tens of milliseconds."""
        if to_issuer not in self._contexts:
            credential = None if to_issuer else self._credential
            self._contexts[to_issuer] = context_of(credential, self._ca, trusts_system=to_issuer)
        return self._contexts[to_issuer]

    def _open(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise BrokerUnavailableError("the way to the broker was changed meanwhile", after=1.0)
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=GuardedResolver(self._allowed), limit=0, keepalive_timeout=_KEPT_SECONDS
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_HEADERS,
                auto_decompress=False,
                max_line_size=_MAX_STATUS_LINE,
                middlewares=(_only_once,),
            )
        return self._session


def check_downgrade(before: URL, after: URL) -> None:
    """BrokerNotAllowedError where a redirect would send credentials in clear text that were not."""
    if before.scheme == "https" and after.scheme != "https":
        raise BrokerNotAllowedError(f"the broker redirects from https to {after.scheme}://{(after.host or '')[:200]}")


async def _only_once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """The answer to a request that aiohttp must not send again by itself, as it does with a DELETE, too."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError("the connection ended before the answer") from error


async def _body(response: aiohttp.ClientResponse, exchange: Exchange) -> bytes:
    """The body; an error's no longer than people read, a good answer's no longer than such an answer may be."""
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
    raise AnswerTooLargeError(f"{exchange.asked.request}: the answer has more than {limit >> 20} MiB and was not read")


def _sendable(body: bytes | None) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if body is not None and len(body) >= _LARGE_BYTES else body  # sent piece by piece
