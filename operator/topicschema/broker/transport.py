"""One broker's HTTP: a pool of connections, and requests that each end within their time, in JSON or in our errors."""

import json
import ssl
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from yarl import URL

from topicschema.broker import foreign
from topicschema.broker.allowed import AllowedHosts
from topicschema.broker.credentials import Credential, Token
from topicschema.broker.errors import AnswerTooLargeError, BrokerUnavailableError
from topicschema.broker.foreign import Call

_CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a broker's admin REST API: its URL, who we are, and whom to trust.

    `ca` is PEM, and None means the system's own. `allowed` says which hosts may be called at all.
    """

    admin_url: str
    allowed: AllowedHosts
    credential: Credential = None
    ca: bytes | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the path is percent-encoded as it is to be sent; `max_bytes` bounds the answer."""

    call: Call
    method: str
    path: str
    body: object = None
    has_body: bool = False
    seconds: float = 10.0
    max_bytes: int = 16 << 20

    def __str__(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"[:200]


class Transport:
    """The connections to one broker."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, request: Request) -> Any:
        """The answer, parsed; None where the broker answers without a body. The errors are `foreign`'s."""
        url = URL(self._access.admin_url.rstrip("/") + request.path, encoded=True)
        self._access.allowed.check(url)
        if self._session is None:
            self._session = self._open()
        headers = {"Accept": "application/json"}
        if isinstance(self._access.credential, Token):
            headers["Authorization"] = f"Bearer {self._access.credential.text}"
        data = None
        if request.has_body:
            data = json.dumps(request.body, separators=(",", ":")).encode("ascii")
            headers["Content-Type"] = "application/json"
        try:
            async with self._session.request(
                request.method,
                url,
                data=data,
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=request.seconds, sock_connect=_CONNECT_SECONDS),
            ) as response:
                body = await _body(response, request)
        except foreign.FOREIGN as error:
            raise foreign.from_silence(error, str(request)) from error
        if not response.ok or response.status >= 300:  # noqa: PLR2004 - a redirect is no answer either
            raise foreign.from_answer(request.call, response.status, response.headers, body, str(request))
        return _decoded(body, request)

    def _open(self) -> aiohttp.ClientSession:
        cadata = self._access.ca.decode() if self._access.ca else None
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=cadata), limit=8),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "topicschema", "Accept-Encoding": "identity"},
        )


async def _body(response: aiohttp.ClientResponse, request: Request) -> bytes:
    whole = bytearray()
    async for chunk in response.content.iter_any():
        whole += chunk
        if len(whole) > request.max_bytes:
            raise AnswerTooLargeError(f"{request}: the answer has more than {request.max_bytes} bytes")
    return bytes(whole)


def _decoded(body: bytes, request: Request) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise BrokerUnavailableError(f"{request}: the answer is not JSON; is this a broker's admin URL?") from None
