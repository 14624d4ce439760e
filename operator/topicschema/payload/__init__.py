"""PURE: payloads of messages. Conversion of bytes to values and back by a topic's schema, and validation of bytes.

`decode` returns the value that a consumer of Pulsar's Java client gets. `validate` returns all findings, also those
that such a consumer ignores. Schemas are parsed by `core.formats.parse`. No I/O.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.key_value import Encoding, KeyValueSchema, Side
from topicschema.core.schemas import Schema, SchemaType
from topicschema.payload import framing, primitives
from topicschema.payload.avro import AvroCodec, ResolvingCodec, read_offset
from topicschema.payload.avro.resolving import Resolver
from topicschema.payload.codec import Codec
from topicschema.payload.finding import PayloadFinding, Unreadable
from topicschema.payload.json import JsonCodec
from topicschema.payload.key_value import KeyValueCodec, Pair
from topicschema.payload.primitives import Instant, LocalDateTime

__all__ = [
    "Codec",
    "Instant",
    "LocalDateTime",
    "MessageParts",
    "MessageReader",
    "Pair",
    "PayloadFinding",
    "codec",
    "decode",
    "encode",
    "reader",
    "validate",
]


@dataclass(frozen=True, slots=True)
class MessageParts:
    """Parts of a message that its schema describes: the payload, None for null, and the key's bytes if SEPARATED."""

    payload: bytes | None
    key: bytes | None = None


def codec(schema: Schema) -> Codec:
    """Return the codec of a parsed schema, for any number of messages.

    Raises InvalidSchemaError for an unsupported type.
    """
    kind = schema.info.type
    if kind in primitives.TYPES:
        return primitives.codec(schema.info)
    make = _CODECS.get(kind)
    if make is None:
        raise InvalidSchemaError("UNSUPPORTED_TYPE", f"payloads of type {kind} cannot be read or written yet")
    return make(schema)


@dataclass(frozen=True, slots=True)
class MessageReader:
    """Reader of the messages of one schema, or of one version with another one, for any number of messages."""

    codec: Codec
    kind: SchemaType

    def read(self, payload: bytes | None, key: bytes | None = None) -> tuple[Any, tuple[PayloadFinding, ...]]:
        """Return the value and all findings. The value has no meaning if a finding is not tolerated.

        The message of the finding that ends the reading also names another format that the bytes begin like.
        """
        value, findings = _read(self.codec, payload, key)
        last = _last(findings)
        format_ = None if last is None else self._format_of(last, payload, key)
        if last is not None and format_ is not None:
            message = f"{last.message}; these bytes begin like {format_}"
            findings[findings.index(last)] = replace(last, message=message)
        return value, tuple(findings)

    def format_of(self, payload: bytes | None, key: bytes | None = None) -> str | None:
        """Return the other format that the bytes begin like, or None."""
        last = _last(_read(self.codec, payload, key)[1])
        return None if last is None else self._format_of(last, payload, key)

    def _format_of(self, finding: PayloadFinding, payload: bytes | None, key: bytes | None) -> str | None:
        codec, kind, content = self.codec, self.kind, payload
        if isinstance(codec, KeyValueCodec):
            side = next((each for each in Side if finding.path.startswith(f"$.{each}")), None)
            if side is not None:
                content = codec.part(side, payload, key)
                codec, kind = codec.of(side)
        if content is None:
            return None
        return framing.format_of(
            kind, content, lambda other: not _read(codec, other, None)[1], is_read=finding.is_tolerated
        )


def reader(schema: Schema, writer: Schema | None = None) -> MessageReader:
    """Return the reader of messages that `writer`, or else `schema`, wrote. Raises InvalidSchemaError like `codec`.

    Only AVRO messages may have another writer. They are read with `schema` as by a consumer with a class. Other types
    are read with the schema of the message's version, and raise UNSUPPORTED_TYPE.
    """
    if writer is None:
        return MessageReader(codec(schema), schema.info.type)
    if not isinstance(writer, AvroSchema) or not isinstance(schema, AvroSchema) or not _are_avro(schema, writer):
        raise InvalidSchemaError("UNSUPPORTED_TYPE", "only AVRO messages are read with another schema than their own")
    resolver = Resolver(writer.root, schema.root, schema.library)
    return MessageReader(ResolvingCodec(resolver, read_offset.of(writer)), SchemaType.AVRO)


def decode(schema: Schema, payload: bytes | None, key: bytes | None = None, *, writer: Schema | None = None) -> Any:
    """Return the value that a Java consumer gets. Raises InvalidPayloadError with byte and path if it would fail.

    A null payload is None. `key` is the message's key, used if a KEY_VALUE is SEPARATED; the value is then a Pair.
    `writer` is the version that an AVRO message was written with, if it is another one.
    """
    value, findings = reader(schema, writer).read(payload, key)
    for finding in findings:
        if not finding.is_tolerated:
            raise finding.error
    return value


def validate(schema: Schema, payload: bytes | None, key: bytes | None = None) -> tuple[PayloadFinding, ...]:
    """Return all findings of a payload, in the order of reading, or () for a valid one.

    Encoded bytes are judged as they are. Reading ends at the first fatal finding. A null payload is valid.
    """
    return reader(schema).read(payload, key)[1]


def encode(schema: Schema, value: Any) -> MessageParts:
    """Return the message of a value, as Pulsar's Java client makes it.

    Raises InvalidPayloadError if the value does not fit.

    It is equal to the byte, except for JSON's spelling of numbers. None is a null payload. A KEY_VALUE's value is a
    Pair.
    """
    if value is None:
        return MessageParts(None)
    writer = codec(schema)
    if isinstance(writer, KeyValueCodec) and writer.encoding is Encoding.SEPARATED:
        key, payload = writer.write_parts(value)
        return MessageParts(payload, key)
    return MessageParts(writer.write(value))


def _read(reader: Codec, payload: bytes | None, key: bytes | None) -> tuple[Any, list[PayloadFinding]]:
    findings: list[PayloadFinding] = []
    try:
        if isinstance(reader, KeyValueCodec) and reader.encoding is Encoding.SEPARATED:
            return Pair(
                reader.read_part(Side.KEY, key, findings), reader.read_part(Side.VALUE, payload, findings)
            ), findings
        return (None if payload is None else reader.read(payload, findings)), findings
    except Unreadable as stop:
        return None, [*findings, stop.finding]


def _last(findings: Sequence[PayloadFinding]) -> PayloadFinding | None:
    """Return the finding that ends the reading: the first that is fatal, else bytes that follow the value."""
    fatal = next((each for each in findings if not each.is_tolerated), None)
    return fatal or next((each for each in findings if each.rule == "TRAILING_BYTES"), None)


def _are_avro(*schemas: Schema) -> bool:
    return all(schema.info.type is SchemaType.AVRO for schema in schemas)


def _key_value(schema: KeyValueSchema) -> KeyValueCodec:
    """Return the composed codec of the parts. Raises InvalidSchemaError for an encoding that no client supports."""
    if schema.pair.encoding is None:
        raise InvalidSchemaError("UNKNOWN_ENCODING", "the pair's encoding is neither INLINE nor SEPARATED")
    kinds = schema.key.info.type, schema.value.info.type
    return KeyValueCodec(codec(schema.key), codec(schema.value), schema.pair.encoding, kinds)


def _protobuf(schema: Any) -> Codec:
    # Imported here: importing google.protobuf takes a third of the command line's start.
    from topicschema.payload import protobuf_native  # noqa: PLC0415  # see above

    return protobuf_native.of(schema)


_CODECS: Final[Mapping[SchemaType, Callable[[Any], Codec]]] = MappingProxyType(
    {
        SchemaType.AVRO: lambda schema: AvroCodec(schema.root, schema.library, read_offset.of(schema)),
        SchemaType.JSON: lambda schema: JsonCodec(schema.root),
        SchemaType.KEY_VALUE: _key_value,
        SchemaType.PROTOBUF: _protobuf,
        SchemaType.PROTOBUF_NATIVE: _protobuf,
    }
)
