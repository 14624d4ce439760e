"""The forms of a schema: in a TopicSchema's spec, and in a request to the broker."""

from dataclasses import dataclass
from typing import Any

from topicschema.core.formats import key_value
from topicschema.core.schemas import SchemaInfo, SchemaType


@dataclass(frozen=True, slots=True)
class Upload:
    """The arguments of `RestTopic.upload`."""

    text: str
    kind: str
    properties: dict[str, str]


def spec(info: SchemaInfo) -> dict[str, Any]:
    """Return the members of a TopicSchema's spec for the schema, without empty ones, as people write it."""
    if info.type is not SchemaType.KEY_VALUE:
        return {"type": info.type.value, **_filled(schema=info.schema.decode(), properties=dict(info.properties))}
    pair = key_value.decode(info)
    parts = {
        side.value: {
            "type": part.info.type.value,
            **_filled(name=part.name, schema=part.info.schema.decode(), properties=dict(part.info.properties)),
        }
        for side, part in pair.parts
    }
    return {"type": info.type.value, "keyValue": {"encoding": pair.encoding, **parts}}


def upload(info: SchemaInfo) -> Upload:
    """Return the request; the parts of a pair are JSON in it."""
    if info.type is not SchemaType.KEY_VALUE:
        return Upload(info.schema.decode(), info.type.value, dict(info.properties))
    pair = key_value.decode(info)
    key, value = (part.info.schema.decode() or '""' for _, part in pair.parts)
    return Upload(f'{{"key": {key}, "value": {value}}}', info.type.value, dict(info.properties))


def _filled(**members: object) -> dict[str, object]:
    return {name: member for name, member in members.items() if member}
