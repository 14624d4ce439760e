"""Messages as a consumer with AUTO_CONSUME gets them: by the schema of the message's own version, of any type.

Source: AutoConsumeSchema and the generic records of Pulsar's Java client (4.0.7). A struct is a record with fields, any
other value has no wrapper. A STRING's charset is ignored. Unlike that client, which refuses the type, a PROTOBUF
message is a record of the fields in its schema's `__PARSING_INFO__`. A protobuf field that is not set is None here,
where the client has its default.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from topicschema import payload
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.model import Record
from topicschema.core.formats.key_value import KeyValueSchema
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload.codec import Codec
from topicschema.payload.json import JsonCodec
from topicschema.payload.key_value import KeyValueCodec, Pair

_STRUCTS: Final = frozenset({SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.PROTOBUF_NATIVE})


@dataclass(frozen=True, slots=True)
class GenericRecord:
    """Value of a message, with its type.

    `fields` are the names of a struct's fields in the schema's order, () for any other type. A struct's `value` is a
    dict. `schema_version` is the message's own. A KEY_VALUE's value is a Pair, of records if its parts are structs.
    """

    type: SchemaType
    schema_version: int | None
    fields: tuple[str, ...]
    value: Any

    def __getitem__(self, name: str) -> Any:
        """Return a field's value, or None if the message does not have it.

        Raises KeyError if the schema does not have it.
        """
        if name not in self.fields:
            raise KeyError(name)
        return self.value.get(name)


def record(
    schema: Schema, content: bytes | None, key: bytes | None = None, *, schema_version: int | None = None
) -> GenericRecord:
    """Return the record of a message. Raises InvalidPayloadError if the client would fail.

    `schema` is that of the message's version. `key` is the message's key, used if a KEY_VALUE is SEPARATED. Raises
    InvalidSchemaError like `payload.codec`.
    """
    reader = payload.reader(_without_charset(schema))
    value, findings = replace(reader, codec=_without_classes(reader.codec)).read(content, key)
    for each in findings:
        if not each.is_tolerated:
            raise each.error
    return _record(schema, value, schema_version)


def _record(schema: Schema, value: Any, schema_version: int | None) -> GenericRecord:
    if isinstance(schema, KeyValueSchema) and value is not None:
        value = Pair(_part(schema.key, value.key, schema_version), _part(schema.value, value.value, schema_version))
    return GenericRecord(schema.info.type, schema_version, _fields(schema), value)


def _part(schema: Schema, value: Any, schema_version: int | None) -> Any:
    is_struct = schema.info.type in _STRUCTS and isinstance(value, dict)
    return _record(schema, value, schema_version) if is_struct else value


def _fields(schema: Schema) -> tuple[str, ...]:
    if schema.info.type in (SchemaType.PROTOBUF, SchemaType.PROTOBUF_NATIVE):
        from topicschema.payload import protobuf_native  # noqa: PLC0415  # google.protobuf, only for these types

        return protobuf_native.plan_of(schema).declared
    if isinstance(schema, AvroSchema) and isinstance(schema.root, Record):
        return tuple(field.name for field in schema.root.fields)
    return ()


def _without_classes(codec: Codec) -> Codec:
    if isinstance(codec, KeyValueCodec):
        return replace(codec, key=_without_classes(codec.key), value=_without_classes(codec.value))
    return replace(codec, is_generic=True) if isinstance(codec, JsonCodec) else codec


def _without_charset(schema: Schema) -> Schema:
    if isinstance(schema, KeyValueSchema):
        return replace(schema, key=_without_charset(schema.key), value=_without_charset(schema.value))
    return PrimitiveSchema(SchemaInfo(SchemaType.STRING), "") if schema.info.type is SchemaType.STRING else schema
