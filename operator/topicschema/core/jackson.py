"""JSON texts that are no Avro schema: what the broker's fallback for Jackson's JSON Schema makes of them.

Lines 4.0 and 4.1 try it where Avro does not parse a text of type JSON: at upload (StructSchemaDataValidator), and where
they compare with the latest version alone (JsonSchemaCompatibilityCheck). 4.2 does not, unless it is told to (PIP-464).
"""

import json
from enum import StrEnum
from typing import Any, Final

_TYPES: Final = frozenset({"any", "array", "boolean", "integer", "null", "number", "object", "string"})


class Reading(StrEnum):
    """What a text of type JSON is to the broker."""

    AVRO = "Avro"
    JSON_SCHEMA = "JsonSchema"
    NEITHER = "Neither"
    FAILURE = "Failure"
    """An object whose `type` is no JSON Schema's, for instance a broken Avro record: an exception nobody catches."""


def reading(text: bytes) -> Reading:
    """What the fallback makes of a text that Avro does not parse. What follows a first JSON value is overlooked."""
    try:
        value = _first_value(text)
    except ValueError:
        return Reading.NEITHER
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str):
        return Reading.JSON_SCHEMA if kind in _TYPES else Reading.FAILURE
    return Reading.JSON_SCHEMA if value is None else Reading.NEITHER


def id_of(text: bytes) -> str | None:
    """The `id` of a JSON Schema, all that the broker compares of two; None without one."""
    value = _first_value(text)
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def is_null(text: bytes) -> bool:
    """Whether the text is `null`, which the broker takes for a JSON Schema until it looks into it."""
    return _first_value(text) is None


def _first_value(text: bytes) -> Any:
    try:
        value, _ = json.JSONDecoder().raw_decode(text.decode("utf-8-sig").lstrip())
    except RecursionError:
        raise ValueError("too deep") from None
    return value
