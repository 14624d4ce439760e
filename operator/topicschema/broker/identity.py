"""Authorization headers: bearer tokens, and OAuth 2.0 access tokens, fetched on demand.

Source: RFC 6749 section 4.4, and Pulsar's Java client (ClientCredentialsFlow). The issuer's well-known document has the
token endpoint, to which a form is posted.
"""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from topicschema.broker.clock import Clock
from topicschema.broker.credentials import Credential, OAuth2ClientCredentials, Token
from topicschema.broker.errors import BrokerNotAllowedError, BrokerUnauthorizedError, BrokerUnavailableError
from topicschema.core.errors import WaitingError

_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_FORM: Final = "application/x-www-form-urlencoded"
_DEFAULT_SECONDS: Final = 300.0
_EARLY_SECONDS: Final = 60.0

Fetch = Callable[[str, str, bytes | None, Mapping[str, str]], Awaitable[tuple[int, bytes]]]
"""A function from method, URL, body and headers to status and body, for allowed hosts only."""


@dataclass(frozen=True, slots=True)
class _AccessToken:
    """An issued access token. It is used until `until`, a time of the clock in seconds."""

    token: str
    until: float


class Identity:
    """The current credential for one broker, with its access token."""

    def __init__(self, credential: Credential, fetch: Fetch, clock: Clock) -> None:
        self._credential = credential
        self._fetch = fetch
        self._clock = clock
        self._token: _AccessToken | None = None
        self._failure: tuple[float, WaitingError] | None = None
        self._turn = asyncio.Lock()

    async def headers(self) -> dict[str, str]:
        """Return the headers of a request. Raise WaitingError or BrokerNotAllowedError if the issuer gives no token."""
        if isinstance(self._credential, OAuth2ClientCredentials):
            async with self._turn:
                if self._token is None or self._clock.now() >= self._token.until:
                    self._token = await self._renewed(self._credential)
        return self._known()

    async def renew(self, refused: Mapping[str, str]) -> bool:
        """Drop the access token after a broker refused the headers. Return True if other headers may be available.

        If several callers were refused at the same time, only the first one drops it.
        """
        async with self._turn:
            if self._known() == refused:
                self._token = None
            return isinstance(self._credential, OAuth2ClientCredentials)

    def _known(self) -> dict[str, str]:
        """Return the headers that are known without a request."""
        if isinstance(self._credential, Token):
            return {"Authorization": f"Bearer {self._credential.text}"}
        if self._token is not None:
            return {"Authorization": f"Bearer {self._token.token}"}
        return {}

    def hide(self, body: bytes) -> bytes:
        """Return the body of an error with the operator's secrets masked, in case the server repeated them."""
        for secret in self._secrets():
            body = body.replace(secret.encode(), b"***")
        return body

    def _secrets(self) -> tuple[str, ...]:
        tokens = (self._token.token,) if self._token is not None else ()
        if isinstance(self._credential, Token):
            return (self._credential.text,)
        if isinstance(self._credential, OAuth2ClientCredentials):
            return (*tokens, self._credential.client_secret)
        return tokens

    async def _renewed(self, credential: OAuth2ClientCredentials) -> _AccessToken:
        """Return another token. After an error, raise it again until its retry time: the issuer may lock clients."""
        if self._failure is not None and self._clock.now() < self._failure[0]:
            raise copy.copy(self._failure[1])
        try:
            return await self._request_token(credential)
        except WaitingError as error:
            self._failure = (self._clock.now() + error.after, error)
            raise

    async def _request_token(self, credential: OAuth2ClientCredentials) -> _AccessToken:
        endpoint = await self._endpoint(credential.issuer_url)
        fields = {
            "grant_type": "client_credentials",
            "client_id": credential.client_id,
            "client_secret": credential.client_secret,
            "audience": credential.audience,
            "scope": credential.scope,
        }
        form = urlencode({name: text for name, text in fields.items() if text}).encode()
        status, body = await self._fetch("POST", endpoint, form, {"Content-Type": _FORM})
        answer = _object(body)
        token = answer.get("access_token")
        if status in {400, 401, 403}:
            raise BrokerUnauthorizedError(f"the token endpoint refuses the client: {status} {_code(answer)}".rstrip())
        if status != 200 or not isinstance(token, str) or not token.isascii() or not token.isprintable():  # noqa: PLR2004
            raise BrokerUnavailableError(f"the token endpoint gives no token: {status}")
        return _AccessToken(token, self._clock.now() + _lifetime(answer))

    async def _endpoint(self, issuer: str) -> str:
        status, body = await self._fetch("GET", issuer.rstrip("/") + _WELL_KNOWN, None, {})
        endpoint = _object(body).get("token_endpoint")
        if status != 200 or not isinstance(endpoint, str):  # noqa: PLR2004
            raise BrokerUnavailableError(f"the issuer's {_WELL_KNOWN} names no token endpoint: {status}")
        if _is_https(issuer) and not _is_https(endpoint):
            raise BrokerNotAllowedError("the issuer is asked over https, and names a token endpoint that is not")
        return endpoint


def _is_https(url: str) -> bool:
    return url.lower().startswith("https:")


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _code(answer: Mapping[str, Any]) -> str:
    """Return the error code of OAuth (`invalid_client`) or "". The description is free text and not used."""
    word = answer.get("error")
    return word[:40] if isinstance(word, str) and word.isidentifier() else ""


def _lifetime(answer: Mapping[str, Any]) -> float:
    """Return the seconds for which a token is used: its lifetime less 60 seconds or half of it, and at least 1."""
    try:
        lasts = float(answer.get("expires_in") or _DEFAULT_SECONDS)
    except (TypeError, ValueError):
        lasts = _DEFAULT_SECONDS
    return max(lasts - _EARLY_SECONDS, lasts / 2, 1.0)
