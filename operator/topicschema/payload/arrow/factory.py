"""Factory of the shape and the decoder for a schema type."""

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.key_value import Encoding, KeyValueSchema, decode
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload import codec, columnar, primitives
from topicschema.payload.arrow import avro_shapes, primitive_shapes, shapes
from topicschema.payload.arrow.decoder import ColumnReader, Decoder, NoReader
from topicschema.payload.arrow.pairs import PairReader
from topicschema.payload.arrow.shapes import Shape
from topicschema.payload.arrow.singles import Read, SingleReader, json_reader
from topicschema.payload.avro import read_offset


def shape_of(reader: SchemaInfo, pulsar_version: PulsarVersion) -> Shape:
    """Return the shape of a schema's messages. Raises InvalidSchemaError."""
    if reader.type in primitives.TYPES:
        return primitive_shapes.shape_of(reader.type)
    return _shape(formats.parse(reader, pulsar_version, validate_defaults=False))


def decoder_for(reader: SchemaInfo, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> Decoder:
    """Return the decoder. See `arrow.decoder_for`."""
    shape = shape_of(reader, pulsar_version)
    validator = columnar.validator_for(reader, writer, pulsar_version)
    return Decoder(shape.type, validator, _reader(reader, writer, pulsar_version, shape))


def _shape(schema: Schema) -> Shape:
    kind = schema.info.type
    if kind in primitives.TYPES:
        return primitive_shapes.shape_of(kind)
    if isinstance(schema, AvroSchema) and kind in (SchemaType.AVRO, SchemaType.JSON):
        return avro_shapes.shape_of(schema.root, is_json=kind is SchemaType.JSON)
    if isinstance(schema, KeyValueSchema):
        return shapes.struct(["key", "value"], [_part(schema.key, "key"), _part(schema.value, "value")])
    from topicschema.payload import protobuf_native  # noqa: PLC0415  # google.protobuf is slow to import
    from topicschema.payload.arrow import protobuf_shapes  # noqa: PLC0415  # as above

    return protobuf_shapes.shape_of(protobuf_native.plan_of(schema))


def _part(schema: Schema, side: str) -> Shape:
    try:
        return _shape(schema)
    except InvalidSchemaError as error:
        message = f"{error.message} (this is a place in the schema of the {side})"
        raise InvalidSchemaError(error.rule, message, Place(error.place.path)) from None


def _reader(reader: SchemaInfo, writer: SchemaInfo | None, pulsar_version: PulsarVersion, shape: Shape) -> ColumnReader:
    """Return the reader of the messages that the validator passes."""
    if writer is not None and writer.type is not reader.type:
        return NoReader(shape.type)
    if reader.type in primitives.TYPES:
        return SingleReader(shape, primitives.codec(reader).read)
    schema = formats.parse(reader, pulsar_version, validate_defaults=False)
    if isinstance(schema, KeyValueSchema):
        return _pairs(schema, writer, pulsar_version, shape)
    if isinstance(schema, AvroSchema) and reader.type is SchemaType.AVRO:
        return _avro(schema, writer, pulsar_version, shape)
    if isinstance(schema, AvroSchema) and reader.type is SchemaType.JSON:
        return SingleReader(shape, json_reader(shape))
    return SingleReader(shape, _protobuf(schema))


def _protobuf(schema: Schema) -> Read:
    from topicschema.core.formats.protobuf_native import ProtobufNativeSchema  # noqa: PLC0415  # as above
    from topicschema.payload import protobuf_native  # noqa: PLC0415  # as above
    from topicschema.payload.arrow import protobuf_reader  # noqa: PLC0415  # as above

    read = codec(schema).read
    if not isinstance(schema, ProtobufNativeSchema):
        return read
    return protobuf_reader.reader_of(schema, protobuf_native.plan_of(schema), read)


def _avro(reader: AvroSchema, writer: SchemaInfo | None, pulsar_version: PulsarVersion, shape: Shape) -> ColumnReader:
    from topicschema.payload.arrow.programs import ProgramReader  # noqa: PLC0415  # numba is slow

    try:
        parsed = None if writer is None else formats.parse(writer, pulsar_version, validate_defaults=False)
    except InvalidSchemaError:
        parsed = None
    if not isinstance(parsed, AvroSchema):
        return NoReader(shape.type)
    return ProgramReader(reader, parsed, shape, read_offset.of(parsed))


def _pairs(
    reader: KeyValueSchema, writer: SchemaInfo | None, pulsar_version: PulsarVersion, shape: Shape
) -> ColumnReader:
    try:
        written = None if writer is None else decode(writer)
    except InvalidSchemaError:
        written = None
    if written is not None and written.encoding is not reader.pair.encoding:
        return NoReader(shape.type)
    key, value = (
        _reader(part.info, None if side is None else side.info, pulsar_version, part_shape)
        for part, side, part_shape in zip(
            (reader.key, reader.value),
            (None, None) if written is None else (written.key, written.value),
            shape.parts,
            strict=True,
        )
    )
    return PairReader(shape.type, key, value, is_inline=reader.pair.encoding is Encoding.INLINE)
