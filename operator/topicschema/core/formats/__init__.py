"""One room per notation: parse, identity, and what a reader cannot read of a writer.

`FORMATS` is the list of what can be judged; a type that is not in it is refused by `parse`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import avro, key_value, primitives, protobuf
from topicschema.core.formats.format import Format, Mismatch
from topicschema.core.formats.key_value import KeyValueFormat, KeyValueSchema
from topicschema.core.formats.lazy import LazyFormat
from topicschema.core.schemas import PRIMITIVES, PulsarLine, Schema, SchemaInfo, SchemaType
from topicschema.core.steps import Steps

__all__ = [
    "FORMATS",
    "Format",
    "Mismatch",
    "compares",
    "has_checker",
    "has_risks",
    "parse",
    "risks",
    "self_risks",
    "unreadable",
]

# google.protobuf takes a third of the time in which the command line starts.
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


def parse(info: SchemaInfo, line: PulsarLine = PulsarLine.V4_0, *, validate_defaults: bool = True) -> Schema:
    """The schema that `info` describes; InvalidSchemaError with rule and place where a broker of `line` cannot use it.

    `validate_defaults=False` asks as the broker's /compatibility does, which reads no defaults; an upload reads them.
    The rules are documented in docs/rules.md.
    """
    known = FORMATS.get(info.type)
    if known is None:
        why = _REFUSED.get(info.type, f"schemas of type {info.type} cannot be judged yet")
        raise InvalidSchemaError("UNSUPPORTED_TYPE", why)
    return known.parse(info, line, validate_defaults=validate_defaults)


def has_checker(kind: SchemaType) -> bool:
    """Whether the broker looks into schemas of this type to compare them (else only type and strategy decide)."""
    return kind in FORMATS and FORMATS[kind].has_checker


def compares(schema: Schema) -> bool:
    """Whether the broker has a checker for what `schema` holds: for a KEY_VALUE, whether it has one for a part."""
    kind = schema.info.type
    return kind in FORMATS and FORMATS[kind].compares(schema)


def unreadable(reader: Schema, writer: Schema, steps: Steps | None = None) -> tuple[Mismatch, ...]:
    """Everything that a reader with `reader` cannot read of messages written with `writer`; both of one type.

    TooComplexError if that needs more than the `steps` left; of `risks`, too.
    """
    return FORMATS[reader.info.type].unreadable(reader, writer, steps or Steps())


def has_risks(kind: SchemaType) -> bool:
    """Whether schemas of this type, compared, may show risks: all but those that are nothing but their type."""
    return kind in FORMATS and (kind not in PRIMITIVES or kind in _WITH_PROPERTIES)


def properties_matter(kind: SchemaType) -> bool:
    """Whether clients read messages by the properties, of which the broker's dedupe and its checks know nothing."""
    return kind in _WITH_PROPERTIES


def self_risks(schema: Schema) -> tuple[Mismatch, ...]:
    """What hurts consumers in the schema by itself, whatever came before it, and the broker does not look at."""
    return key_value.self_risks(schema) if isinstance(schema, KeyValueSchema) else ()


def risks(reader: Schema, writer: Schema, steps: Steps | None = None) -> tuple[Mismatch, ...]:
    """What the broker lets pass, and `reader` loses or misreads of messages of `writer`; both of one type."""
    return FORMATS[reader.info.type].risks(reader, writer, steps or Steps())
