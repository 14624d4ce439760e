"""Values of the primitive types as JSON, and back."""

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.schemas import Schema, SchemaType
from topicschema.payload.codec import refused, wrong_type
from topicschema.payload.display_json import times

_SPECIAL: Final[Mapping[str, float]] = MappingProxyType({"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf})


def to_json(schema: Schema, value: Any) -> Any:
    """Return the JSON of a value of a primitive type."""
    return _FORMS.get(schema.info.type, (_same, _same))[0](value)


def of_json(schema: Schema, value: Any) -> Any:
    """Return the value. The codec refuses values that do not fit."""
    return _FORMS.get(schema.info.type, (_same, _same))[1](value)


def number_text(value: float) -> float | str:
    """Return a floating-point number, or a text if JSON has no such number."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number(value: Any) -> Any:
    """Return a floating-point number, also for a text that JSON has no number for."""
    return _SPECIAL.get(value, value) if isinstance(value, str) else value


def bytes_text(value: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(value).decode()


def bytes_of(value: Any, path: str = "$") -> bytes:
    """Return the bytes of a base64 text. Raises InvalidPayloadError WRONG_TYPE or INVALID_BASE64."""
    if not isinstance(value, str):
        raise wrong_type("a text in base64 for bytes", value, path)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise refused("INVALID_BASE64", "the text is not base64", path) from None


def _same(value: Any) -> Any:
    return value


_Form = tuple[Callable[[Any], Any], Callable[[Any], Any]]
_FORMS: Final[Mapping[SchemaType, _Form]] = MappingProxyType(
    {
        SchemaType.NONE: (bytes_text, bytes_of),
        SchemaType.BYTES: (bytes_text, bytes_of),
        SchemaType.FLOAT: (number_text, number),
        SchemaType.DOUBLE: (number_text, number),
        SchemaType.INSTANT: (times.instant_text, times.instant),
        SchemaType.LOCAL_DATE: (times.date, times.days),
        SchemaType.LOCAL_TIME: (times.time, times.nanos),
        SchemaType.LOCAL_DATE_TIME: (times.date_time, times.local_date_time),
        **dict.fromkeys((SchemaType.DATE, SchemaType.TIME, SchemaType.TIMESTAMP), (times.millis_text, times.millis)),
    }
)
"""Conversions to and from JSON, if they differ from the value."""
