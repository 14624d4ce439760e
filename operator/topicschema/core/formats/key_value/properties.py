"""The properties of a KEY_VALUE schema that describe its parts: types, names, their own properties, and the encoding.

Source: Pulsar's KeyValueSchemaInfo and SchemaUtils (Pulsar 4.0). A missing property has a default; a missing type is
BYTES.
"""

from collections.abc import Mapping
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.formats.key_value import gson, payload
from topicschema.core.formats.key_value.model import Encoding, KeyValue, Part, Side
from topicschema.core.schemas import EXTERNAL, SchemaInfo, SchemaType

_ENCODING: Final = "kv.encoding.type"
_WORDS: Final = {True: "true", False: "false"}


def decode(info: SchemaInfo) -> KeyValue:
    """Return the pair that a broker reads from a SchemaInfo of type KEY_VALUE. The parts are not parsed.

    Raises InvalidSchemaError KEY_VALUE_PAYLOAD, UNKNOWN_PART_TYPE, NESTED_KEY_VALUE or PART_PROPERTIES.
    """
    key, value = payload.split(info.schema)
    name = info.properties.get(_ENCODING) or Encoding.INLINE.value
    return KeyValue(
        key=_part(info.properties, Side.KEY, key),
        value=_part(info.properties, Side.VALUE, value),
        encoding=Encoding(name) if name in Encoding.__members__ else None,
    )


def has_keys_apart(info: SchemaInfo) -> bool:
    """Return True if messages of this schema have their keys outside the payload: a pair that is SEPARATED."""
    return info.type is SchemaType.KEY_VALUE and info.properties.get(_ENCODING) == Encoding.SEPARATED.value


def encode(pair: KeyValue, properties: Mapping[str, str] | None = None) -> SchemaInfo:
    """Return the SchemaInfo that Pulsar's Java client makes of a pair, with additional `properties` of the topic.

    The parts' bytes are used as they are. `rest_form.compacted` converts them as an upload over REST does.
    """
    written = dict(properties or {})
    for side, part in pair.parts:
        written[f"{side}.schema.name"] = part.name
        written[f"{side}.schema.type"] = part.info.type.value
        written[f"{side}.schema.properties"] = _written(part.info.properties)
    if pair.encoding is not None:
        written[_ENCODING] = pair.encoding.value
    return SchemaInfo(SchemaType.KEY_VALUE, payload.join(pair.key.info.schema, pair.value.info.schema), written)


def _part(properties: Mapping[str, str], side: Side, schema: bytes) -> Part:
    info = SchemaInfo(_type(properties, side), schema, _properties(properties, side))
    return Part(info, properties.get(f"{side}.schema.name", ""))


def _type(properties: Mapping[str, str], side: Side) -> SchemaType:
    member = f"{side}.schema.type"
    name = properties.get(member, SchemaType.BYTES.value)
    if name == SchemaType.KEY_VALUE:
        message = f"the {side} is a KEY_VALUE itself, which cannot be sent to a broker over REST; make it a record"
        raise InvalidSchemaError("NESTED_KEY_VALUE", message, Place(f"$.{side}"))
    if name not in SchemaType.__members__:
        if name == EXTERNAL:
            message = f"the property {member} is EXTERNAL, a type of Pulsar 4.1 and later that is not taken here"
            raise InvalidSchemaError("UNKNOWN_PART_TYPE", message, Place(f"$.{side}"))
        known = ", ".join(kind for kind in SchemaType if not kind.startswith(("AUTO", "KEY_VALUE")))
        message = f"the property {member} is no name of a schema type (upper case; one of {known})"
        raise InvalidSchemaError("UNKNOWN_PART_TYPE", message, Place(f"$.{side}"))
    return SchemaType(name)


def _properties(properties: Mapping[str, str], side: Side) -> Mapping[str, str]:
    member = f"{side}.schema.properties"
    text = properties.get(member)
    if not text:
        return {}
    try:
        values = gson.read(text)
    except InvalidSchemaError as error:
        raise _wrong(side, f"the property {member} is not JSON ({error.place})") from None
    if not isinstance(values, dict):
        raise _wrong(side, f"the property {member} is not a JSON object")
    return {name: _text(side, json_text.member(member, name), each) for name, each in values.items()}


def _text(side: Side, path: str, value: Any) -> str:
    """Return a property's value as Gson's getAsString does."""
    while isinstance(value, list) and len(value) == 1:
        (value,) = value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return _WORDS[value]
    raise _wrong(side, f"{path} must be a text")


def _wrong(side: Side, message: str) -> InvalidSchemaError:
    return InvalidSchemaError("PART_PROPERTIES", message, Place(f"$.{side}"))


def _written(properties: Mapping[str, str]) -> str:
    members = (
        f"{gson.quoted(name, for_html=True)}:{gson.quoted(text, for_html=True)}"
        for name, text in sorted(properties.items(), key=lambda each: each[0].encode("utf-16-be", "surrogatepass"))
    )
    return f"{{{','.join(members)}}}"
