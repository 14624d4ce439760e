"""What the API server or the network answers instead of an object, in our errors: the one table foreign to ours.

Messages are for people: they say what was asked and what the API server called it, in few characters, and never repeat
an object. A validation message quotes the value it refuses, so of those only the field paths are kept.
"""

import asyncio
import json
import math
from collections.abc import Mapping
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
"""What aiohttp raises when no answer came: refused, cut, reset, timed out (`TimeoutError` is one of these)."""

_MAX_TEXT = 300
_MAX_CAUSES = 5
_MAX_AFTER = 60.0
# A 500 that the same request gets for ever: etcd's and gRPC's limits, and an apply that does not fit the CRD.
_REFUSED_FOR_EVER = (
    "request is too large",
    "ResourceExhausted",
    "field not declared in schema",
    "failed to create typed patch object",
)


def from_silence(error: BaseException, asked: str) -> ApiUnavailableError:
    """The error for a request that got no answer; `asked` names the request, for instance `GET leases ns/name`."""
    what = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    return ApiUnavailableError(f"{asked}: {what}")


def from_answer(status: int, headers: Mapping[str, str], body: bytes | bytearray, asked: str) -> TopicSchemaError:
    """The error for an answer that is not 2xx. `body` is a Status, or plain text where something before it answered."""
    told = _status(body)
    text = f"{asked}: {status} {_words(told, body)}"
    if status == 404:  # noqa: PLR2004 - this function is the table of HTTP's numbers
        return _not_found(told, text)
    if status == 409:  # noqa: PLR2004
        return ConflictError(f"{asked}: {told.get('reason') or 'Conflict'}"[:_MAX_TEXT])
    if status in {401, 403}:
        return ForbiddenError(text)
    if status == 429:  # noqa: PLR2004
        return ThrottledError(text, _after(headers, 1.0))
    if status in {408, 410} or (status >= 500 and not any(words in text for words in _REFUSED_FOR_EVER)):  # noqa: PLR2004
        return ApiUnavailableError(text, _after(headers, 5.0))
    return ApiRefusedError(text, status)


def _not_found(told: Mapping[str, Any], text: str) -> TopicSchemaError:
    """An absent object is only believed when the API server names it.

    A path that is not served (no CRD, still starting, something else behind the address) is 404 as well, and a history
    taken for absent would let any schema pass.
    """
    details = told.get("details")
    if told.get("reason") == "NotFound" and isinstance(details, dict) and details.get("name"):
        return NotFoundError(text)
    return ApiUnavailableError(f"{text} (is the CRD installed?)")


def _status(body: bytes | bytearray) -> Mapping[str, Any]:
    try:
        told = json.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) and told.get("kind") == "Status" else {}


def _words(told: Mapping[str, Any], body: bytes | bytearray) -> str:
    """The answer in few words: a refusal of values by its fields, anything else by its message."""
    if not told:
        return bytes(body[:_MAX_TEXT]).decode(errors="replace").strip()
    details = told.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    if told.get("reason") == "Invalid":
        fields = [str(cause.get("field", ""))[:80] for cause in causes or () if isinstance(cause, dict)]
        return f"Invalid: {', '.join(fields[:_MAX_CAUSES]) or 'the object'}"
    return f"{told.get('reason', '')}: {told.get('message', '')}"[:_MAX_TEXT]


def _after(headers: Mapping[str, str], default: float) -> float:
    try:
        wanted = float(headers.get("Retry-After", ""))
    except ValueError:
        return default
    # No number is neither more nor less than another, and no clock ever comes to it.
    return default if math.isnan(wanted) else min(max(wanted, 0.0), _MAX_AFTER)
