"""Mapping of HTTP statuses and network errors to the errors of this package, in one table.

docs/broker.md has the same table in words. A message has the request and the broker's own short reason. The broker
quotes schemas in its refusals, so a text is truncated where a quotation may begin.
"""

import asyncio
import http.client
import math
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import Final

import aiohttp

from topicschema.broker.error_text import Words, words_of
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerSilentError,
    BrokerTLSVerificationFailedError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    NamespaceNotFoundError,
    NotABrokerError,
    RefusedByBrokerError,
    SchemaNotFoundError,
    TenantNotFoundError,
    TopicNotFoundError,
)
from topicschema.core.errors import TopicSchemaError


class CallKind(Enum):
    """The kinds of call that give one status different meanings."""

    READ = auto()
    LISTING = auto()  # a large read, which may take a broker longer than the timeout
    UPLOAD = auto()
    WRITE = auto()
    DELETE = auto()


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The request, and the address of its broker, for the message of an error."""

    call: CallKind
    request: str
    broker: str


@dataclass(frozen=True, slots=True)
class BrokerFailure:
    """The meaning of an error status, or of no answer.

    If `may_retry` is True, the request may be sent again at once. If `is_unreachable` is True, the broker answers no
    client. `retry_after` is the broker's Retry-After in seconds, or None.
    """

    error: TopicSchemaError
    may_retry: bool = False
    is_unreachable: bool = False
    retry_after: float | None = None


FOREIGN: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""The errors that aiohttp raises without an answer: refused, closed or reset connection, timeout, bad certificate."""

_MAX_AFTER: Final = 60.0
_RETRY_AFTER_STATUSES: Final = frozenset({408, 429, 502, 503, 504})
_WHOSE: Final = "is this a broker's admin URL?"
_ANY: Final = frozenset(CallKind)
WRITES: Final = frozenset({CallKind.UPLOAD, CallKind.WRITE, CallKind.DELETE})
_ONLY_UPLOAD: Final = frozenset({CallKind.UPLOAD})

_Make = Callable[[str, int, float | None], TopicSchemaError]


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of the table. `pattern` is a regular expression, searched in the whole text of the broker.

    `has_reason` requires (True) or excludes (False) a text that the admin API itself wrote.
    """

    status: range
    calls: frozenset[CallKind]
    make: _Make
    pattern: str = ""
    has_reason: bool | None = None
    may_retry: bool = False

    def fits(self, call: CallKind, status: int, words: Words) -> bool:
        """Return True if the row applies to the answer."""
        if status not in self.status or call not in self.calls:
            return False
        if self.has_reason is not None and self.has_reason is not words.is_reason:
            return False
        return not self.pattern or re.search(self.pattern, words.whole) is not None


def _one(status: int) -> range:
    return range(status, status + 1)


def _refused(text: str, status: int, _: float | None) -> TopicSchemaError:
    return RefusedByBrokerError(text, status)


def _unavailable(text: str, _: int, after: float | None) -> TopicSchemaError:
    return BrokerUnavailableError(text, 5.0 if after is None else after)


def _unavailable_briefly(text: str, _: int, after: float | None) -> TopicSchemaError:
    return BrokerUnavailableError(text, 1.0 if after is None else after)


def _not_a_broker(text: str, _: int, after: float | None) -> TopicSchemaError:
    return NotABrokerError(f"{text} ({_WHOSE})", 30.0 if after is None else after)


def _plain(error: Callable[[str], TopicSchemaError]) -> _Make:
    return lambda text, _, __: error(text)


_PERMANENT: Final = (
    r"Invalid default|Can not resolve JsonSchema|Type not supported|No enum constant|NullPointerException"
    r"|StackOverflowError|IllegalArgumentException|ClassCastException|IndexOutOfBounds|BufferUnderflow"
    r"|org\.apache\.avro\.|com\.fasterxml\.jackson\.|com\.google\.gson\.|InvalidSchemaDataException"
)
# Texts of authorization, with 401 too, after a successful authentication; else the container's page is returned.
_NO_PERMISSION: Final = r"^Unauthorized to |[Pp]ermission|requires super-?user"
_TABLE: Final = (
    _Row(_one(401), _ANY, _plain(BrokerForbiddenError), _NO_PERMISSION, has_reason=True),
    _Row(_one(401), _ANY, _plain(BrokerUnauthorizedError)),
    _Row(_one(403), _ANY, _plain(BrokerForbiddenError)),
    _Row(_one(404), _ANY, _plain(TenantNotFoundError), r"Tenant (does not exist|not found)"),
    _Row(_one(404), _ANY, _plain(NamespaceNotFoundError), r"Namespace (does not exist|not found)"),
    _Row(_one(404), _ANY, _plain(TopicNotFoundError), r"[Tt]opic .*(not found|not exist|not yet)", has_reason=True),
    _Row(_one(404), _ANY, _plain(SchemaNotFoundError), r"^Schema (not found|is deleted)", has_reason=True),
    _Row(_one(404), _ANY, _not_a_broker),
    _Row(_one(409), _ANY, _unavailable_briefly, r"[Cc]oncurrent modification", may_retry=True),
    _Row(_one(409), _ONLY_UPLOAD, _refused),
    _Row(_one(409), _ANY, _unavailable_briefly, may_retry=True),
    _Row(_one(412), _ANY, _refused, r"is not valid|[Ii]nvalid"),
    _Row(_one(412), _ANY, _unavailable, may_retry=True),
    _Row(_one(408), _ANY, _unavailable, may_retry=True),
    _Row(_one(429), _ANY, _unavailable, may_retry=True),
    _Row(_one(405), _ANY, _refused, r"[Tt]opic level polic"),  # disabled for all topics
    _Row(range(400, 500), WRITES, _refused),
    _Row(range(400, 500), _ANY, _not_a_broker),
    _Row(_one(500), _ONLY_UPLOAD, _refused, _PERMANENT),
    _Row(_one(500), _ANY, _unavailable, may_retry=True),
    _Row(range(500, 600), _ANY, _unavailable, may_retry=True),
    _Row(range(1000), _ANY, _not_a_broker),
)


def from_answer(info: RequestInfo, status: int, headers: Mapping[str, str], body: bytes) -> BrokerFailure:
    """Return the meaning of an answer that is not 2xx."""
    words = words_of(body)
    row = next(each for each in _TABLE if each.fits(info.call, status, words))
    text = f"{info.request}: {status} {words.short or http.client.responses.get(status, '')}".rstrip()
    retry_after = _retry_after(headers) if status in _RETRY_AFTER_STATUSES else None
    return BrokerFailure(row.make(text, status, retry_after), row.may_retry, retry_after=retry_after)


def from_network_error(error: BaseException, info: RequestInfo) -> BrokerFailure:
    """Return the meaning of no answer."""
    where = info.broker
    if isinstance(error, TimeoutError):
        # A large listing may take long, so its timeout does not mean that the broker is unreachable.
        is_silent = info.call is not CallKind.LISTING
        return BrokerFailure(BrokerSilentError(f"{where}: no answer in time"), is_unreachable=is_silent)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or "the certificate is no good"
        return BrokerFailure(BrokerTLSVerificationFailedError(f"{where}: {reason[:200]}"))
    tls = _tls(error)
    if tls is not None:
        return BrokerFailure(_of_tls(tls, where))
    what = _NAMES.get(type(error), type(error).__name__)
    # TLS 1.3 refuses a client's certificate, or its absence, after the handshake: asyncio gets an EOF, but no reason.
    hint = "; does it want a client certificate?" if what == _ENDED and where.startswith("https:") else ""
    unavailable = BrokerUnavailableError(f"{where}: {what}{hint}")
    # The broker may have closed the connection for this policy's certificate, and accept another policy's.
    return BrokerFailure(unavailable, may_retry=True, is_unreachable=isinstance(error, aiohttp.ClientConnectorError))


def from_non_broker_response(info: RequestInfo, what: str) -> BrokerFailure:
    """Return the meaning of a 2xx answer that is not a broker's, for instance a login page."""
    return BrokerFailure(NotABrokerError(f"{info.broker}: {what}; {_WHOSE}"))


_ENDED: Final = "the connection ended before the answer"
_NAMES: Final[Mapping[type[BaseException], str]] = {
    aiohttp.ClientConnectorError: "no server answers at this address",
    aiohttp.ClientConnectorDNSError: "no such host",
    aiohttp.ClientConnectionError: _ENDED,
    aiohttp.ClientPayloadError: "the answer ended half way",
}


def _tls(error: BaseException) -> ssl.SSLError | None:
    """Return the error of OpenSSL that aiohttp's error wraps, or None."""
    cause: BaseException | None = getattr(error, "os_error", error)
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__
    return cause


def _of_tls(error: ssl.SSLError, where: str) -> TopicSchemaError:
    reason = (error.reason or type(error).__name__).replace("_", " ").lower()
    if "certificate" in reason or "unknown ca" in reason:
        return BrokerTLSVerificationFailedError(
            f"{where}: {reason} (the broker wants a client certificate that it trusts)"
        )
    return BrokerUnavailableError(f"{where}: no TLS there ({reason})", after=30.0)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of the header Retry-After (a number or a date), at most 60, or None without a valid one."""
    text = headers.get("Retry-After", "")
    try:
        seconds = float(text)
    except ValueError:
        until = _date(text)
        if until is None:
            return None
        # By the server's clock, if it sends a Date: ours may differ.
        seconds = (until - (_date(headers.get("Date", "")) or datetime.now(UTC))).total_seconds()
    # NaN compares with no number, and no clock ever reaches it.
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _MAX_AFTER)


def _date(text: str) -> datetime | None:
    """Return the parsed HTTP date, always in UTC (RFC 9110, section 5.6.7), or None if it is invalid."""
    try:
        return parsedate_to_datetime(text).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
