"""JSON texts that are not Avro schemas, in the broker's fallback for Jackson's JSON Schema.

Pulsar 4.0 and 4.1 try it if Avro does not parse a text of type JSON: at upload (StructSchemaDataValidator), and if they
compare with the latest version alone (JsonSchemaCompatibilityCheck). Later ones do not, unless configured (PIP-464).
"""

from enum import StrEnum
from typing import Final

from topicschema.core.jackson import binding, json_values
from topicschema.core.jackson.json_values import Members, Number, Value


class TextReading(StrEnum):
    """The broker's classification of a text of type JSON."""

    AVRO = "Avro"
    JSON_SCHEMA = "JsonSchema"
    NEITHER = "Neither"
    FAILURE = "Failure"
    """Its outermost `type` is not one of JSON Schema, as in a broken Avro record: the broker throws an exception."""


_NAMES: Final = {True: "true", False: "false"}


def reading(text: bytes) -> TextReading:
    """Return the fallback's classification of a text that Avro does not parse.

    It ignores what follows a first JSON value.
    """
    try:
        kind = json_values.named_first(text)
        if kind is not None and kind not in binding.TYPES:
            return TextReading.FAILURE
        return TextReading.JSON_SCHEMA if binding.binds(json_values.first(text)) else TextReading.NEITHER
    except ValueError:
        return TextReading.NEITHER


def id_of(text: bytes) -> str | None:
    """Return the `id` of a JSON Schema, or None.

    The broker compares nothing else. If there are several, the last counts.
    """
    value = json_values.first(text)
    if isinstance(value, list):
        value = value[1] if len(value) > 1 else None
    ids = [each for name, each in value.pairs if name == "id"] if isinstance(value, Members) else []
    return _as_text(ids[-1]) if ids else None


def is_null(text: bytes) -> bool:
    """Return True if the text is `null` or a type alone in an array.

    The broker takes both for a JSON Schema at first.
    """
    value = json_values.first(text)
    return value is None or (isinstance(value, list) and len(value) == 1)


def _as_text(scalar: Value) -> str | None:
    """Return a scalar as the string that Jackson makes of it."""
    if isinstance(scalar, Number):
        return scalar.text
    return _NAMES[scalar] if isinstance(scalar, bool) else scalar if isinstance(scalar, str) else None
