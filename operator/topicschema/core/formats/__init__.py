"""One package per schema format: parsing, fingerprint, and what a reader cannot read of a writer.

`FORMATS` lists the supported types. `parse` refuses any other type.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import avro, json_text, key_value, primitives, protobuf
from topicschema.core.formats.format import Format, Mismatch
from topicschema.core.formats.key_value import KeyValueFormat, KeyValueSchema
from topicschema.core.formats.lazy import LazyFormat
from topicschema.core.schemas import PRIMITIVES, PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.steps import Steps

__all__ = [
    "FORMATS",
    "Format",
    "Mismatch",
    "as_stored",
    "compares",
    "has_checker",
    "has_risks",
    "parse",
    "risks",
    "self_risks",
    "unreadable",
]

# google.protobuf takes a third of the command line's startup time.
_PROTOBUF_NATIVE = LazyFormat("topicschema.core.formats.protobuf_native", has_checker=True)
_SINGLE: Mapping[SchemaType, Format] = MappingProxyType(
    {
        SchemaType.AVRO: avro.FORMAT,
        SchemaType.JSON: avro.FORMAT,
        SchemaType.PROTOBUF: protobuf.FORMAT,
        SchemaType.PROTOBUF_NATIVE: _PROTOBUF_NATIVE,
        **dict.fromkeys(PRIMITIVES, primitives.FORMAT),
    }
)
FORMATS: Mapping[SchemaType, Format] = MappingProxyType({**_SINGLE, SchemaType.KEY_VALUE: KeyValueFormat(_SINGLE)})

_WITH_PROPERTIES = frozenset({SchemaType.KEY_VALUE, SchemaType.STRING})

_REFUSED = {
    SchemaType.BYTES: "the broker stores BYTES as NONE and then refuses every other type on the topic; "
    "a topic of plain bytes needs no schema",
    SchemaType.NONE: "NONE is what a topic without a schema has; a stored NONE refuses every other type on the topic",
    SchemaType.AUTO_CONSUME: "AUTO_CONSUME is a client's setting, never stored with a topic",
    SchemaType.AUTO_PUBLISH: "AUTO_PUBLISH is a client's setting, never stored with a topic",
}


def parse(
    info: SchemaInfo, pulsar_version: PulsarVersion = PulsarVersion.V4_0, *, validate_defaults: bool = True
) -> Schema:
    """Return the schema that `info` describes.

    Raises InvalidSchemaError with rule and place if it is invalid for `pulsar_version`.

    `validate_defaults=False` parses as the broker's /compatibility does, which does not read defaults; an upload reads
    them. docs/rules.md documents the rules.
    """
    known = FORMATS.get(info.type)
    if known is None:
        why = _REFUSED.get(info.type, f"schemas of type {info.type} cannot be judged yet")
        raise InvalidSchemaError("UNSUPPORTED_TYPE", why)
    return known.parse(info, pulsar_version, validate_defaults=validate_defaults)


def as_stored(info: SchemaInfo) -> SchemaInfo:
    """Return the form in which the broker stores a schema sent over REST. Raise InvalidSchemaError if it cannot."""
    if info.type is not SchemaType.KEY_VALUE:
        return info
    try:
        text = info.schema.decode(errors="surrogatepass")
    except UnicodeDecodeError as error:
        before = info.schema[: error.start].decode(errors="surrogatepass")
        place = json_text.place_of(before, len(before))
        raise InvalidSchemaError("NOT_UTF8", f"byte {error.start} is not UTF-8", place) from None
    return replace(info, schema=key_value.payload_of(text))


def has_checker(kind: SchemaType) -> bool:
    """Return True if the broker compares the content of schemas of this type.

    Otherwise only type and strategy decide.
    """
    return kind in FORMATS and FORMATS[kind].has_checker


def compares(schema: Schema) -> bool:
    """Return True if the broker has a checker for `schema`, or for a part of a KEY_VALUE."""
    kind = schema.info.type
    return kind in FORMATS and FORMATS[kind].compares(schema)


def unreadable(reader: Schema, writer: Schema, steps: Steps | None = None) -> tuple[Mismatch, ...]:
    """Return all that a reader with `reader` cannot read of messages written with `writer`. Both have the same type.

    Like `risks`, it raises TooComplexError if this needs more than the remaining `steps`.
    """
    return FORMATS[reader.info.type].unreadable(reader, writer, steps or Steps())


def has_risks(kind: SchemaType) -> bool:
    """Return True if a comparison of schemas of this type may have risks.

    A primitive type other than STRING has none.
    """
    return kind in FORMATS and (kind not in PRIMITIVES or kind in _WITH_PROPERTIES)


def properties_matter(kind: SchemaType) -> bool:
    """Return True if clients read messages by the properties, which the broker's dedupe and checks ignore."""
    return kind in _WITH_PROPERTIES


def self_risks(schema: Schema) -> tuple[Mismatch, ...]:
    """Return the schema's own risks, which do not depend on earlier versions. The broker does not check them."""
    return key_value.self_risks(schema) if isinstance(schema, KeyValueSchema) else ()


def risks(reader: Schema, writer: Schema, steps: Steps | None = None) -> tuple[Mismatch, ...]:
    """Return what the broker accepts, and `reader` loses or misreads of messages of `writer`.

    Both have the same type.
    """
    return FORMATS[reader.info.type].risks(reader, writer, steps or Steps())
