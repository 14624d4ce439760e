"""Mapping of the API server's and the network's errors to `cluster.errors`.

A message names the request and the API server's reason, in few characters, and never repeats an object. A validation
message quotes the refused value, so only its field paths are used.
"""

import asyncio
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp

from topicschema.cluster.errors import (
    ApiRefusedError,
    ApiUnavailableError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    ThrottledError,
)
from topicschema.core.errors import TopicSchemaError

FOREIGN = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""Errors of aiohttp for a request without a response: refused, cut, reset, timed out (`TimeoutError` is included)."""

_MAX_TEXT = 300
_MAX_CAUSES = 5
_MAX_AFTER = 60.0
# Texts of a 500 that the same request always gets: limits of etcd and gRPC, and an apply that does not fit the CRD.
_REFUSED_FOR_EVER = (
    "request is too large",
    "ResourceExhausted",
    "field not declared in schema",
    "failed to create typed patch object",
)


def from_network_error(error: BaseException, request: str) -> ApiUnavailableError:
    """Return the error for a request without a response.

    `request` names the request, for instance `GET leases ns/name`.
    """
    what = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    return ApiUnavailableError(f"{request}: {what}")


def from_answer(status: int, headers: Mapping[str, str], body: bytes | bytearray, request: str) -> TopicSchemaError:
    """Return the error for a response that is not 2xx. `body` is a Status, or plain text from a proxy."""
    status_body = _status(body)
    text = f"{request}: {status} {_words(status_body, body)}"
    if status == 404:  # noqa: PLR2004 - this function is the table of HTTP's numbers
        return _not_found(status_body, text)
    if status == 409:  # noqa: PLR2004
        return ConflictError(f"{request}: {status_body.get('reason') or 'Conflict'}"[:_MAX_TEXT])
    if status in {401, 403}:
        return ForbiddenError(text)
    if status == 429:  # noqa: PLR2004
        return ThrottledError(text, _after(headers, 1.0))
    if status in {408, 410} or (status >= 500 and not any(words in text for words in _REFUSED_FOR_EVER)):  # noqa: PLR2004
        return ApiUnavailableError(text, _after(headers, 5.0))
    return ApiRefusedError(text, status, tuple(_causes(status_body)))


def _not_found(status_body: Mapping[str, Any], text: str) -> TopicSchemaError:
    """Return NotFoundError only if the API server names the absent object.

    A path that is not served (no CRD, still starting, another server behind the address) is 404 as well. A history
    wrongly considered absent would let any schema through.
    """
    details = status_body.get("details")
    if status_body.get("reason") == "NotFound" and isinstance(details, dict) and details.get("name"):
        return NotFoundError(text)
    return ApiUnavailableError(f"{text} (is the CRD installed?)")


def _status(body: bytes | bytearray) -> Mapping[str, Any]:
    try:
        status_body = json.loads(body)
    except ValueError:
        return {}
    return status_body if isinstance(status_body, dict) and status_body.get("kind") == "Status" else {}


def _words(status_body: Mapping[str, Any], body: bytes | bytearray) -> str:
    """Describe the response briefly: a refusal of values by its fields, any other response by its message."""
    if not status_body:
        return bytes(body[:_MAX_TEXT]).decode(errors="replace").strip()
    details = status_body.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    if status_body.get("reason") == "Invalid":
        fields = [str(cause.get("field", ""))[:80] for cause in causes or () if isinstance(cause, dict)]
        return f"Invalid: {', '.join(fields[:_MAX_CAUSES]) or 'the object'}"
    return f"{status_body.get('reason', '')}: {status_body.get('message', '')}"[:_MAX_TEXT]


def _causes(status_body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    details = status_body.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes or ():
        if isinstance(cause, dict):
            yield str(cause.get("field") or ""), str(cause.get("message") or "")


def _after(headers: Mapping[str, str], default: float) -> float:
    try:
        seconds = float(headers.get("Retry-After", ""))
    except ValueError:
        return default
    # NaN compares as neither more nor less, and no timer ever reaches it.
    return default if math.isnan(seconds) else min(max(seconds, 0.0), _MAX_AFTER)
