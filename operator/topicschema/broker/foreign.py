"""What a broker or the network answers instead of what was asked for, in our errors: the one table foreign to ours.

docs/broker.md has the table in words. Messages are for people: they say what was asked and what the broker called it,
in few characters. The broker quotes schemas in its refusals, so a text is cut where a quotation may begin.
"""

import asyncio
import html
import json
import re
import ssl
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final

import aiohttp

from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    NamespaceMissingError,
    RefusedByBrokerError,
    SchemaMissingError,
    TenantMissingError,
    TopicMissingError,
)
from topicschema.core.errors import TopicSchemaError


class Call(Enum):
    """The kinds of call, as far as the same status means something else."""

    READ = auto()
    UPLOAD = auto()
    WRITE = auto()


FOREIGN: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError, ssl.SSLError)
"""What aiohttp raises when no answer came: refused, cut, reset, timed out, or a certificate that is no good."""

_MAX_TEXT: Final = 200
_MAX_AFTER: Final = 60.0
_QUOTATION: Final = re.compile(r"[\n\r{\[\"'<]| : |: -?\d")
_MESSAGE: Final = re.compile(r"Message: ([^\n]*)")
_MISSING: Final = (
    ("Tenant does not exist", TenantMissingError),
    ("Namespace does not exist", NamespaceMissingError),
    ("Namespace not found", NamespaceMissingError),
    ("Schema not found", SchemaMissingError),
    ("Schema is deleted", SchemaMissingError),
)
_FOR_EVER: Final = (
    "Invalid default",
    "Can not resolve JsonSchema",
    "Type not supported",
    "No enum constant",
    "NullPointerException",
    "StackOverflowError",
    "IllegalArgumentException",
    "org.apache.avro.",
    "com.fasterxml.jackson.",
    "com.google.gson.",
)


def from_silence(error: BaseException, asked: str) -> TopicSchemaError:
    """The error for a request that got no answer; `asked` names the request, for instance `GET …/schema`."""
    if isinstance(error, TopicSchemaError):
        return error
    return BrokerUnavailableError(f"{asked}: {type(error).__name__}")


def from_answer(call: Call, status: int, headers: Mapping[str, str], body: bytes, asked: str) -> TopicSchemaError:
    """The error for an answer that is not 2xx."""
    words = _words(body)
    text = f"{asked}: {status} {_cut(words)}".rstrip()
    if status == 401:  # noqa: PLR2004 - this function is the table of HTTP's numbers
        return BrokerUnauthorizedError(text)
    if status == 403:  # noqa: PLR2004
        return BrokerForbiddenError(text)
    if status == 404:  # noqa: PLR2004
        return _not_found(words, text)
    if call is Call.UPLOAD and _is_for_ever(status, words):
        return RefusedByBrokerError(text, status)
    return BrokerUnavailableError(text, _after(headers, 5.0))


def _is_for_ever(status: int, words: str) -> bool:
    return status in {409, 413, 422} or (status == 500 and any(each in words for each in _FOR_EVER))  # noqa: PLR2004


def _not_found(words: str, text: str) -> TopicSchemaError:
    for known, error in _MISSING:
        if known in words:
            return error(text)
    if re.search(r"Topic \S+ not found", words):
        return TopicMissingError(text)
    return BrokerUnavailableError(f"{text} (is this a broker's admin URL?)")


def _words(body: bytes) -> str:
    try:
        told: Any = json.loads(body)
    except ValueError:
        return bytes(body[:2000]).decode(errors="replace")
    if not isinstance(told, dict):
        return ""
    reason = html.unescape(str(told.get("reason") or told.get("message") or ""))
    return reason[:8000]


def _cut(words: str) -> str:
    found = _MESSAGE.search(words)
    plain = found.group(1) if found else words.strip()
    end = _QUOTATION.search(plain)
    return (plain[: end.start()] if end else plain)[:_MAX_TEXT].strip()


def _after(headers: Mapping[str, str], default: float) -> float:
    try:
        return min(max(float(headers.get("Retry-After", "")), 0.0), _MAX_AFTER)
    except ValueError:
        return default
