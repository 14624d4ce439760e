"""Factory of the validator for a schema type."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.key_value import KeyValueSchema, decode
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload.avro import read_offset
from topicschema.payload.columnar import json, primitives
from topicschema.payload.columnar.base import ConstantFailure, SkippingValidator
from topicschema.payload.columnar.key_value import KeyValueValidator
from topicschema.payload.columnar.verdicts import Validator

if TYPE_CHECKING:
    from topicschema.payload.columnar.avro.program import Program

_OPAQUE: Final = frozenset({SchemaType.NONE, SchemaType.BYTES})
TYPE_CHANGED: Final = "TYPE_CHANGED"
ENCODING_CHANGED: Final = "ENCODING_CHANGED"
UNKNOWN_WRITER_VERSION: Final = "UNKNOWN_WRITER_VERSION"
INVALID_WRITER_SCHEMA: Final = "INVALID_WRITER_SCHEMA"
REASONS: Final = frozenset({TYPE_CHANGED, ENCODING_CHANGED, UNKNOWN_WRITER_VERSION, INVALID_WRITER_SCHEMA})


def validator_for(reader: SchemaInfo, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> Validator:
    """Return the validator. See `columnar.validator_for`."""
    if reader.type in _OPAQUE:
        return primitives.validator_for(reader)
    schema = _parsed(reader, pulsar_version)
    if writer is not None and writer.type is not reader.type:
        return ConstantFailure(TYPE_CHANGED)
    if isinstance(schema, KeyValueSchema):
        return _pair(schema, writer, pulsar_version)
    if reader.type in _STRUCTS:
        if isinstance(schema, AvroSchema) and reader.type is SchemaType.AVRO:
            read_offset.of(schema)  # the messages of its own version cannot be read otherwise
        return _struct(schema, writer, pulsar_version)
    return primitives.validator_for(reader)


@lru_cache(maxsize=8)
def _parsed(info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema:
    """Return the schema, parsed once for the versions of a topic, and for topics with the same schemas."""
    return formats.parse(info, pulsar_version, validate_defaults=False)


def _struct(reader: Schema, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> Validator:
    make = _STRUCTS[reader.info.type]
    if writer is None:
        return make(reader, None)
    try:
        return make(reader, _parsed(writer, pulsar_version))
    except InvalidSchemaError:  # only Avro's readers need the writer's schema, all others continue without
        return ConstantFailure(INVALID_WRITER_SCHEMA) if reader.info.type is SchemaType.AVRO else make(reader, None)


def _pair(reader: KeyValueSchema, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> Validator:
    encoding = reader.pair.encoding
    if encoding is None:
        raise InvalidSchemaError("UNKNOWN_ENCODING", "the pair's encoding is neither INLINE nor SEPARATED")
    if writer is None:
        key, value = (validator_for(part.info, None, pulsar_version) for part in (reader.key, reader.value))
        return KeyValueValidator(key, value, encoding)
    try:
        written = decode(writer)
    except InvalidSchemaError:
        is_needed = SchemaType.AVRO in (reader.key.info.type, reader.value.info.type)
        return ConstantFailure(INVALID_WRITER_SCHEMA) if is_needed else _pair(reader, None, pulsar_version)
    if written.encoding is not encoding:
        return ConstantFailure(ENCODING_CHANGED)
    key = validator_for(reader.key.info, written.key.info, pulsar_version)
    value = validator_for(reader.value.info, written.value.info, pulsar_version)
    return KeyValueValidator(key, value, encoding)


def _avro(reader: AvroSchema, writer: AvroSchema | None) -> Validator:
    from topicschema.payload.columnar.avro import ProgramValidator  # noqa: PLC0415  # numba is slow

    if writer is None:
        return ConstantFailure(UNKNOWN_WRITER_VERSION)
    skipped = read_offset.of(writer)
    validator = ProgramValidator(_program(reader, writer))
    return SkippingValidator(validator, skipped) if skipped else validator


@lru_cache(maxsize=16)
def _program(reader: AvroSchema, writer: AvroSchema) -> "Program":
    from topicschema.payload.columnar.avro import compile_program  # noqa: PLC0415  # as above

    return compile_program(reader, writer)


def _protobuf(reader: Any, writer: Any) -> Validator:
    from topicschema.payload.columnar import protobuf  # noqa: PLC0415  # as above

    return protobuf.validator_for(reader, writer)


_STRUCTS: Final[Mapping[SchemaType, Callable[[Any, Any], Validator]]] = MappingProxyType(
    {
        SchemaType.AVRO: _avro,
        SchemaType.JSON: json.validator_for,
        SchemaType.PROTOBUF: _protobuf,
        SchemaType.PROTOBUF_NATIVE: _protobuf,
    }
)
