"""Factory of the shape and the decoder for a schema type."""

from functools import partial
from itertools import repeat

from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.key_value import Encoding, KeyValueSchema, decode
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload import MessageReader, columnar, primitives
from topicschema.payload.arrow import avro_shapes, primitive_shapes, shapes
from topicschema.payload.arrow.avro_shapes import IndexOf
from topicschema.payload.arrow.decoder import ColumnReader, Decoder, NoReader
from topicschema.payload.arrow.pairs import PairReader
from topicschema.payload.arrow.shapes import Shape
from topicschema.payload.arrow.singles import Read, SingleReader, json_reader
from topicschema.payload.arrow.tolerated import TextCodec, ToleratedReader
from topicschema.payload.avro import branches, read_offset
from topicschema.payload.codec import Codec
from topicschema.payload.key_value import KeyValueCodec


def shape_of(reader: SchemaInfo, pulsar_version: PulsarVersion) -> Shape:
    """Return the shape of a schema's messages. Raises InvalidSchemaError."""
    if reader.type in primitives.TYPES:
        return primitive_shapes.shape_of(reader.type)
    return _shape(formats.parse(reader, pulsar_version, validate_defaults=False), branches.index_of)


def decoder_for(reader: SchemaInfo, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> Decoder:
    """Return the decoder. See `arrow.decoder_for`."""
    shape = shape_of(reader, pulsar_version)
    validator = columnar.validator_for(reader, writer, pulsar_version)
    tolerated = partial(_tolerated, reader, writer, pulsar_version)
    return Decoder(shape.type, validator, _reader(reader, writer, pulsar_version, shape), tolerated)


def _shape(schema: Schema, index_of: IndexOf) -> Shape:
    kind = schema.info.type
    if kind in primitives.TYPES:
        return primitive_shapes.shape_of(kind)
    if isinstance(schema, AvroSchema) and kind in (SchemaType.AVRO, SchemaType.JSON):
        return avro_shapes.shape_of(schema.root, is_json=kind is SchemaType.JSON, index_of=index_of)
    if isinstance(schema, KeyValueSchema):
        parts = [_part(schema.key, "key", index_of), _part(schema.value, "value", index_of)]
        return shapes.struct(["key", "value"], parts)
    from topicschema.payload import protobuf_native  # noqa: PLC0415  # google.protobuf is slow to import
    from topicschema.payload.arrow import protobuf_shapes  # noqa: PLC0415  # as above

    return protobuf_shapes.shape_of(protobuf_native.plan_of(schema))


def _part(schema: Schema, side: str, index_of: IndexOf) -> Shape:
    try:
        return _shape(schema, index_of)
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


def _tolerated(reader: SchemaInfo, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> ToleratedReader | None:
    """Return the reader of the messages with faults, or None if no consumer reads any.

    A value that several branches of a union fit has no place in a column.
    """
    try:
        schema = formats.parse(reader, pulsar_version, validate_defaults=False)
        shape = _shape(schema, branches.only_index_of)
        codec = _codec(schema, writer, pulsar_version, shape)
    except InvalidSchemaError:
        return None
    return None if codec is None else ToleratedReader(shape, MessageReader(codec, reader.type))


def _codec(reader: Schema, writer: SchemaInfo | None, pulsar_version: PulsarVersion, shape: Shape) -> Codec | None:
    """Return the codec of messages in columns of this shape, or None if no consumer reads them.

    Raises InvalidSchemaError, too, if Avro's library fails on the two versions for every message.
    """
    kind = reader.info.type
    if writer is not None and writer.type is not kind:
        return None
    if isinstance(reader, KeyValueSchema):
        return _pair_codec(reader, writer, pulsar_version, shape)
    if isinstance(reader, AvroSchema) and kind is SchemaType.JSON:
        return TextCodec(payload.codec(reader), json_reader(shape))
    if kind is not SchemaType.AVRO:
        return payload.codec(reader)
    if writer is None:
        return None
    return payload.reader(reader, formats.parse(writer, pulsar_version, validate_defaults=False)).codec


def _pair_codec(
    reader: KeyValueSchema, writer: SchemaInfo | None, pulsar_version: PulsarVersion, shape: Shape
) -> Codec | None:
    written = (None, None) if writer is None else ((pair := decode(writer)).key.info, pair.value.info)
    key, value = map(_codec, (reader.key, reader.value), written, repeat(pulsar_version), shape.parts)
    if key is None or value is None or reader.pair.encoding is None:
        return None
    return KeyValueCodec(key, value, reader.pair.encoding, (reader.key.info.type, reader.value.info.type))


def _protobuf(schema: Schema) -> Read:
    from topicschema.core.formats.protobuf_native import ProtobufNativeSchema  # noqa: PLC0415  # as above
    from topicschema.payload import protobuf_native  # noqa: PLC0415  # as above
    from topicschema.payload.arrow import protobuf_reader  # noqa: PLC0415  # as above

    read = payload.codec(schema).read
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
