"""Pulsar's answers as values: JSON, statuses and error bodies of its admin REST API.

Source: Pulsar's SchemasResourceBase, NamespacesBase and PulsarWebResource (Pulsar 4.0).
"""

import html
import json
import math
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final

from aiohttp import web

from topicschema.core.formats import key_value
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import SchemaInfo, SchemaType

_JSON: Final = "application/json"
_MOST_PHRASE: Final = 400
INCOMPATIBLE: Final = "org.apache.pulsar.broker.service.schema.exceptions.IncompatibleSchemaException"
INVALID: Final = "org.apache.pulsar.broker.service.schema.exceptions.InvalidSchemaDataException"
_TEXTS: Final = {SchemaType.NONE, SchemaType.BYTES, SchemaType.STRING}


class Form(Enum):
    """The form of an error's body: `{"reason": ...}`, the page of Pulsar's servlet container, or plain text."""

    REASON = auto()
    PAGE = auto()
    TEXT = auto()


class RestError(Exception):
    """An answer that is no success. `message` is for people."""

    def __init__(
        self, status: int, message: str, form: Form = Form.REASON, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.form = status, message, form
        self.headers: Mapping[str, str] = headers or {}


def not_found(what: str = "Schema not found") -> RestError:
    """Return the error of something that does not exist, in the broker's words."""
    return RestError(404, what)


def failure(message: str, exception: str = "java.lang.IllegalArgumentException") -> RestError:
    """Return the broker's 500 for a mistake of the client that it does not foresee. Clients read the exception."""
    banner = "\n --- An unexpected error occurred in the server ---\n\n"
    return RestError(500, f"{banner}Message: {message}\n\nStacktrace:\n\n{exception}: {message}\n")


def unavailable(message: str, after: float) -> RestError:
    """Return the error of an answer that is not possible now, but may be after some seconds."""
    return RestError(503, message, headers={"Retry-After": str(max(1, round(after)))})


def of_json(value: Any, status: int = 200) -> web.Response:
    """Return the value as an answer."""
    return web.json_response(value, status=status)


def of_error(error: RestError, path: str, accepted: str) -> web.Response:
    """Return the error as an answer to a client that accepts these media types."""
    headers = dict(error.headers)
    if error.form is Form.REASON:
        return web.json_response({"reason": error.message}, status=error.status, headers=headers)
    if error.form is Form.TEXT:
        return web.Response(status=error.status, text=error.message, headers=headers)
    phrase = "".join(each if " " <= each <= "~" else "?" for each in error.message)[:_MOST_PHRASE]
    shown = html.escape(error.message)
    if _JSON in accepted:
        page = {"servlet": "topicschema", "message": shown, "url": path, "status": str(error.status)}
        return web.json_response(page, status=error.status, reason=phrase, headers=headers)
    page_text = f"<html><body><h2>HTTP ERROR {error.status} {shown}</h2></body></html>\n"
    return web.Response(status=error.status, reason=phrase, text=page_text, content_type="text/html", headers=headers)


def of_version(version: RemoteVersion, timestamp: int) -> dict[str, Any]:
    """Return a GetSchemaResponse. `timestamp` is in milliseconds."""
    info = version.info
    return {
        "version": version.schema_version,
        "type": info.type.value,
        "timestamp": timestamp,
        "data": shown(info),
        "properties": dict(info.properties),
    }


def shown(info: SchemaInfo) -> str:
    """Return the text of a schema as a GET shows it.

    The broker parses the parts of a pair, so that a fraction gets Java's spelling. A primitive part is empty.
    """
    if info.type is not SchemaType.KEY_VALUE:
        return info.schema.decode(errors="replace")
    parts = {side.value: _part(part.info) for side, part in key_value.decode(info).parts}
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def _part(info: SchemaInfo) -> Any:
    if not info.schema or info.type in _TEXTS:
        return ""
    try:
        return json.loads(info.schema, parse_float=_fraction)
    except (ValueError, RecursionError):
        raise failure("a part of the pair is not JSON", "com.google.gson.JsonSyntaxException") from None


def _fraction(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"
