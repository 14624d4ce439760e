"""Values as JSON for people, by any schema, and back: `topicschema decode` and `encode`.

It is not the encoding of payloads of type JSON (see `payload.json`), but agrees with it. Bytes are base64, NaN and the
infinities are texts, a union's value has no wrapper. Numbers may be of any size, though some readers of JSON have
limits. Points in time are ISO 8601, as java.time writes them. Input and output are values, not text.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.key_value import Side
from topicschema.core.schemas import Schema, SchemaType
from topicschema.payload.codec import wrong_type
from topicschema.payload.display_json import avro, primitives
from topicschema.payload.key_value import Pair

__all__ = ["of_json", "to_json"]


def to_json(schema: Schema, value: Any) -> Any:
    """Return the JSON of a decoded value.

    Raises InvalidPayloadError TOO_DEEP if it is nested deeper than JSON allows.
    """
    if value is None:
        return None
    if schema.info.type is SchemaType.KEY_VALUE:
        return {side.value: to_json(part, each) for side, part, each in _parts(schema, value)}
    return _form(schema)[0](schema, value)


def of_json(schema: Schema, value: Any) -> Any:
    """Return the value for `encode`. Raises InvalidPayloadError with the path of the first value that does not fit."""
    if value is None:
        return None
    if schema.info.type is not SchemaType.KEY_VALUE:
        return _form(schema)[1](schema, value)
    if not isinstance(value, dict) or value.keys() != {"key", "value"}:
        raise wrong_type("an object with the members key and value", value)
    return Pair(*(_part(side, part, value[side.value]) for side, part, _ in _parts(schema, (None, None))))


def _part(side: Side, schema: Schema, value: Any) -> Any:
    try:
        return of_json(schema, value)
    except InvalidPayloadError as error:
        raise InvalidPayloadError(error.rule, error.message, f"$.{side}{error.path[1:]}") from None


def _parts(schema: Any, value: Any) -> tuple[tuple[Side, Schema, Any], ...]:
    return (Side.KEY, schema.key, value[0]), (Side.VALUE, schema.value, value[1])


def _form(schema: Schema) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return _FORMS.get(schema.info.type, (primitives.to_json, primitives.of_json))


def _native(schema: Any, value: Any, *, inwards: bool) -> Any:
    # Imported here: importing google.protobuf takes a third of the command line's start.
    from topicschema.payload.display_json import protobuf  # noqa: PLC0415  # see above

    return (protobuf.of_json if inwards else protobuf.to_json)(schema, value)


_FORMS: Final[Mapping[SchemaType, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]]] = MappingProxyType(
    {
        **dict.fromkeys((SchemaType.AVRO, SchemaType.JSON), (avro.to_json, avro.of_json)),
        **dict.fromkeys(
            (SchemaType.PROTOBUF, SchemaType.PROTOBUF_NATIVE),
            (
                lambda schema, value: _native(schema, value, inwards=False),
                lambda schema, value: _native(schema, value, inwards=True),
            ),
        ),
    }
)
"""Conversions to and from JSON, for types that are no primitives."""
