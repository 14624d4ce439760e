"""PURE: bytes. What a message's payload holds by a topic's schema, what bytes a value has, whether bytes are valid.

`decode` returns what a Java consumer of Pulsar's client would get, `validate` tells all that is wrong, also what that
consumer passes over. Schemas come parsed (core.formats.parse). No I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.key_value import Encoding, KeyValueSchema, Side
from topicschema.core.schemas import Schema, SchemaType
from topicschema.payload import primitives
from topicschema.payload.avro import AvroCodec, ResolvingCodec
from topicschema.payload.avro.resolving import Resolver
from topicschema.payload.codec import Codec
from topicschema.payload.finding import Finding, Unreadable
from topicschema.payload.json import JsonCodec
from topicschema.payload.key_value import KeyValueCodec, Pair
from topicschema.payload.primitives import Instant, LocalDateTime

__all__ = [
    "Codec",
    "Finding",
    "Instant",
    "LocalDateTime",
    "Message",
    "Pair",
    "Reader",
    "codec",
    "decode",
    "encode",
    "reader",
    "validate",
]


@dataclass(frozen=True, slots=True)
class Message:
    """What a schema speaks of in a message: the payload, None for null, and the key's bytes if they are SEPARATED."""

    payload: bytes | None
    key: bytes | None = None


def codec(schema: Schema) -> Codec:
    """The codec of a parsed schema, to be kept for many messages; InvalidSchemaError for a type that has none yet."""
    kind = schema.info.type
    if kind in primitives.TYPES:
        return primitives.codec(schema.info)
    make = _CODECS.get(kind)
    if make is None:
        raise InvalidSchemaError("UNSUPPORTED_TYPE", f"payloads of type {kind} cannot be read or written yet")
    return make(schema)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the messages of one schema, or of one version with another one; to be kept for many messages."""

    codec: Codec

    def read(self, payload: bytes | None, key: bytes | None = None) -> tuple[Any, tuple[Finding, ...]]:
        """The value, which means nothing where a finding is not tolerated, and all that is wrong."""
        value, found = _read(self.codec, payload, key)
        return value, tuple(found)


def reader(schema: Schema, writer: Schema | None = None) -> Reader:
    """The reader of messages that `writer` wrote, or `schema` itself; InvalidSchemaError as `codec`.

    A writer of its own have AVRO messages only, read with `schema` as a consumer with a class does. All others are read
    with one schema, that of the message's version: UNSUPPORTED_TYPE.
    """
    if writer is None:
        return Reader(codec(schema))
    if not isinstance(writer, AvroSchema) or not isinstance(schema, AvroSchema) or not _are_avro(schema, writer):
        raise InvalidSchemaError("UNSUPPORTED_TYPE", "only AVRO messages are read with another schema than their own")
    return Reader(ResolvingCodec(Resolver(writer.root, schema.root, schema.library)))


def decode(schema: Schema, payload: bytes | None, key: bytes | None = None, *, writer: Schema | None = None) -> Any:
    """The value, as a Java consumer gets it; InvalidPayloadError with byte and path where that one fails.

    A null payload is None. `key` is the message's key, used where a KEY_VALUE is SEPARATED; the value is then a Pair.
    `writer` is the version that an AVRO message was written with, where it is another one.
    """
    value, found = reader(schema, writer).read(payload, key)
    for finding in found:
        if not finding.is_tolerated:
            raise finding.error
    return value


def validate(schema: Schema, payload: bytes | None, key: bytes | None = None) -> tuple[Finding, ...]:
    """All that is wrong with a payload, in the order in which it was met; () for a valid one.

    Bytes that are already encoded are judged as they are. What can only be guessed after the first fatal finding is not
    told; a null payload is valid.
    """
    return tuple(_read(codec(schema), payload, key)[1])


def encode(schema: Schema, value: Any) -> Message:
    """The message of a value, as Pulsar's Java client makes it; InvalidPayloadError where the value does not fit.

    It is so to the byte, but for JSON's spelling of numbers. None is a null payload. A KEY_VALUE's value is a Pair.
    """
    if value is None:
        return Message(None)
    writer = codec(schema)
    if isinstance(writer, KeyValueCodec) and writer.encoding is Encoding.SEPARATED:
        key, payload = writer.write_parts(value)
        return Message(payload, key)
    return Message(writer.write(value))


def _read(reader: Codec, payload: bytes | None, key: bytes | None) -> tuple[Any, list[Finding]]:
    found: list[Finding] = []
    try:
        if isinstance(reader, KeyValueCodec) and reader.encoding is Encoding.SEPARATED:
            return Pair(reader.read_part(Side.KEY, key, found), reader.read_part(Side.VALUE, payload, found)), found
        return (None if payload is None else reader.read(payload, found)), found
    except Unreadable as stop:
        return None, [*found, stop.finding]


def _are_avro(*schemas: Schema) -> bool:
    return all(schema.info.type is SchemaType.AVRO for schema in schemas)


def _key_value(schema: KeyValueSchema) -> KeyValueCodec:
    """The parts' codecs, composed; InvalidSchemaError for an encoding that no client knows."""
    if schema.pair.encoding is None:
        raise InvalidSchemaError("UNKNOWN_ENCODING", "the pair's encoding is neither INLINE nor SEPARATED")
    return KeyValueCodec(codec(schema.key), codec(schema.value), schema.pair.encoding)


def _protobuf(schema: Any) -> Codec:
    # Imported here: google.protobuf takes a third of the time in which the command line starts.
    from topicschema.payload import protobuf_native  # noqa: PLC0415  # as it says above

    return protobuf_native.of(schema)


_CODECS: Final[Mapping[SchemaType, Callable[[Any], Codec]]] = MappingProxyType(
    {
        SchemaType.AVRO: lambda schema: AvroCodec(schema.root),
        SchemaType.JSON: lambda schema: JsonCodec(schema.root),
        SchemaType.KEY_VALUE: _key_value,
        SchemaType.PROTOBUF: _protobuf,
        SchemaType.PROTOBUF_NATIVE: _protobuf,
    }
)
