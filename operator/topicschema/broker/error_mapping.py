"""What a broker or the network answers instead of what was asked for, in our errors: the one table foreign to ours.

docs/broker.md has the same table in words. Messages are for people: they say what was asked and what the broker called
it, in few characters. The broker quotes schemas in its refusals, so a text is cut where a quotation may begin.
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
    RefusedByBrokerError,
    SchemaNotFoundError,
    TenantNotFoundError,
    TopicNotFoundError,
)
from topicschema.core.errors import TopicSchemaError


class Call(Enum):
    """The kinds of call, as far as one status means different things."""

    READ = auto()
    LISTING = auto()  # a read of much at once, which may take a broker longer than it is waited for
    UPLOAD = auto()
    WRITE = auto()
    DELETE = auto()


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked, for the words of an error: the request, and the broker where it is nobody else's matter."""

    call: Call
    request: str
    broker: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """What an answer, or its absence, means: our error, and whether the same request may be sent again at once.

    `is_unreachable`: there was no answer, and nobody else would have got one. `wanted` are the seconds for which the
    broker asked to be left alone, None where it did not.
    """

    error: TopicSchemaError
    is_repeated: bool = False
    is_unreachable: bool = False
    wanted: float | None = None


FOREIGN: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""What aiohttp raises when no answer came: refused, cut, reset, timed out, or a certificate that is no good."""

_MAX_AFTER: Final = 60.0
_PATIENT: Final = frozenset({408, 429, 502, 503, 504})
_WHOSE: Final = "is this a broker's admin URL?"
_ANY: Final = frozenset(Call)
WRITES: Final = frozenset({Call.UPLOAD, Call.WRITE, Call.DELETE})
_ONLY_UPLOAD: Final = frozenset({Call.UPLOAD})

_Make = Callable[[str, int, float | None], TopicSchemaError]


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the table. `pattern` is looked for in all that the broker said; `bare` wants an answer of its own."""

    status: range
    calls: frozenset[Call]
    make: _Make
    pattern: str = ""
    has_reason: bool | None = None
    is_repeated: bool = False

    def fits(self, call: Call, status: int, words: Words) -> bool:
        """Whether the line is about that answer."""
        if status not in self.status or call not in self.calls:
            return False
        if self.has_reason is not None and self.has_reason is not words.is_reason:
            return False
        return not self.pattern or re.search(self.pattern, words.whole) is not None


def _one(status: int) -> range:
    return range(status, status + 1)


def _refused(text: str, status: int, _: float | None) -> TopicSchemaError:
    return RefusedByBrokerError(text, status)


def _away(text: str, _: int, after: float | None) -> TopicSchemaError:
    return BrokerUnavailableError(text, 5.0 if after is None else after)


def _soon(text: str, _: int, after: float | None) -> TopicSchemaError:
    return BrokerUnavailableError(text, 1.0 if after is None else after)


def _stranger(text: str, _: int, after: float | None) -> TopicSchemaError:
    return BrokerUnavailableError(f"{text} ({_WHOSE})", 30.0 if after is None else after)


def _plain(error: Callable[[str], TopicSchemaError]) -> _Make:
    return lambda text, _, __: error(text)


_PERMANENT: Final = (
    r"Invalid default|Can not resolve JsonSchema|Type not supported|No enum constant|NullPointerException"
    r"|StackOverflowError|IllegalArgumentException|ClassCastException|IndexOutOfBounds|BufferUnderflow"
    r"|org\.apache\.avro\.|com\.fasterxml\.jackson\.|com\.google\.gson\.|InvalidSchemaDataException"
)
# What authorization says, with 401 too, to those whom authentication let in; a stranger gets the container's page.
_NO_PERMISSION: Final = r"^Unauthorized to |[Pp]ermission|requires super-?user"
_TABLE: Final = (
    _Row(_one(401), _ANY, _plain(BrokerForbiddenError), _NO_PERMISSION, has_reason=True),
    _Row(_one(401), _ANY, _plain(BrokerUnauthorizedError)),
    _Row(_one(403), _ANY, _plain(BrokerForbiddenError)),
    _Row(_one(404), _ANY, _plain(TenantNotFoundError), r"Tenant (does not exist|not found)"),
    _Row(_one(404), _ANY, _plain(NamespaceNotFoundError), r"Namespace (does not exist|not found)"),
    _Row(_one(404), _ANY, _plain(TopicNotFoundError), r"[Tt]opic .*(not found|not exist|not yet)", has_reason=True),
    _Row(_one(404), _ANY, _plain(SchemaNotFoundError), r"^Schema (not found|is deleted)", has_reason=True),
    _Row(_one(404), _ANY, _stranger),
    _Row(_one(409), _ANY, _soon, r"[Cc]oncurrent modification", is_repeated=True),
    _Row(_one(409), _ONLY_UPLOAD, _refused),
    _Row(_one(409), _ANY, _soon, is_repeated=True),
    _Row(_one(412), _ANY, _refused, r"is not valid|[Ii]nvalid"),
    _Row(_one(412), _ANY, _away, is_repeated=True),
    _Row(_one(408), _ANY, _away, is_repeated=True),
    _Row(_one(429), _ANY, _away, is_repeated=True),
    _Row(_one(405), _ANY, _refused, r"[Tt]opic level polic"),  # it has switched them off, for all of its topics
    _Row(range(400, 500), WRITES, _refused),
    _Row(range(400, 500), _ANY, _stranger),
    _Row(_one(500), _ONLY_UPLOAD, _refused, _PERMANENT),
    _Row(_one(500), _ANY, _away, is_repeated=True),
    _Row(range(500, 600), _ANY, _away, is_repeated=True),
    _Row(range(1000), _ANY, _stranger),
)


def from_answer(asked: Asked, status: int, headers: Mapping[str, str], body: bytes) -> Trouble:
    """The meaning of an answer that is not 2xx."""
    words = words_of(body)
    row = next(each for each in _TABLE if each.fits(asked.call, status, words))
    text = f"{asked.request}: {status} {words.short or http.client.responses.get(status, '')}".rstrip()
    wanted = _retry_after(headers) if status in _PATIENT else None
    return Trouble(row.make(text, status, wanted), row.is_repeated, wanted=wanted)


def from_silence(error: BaseException, asked: Asked) -> Trouble:
    """The meaning of no answer."""
    where = asked.broker
    if isinstance(error, TimeoutError):
        # Much may take long to list: that it did does not say whether anybody is there.
        is_silent = asked.call is not Call.LISTING
        return Trouble(BrokerSilentError(f"{where}: no answer in time"), is_unreachable=is_silent)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        found = getattr(error.certificate_error, "verify_message", "") or "the certificate is no good"
        return Trouble(BrokerTLSVerificationFailedError(f"{where}: {found[:200]}"))
    tls = _tls(error)
    if tls is not None:
        return Trouble(_of_tls(tls, where))
    what = _NAMES.get(type(error), type(error).__name__)
    # TLS 1.3 refuses a client's certificate, or its absence, after the handshake: asyncio sees the end and no reason.
    hint = "; does it want a client certificate?" if what == _ENDED and where.startswith("https:") else ""
    unavailable = BrokerUnavailableError(f"{where}: {what}{hint}")
    # One that ends may be about our certificate, and the broker takes another policy's.
    return Trouble(unavailable, is_repeated=True, is_unreachable=isinstance(error, aiohttp.ClientConnectorError))


def from_stranger(asked: Asked, what: str) -> Trouble:
    """The meaning of a 2xx answer that no broker would give, for instance a login page."""
    return Trouble(BrokerUnavailableError(f"{asked.broker}: {what}; {_WHOSE}", after=30.0))


_ENDED: Final = "the connection ended before the answer"
_NAMES: Final[Mapping[type[BaseException], str]] = {
    aiohttp.ClientConnectorError: "nobody answers at this address",
    aiohttp.ClientConnectorDNSError: "no such host",
    aiohttp.ClientConnectionError: _ENDED,
    aiohttp.ClientPayloadError: "the answer ended half way",
}


def _tls(error: BaseException) -> ssl.SSLError | None:
    """What OpenSSL said, out of what aiohttp wraps around it."""
    around: BaseException | None = getattr(error, "os_error", error)
    while around is not None and not isinstance(around, ssl.SSLError):
        around = around.__cause__
    return around


def _of_tls(error: ssl.SSLError, where: str) -> TopicSchemaError:
    told = (error.reason or type(error).__name__).replace("_", " ").lower()
    if "certificate" in told or "unknown ca" in told:
        return BrokerTLSVerificationFailedError(
            f"{where}: {told} (the broker wants a client certificate that it trusts)"
        )
    return BrokerUnavailableError(f"{where}: no TLS there ({told})", after=30.0)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the answer asks us to wait, at most a minute, by a number or a date; None where it does not."""
    text = headers.get("Retry-After", "")
    try:
        wanted = float(text)
    except ValueError:
        until = _date(text)
        if until is None:
            return None
        # By the clock of who answers, where it tells: ours may be another one.
        wanted = (until - (_date(headers.get("Date", "")) or datetime.now(UTC))).total_seconds()
    # No number is neither more nor less than another, and no clock ever comes to it.
    return None if math.isnan(wanted) else min(max(wanted, 0.0), _MAX_AFTER)


def _date(text: str) -> datetime | None:
    """The date as HTTP writes it (RFC 9110, section 5.6.7), which is always in UTC; None where it is none."""
    try:
        return parsedate_to_datetime(text).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
