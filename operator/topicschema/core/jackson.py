"""JSON texts that are no Avro schema: what the broker's fallback for Jackson's JSON Schema makes of them.

Lines 4.0 and 4.1 try it where Avro does not parse a text of type JSON: at upload (StructSchemaDataValidator), and where
they compare with the latest version alone (JsonSchemaCompatibilityCheck). 4.2 does not, unless it is told to (PIP-464).
"""

import json
import re
from enum import StrEnum
from typing import Any, Final

_OPENED, _COLON, _COMMA = re.compile(r"\{\s*"), re.compile(r"\s*:\s*"), re.compile(r"\s*,\s*")
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
        kind = _type_of(text)
    except ValueError:
        return Reading.NEITHER
    if isinstance(kind, str | bool | int | float) and kind not in _TYPES:
        return Reading.FAILURE
    try:
        value = _first_value(text)
    except ValueError:
        return Reading.NEITHER
    return Reading.JSON_SCHEMA if isinstance(kind, str) or value is None else Reading.NEITHER


def id_of(text: bytes) -> str | None:
    """The `id` of a JSON Schema, all that the broker compares of two; None without one."""
    value = _first_value(text)
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def is_null(text: bytes) -> bool:
    """Whether the text is `null`, which the broker takes for a JSON Schema until it looks into it."""
    return _first_value(text) is None


def _type_of(text: bytes) -> Any:
    """The first member `type` of an object, None without one; Jackson asks for it before it reads what follows.

    ValueError where the text is no JSON up to there.
    """
    written = _written(text)
    place = _OPENED.match(written)
    while place is not None:
        name, end = _value_at(written, place.end())
        colon = _COLON.match(written, end)
        if colon is None:
            break
        value, end = _value_at(written, colon.end())
        if name == "type":
            return value
        place = _COMMA.match(written, end)
    return None


def _first_value(text: bytes) -> Any:
    return _value_at(_written(text), 0)[0]


def _written(text: bytes) -> str:
    return text.decode("utf-8-sig").lstrip()


def _value_at(text: str, start: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(parse_constant=_not_json).raw_decode(text, start)
    except RecursionError:
        raise ValueError("too deep") from None


def _not_json(constant: str) -> None:
    """NaN and Infinity, which Python reads."""
    raise ValueError(constant)
