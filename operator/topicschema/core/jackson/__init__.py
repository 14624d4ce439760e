"""JSON texts that are no Avro schema: what the broker's fallback for Jackson's JSON Schema makes of them.

Lines 4.0 and 4.1 try it where Avro does not parse a text of type JSON: at upload (StructSchemaDataValidator), and where
they compare with the latest version alone (JsonSchemaCompatibilityCheck). 4.2 does not, unless it is told to (PIP-464).
"""

from enum import StrEnum
from typing import Final

from topicschema.core.jackson import binding, json_values
from topicschema.core.jackson.json_values import Members, Number, Value


class Reading(StrEnum):
    """What a text of type JSON is to the broker."""

    AVRO = "Avro"
    JSON_SCHEMA = "JsonSchema"
    NEITHER = "Neither"
    FAILURE = "Failure"
    """Its outermost `type` is no JSON Schema's, for instance a broken Avro record: an exception nobody catches."""


_NAMES: Final = {True: "true", False: "false"}


def reading(text: bytes) -> Reading:
    """What the fallback makes of a text that Avro does not parse. What follows a first JSON value is overlooked."""
    try:
        kind = json_values.named_first(text)
        if kind is not None and kind not in binding.TYPES:
            return Reading.FAILURE
        return Reading.JSON_SCHEMA if binding.binds(json_values.first(text)) else Reading.NEITHER
    except ValueError:
        return Reading.NEITHER


def id_of(text: bytes) -> str | None:
    """The `id` of a JSON Schema, all that the broker compares of two; None without one. Of several the last counts."""
    value = json_values.first(text)
    if isinstance(value, list):
        value = value[1] if len(value) > 1 else None
    found = [each for name, each in value.pairs if name == "id"] if isinstance(value, Members) else []
    return _as_text(found[-1]) if found else None


def is_null(text: bytes) -> bool:
    """Whether the text is `null`, or a type alone in an array: a JSON Schema to the broker until it looks into it."""
    value = json_values.first(text)
    return value is None or (isinstance(value, list) and len(value) == 1)


def _as_text(scalar: Value) -> str | None:
    """A scalar as Jackson puts it into a string."""
    if isinstance(scalar, Number):
        return scalar.text
    return _NAMES[scalar] if isinstance(scalar, bool) else scalar if isinstance(scalar, str) else None
