"""The parts of a TopicSchema's schema: the allowed types, pairs of schemas, and protobuf's sources.

The rules here are those that the API server can enforce by itself. `core.formats` validates the schema.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from topicschema.api.schema_fields import CelRule, Field, matches, matching
from topicschema.core.formats.key_value import Encoding
from topicschema.core.schemas import AVRO_TEXTS, PRIMITIVES, SchemaType

MAX_TEXT = 900_000
"""The maximum length of one schema in characters. The webhook limits the whole object in bytes."""

_PRIMITIVES = tuple(kind for kind in SchemaType if kind in PRIMITIVES)
_TEXTS = tuple(kind for kind in SchemaType if kind in AVRO_TEXTS)

AVAILABLE_TYPES = (
    SchemaType.AVRO,
    SchemaType.JSON,
    SchemaType.PROTOBUF,
    SchemaType.PROTOBUF_NATIVE,
    SchemaType.KEY_VALUE,
    *_PRIMITIVES,
)
"""The types that a TopicSchema may have: all that can be stored with a topic and judged."""
PART_TYPES = (*(kind for kind in AVAILABLE_TYPES if kind is not SchemaType.KEY_VALUE), SchemaType.BYTES)
"""The types that the key and the value of a pair may have."""

_AUTO = "' is a setting of clients, never stored with a topic: give the type of the messages'"
_UNKNOWN = "'Pulsar has no type ' + self.type + ' (a customised schema), so no broker can store it: take one of "


def has_text(spec: Mapping[str, Any]) -> bool:
    """Return True if there is a text."""
    return bool(spec.get("schema"))


HAS_TEXT = "(has(self.schema) && self.schema != '')"
"""The same in CEL."""


def _one_of(kinds: Iterable[SchemaType]) -> str:
    """Return a CEL expression that is true if `self.type` is one of these."""
    return f"self.type in [{', '.join(repr(kind.value) for kind in kinds)}]"


def _type_rule(kinds: tuple[SchemaType, ...], reasons: Mapping[str, str]) -> CelRule:
    """Return the rule of `type`. The API server's own message for an enum lists its values but gives no reason."""
    upper = "self.type.upperAscii()"
    spelt = f"{_one_of(kinds).replace('self.type', upper)} ? 'Pulsar has no type ' + self.type + ': write ' + {upper}"
    known = "".join(f"{condition} ? {reason} : " for condition, reason in reasons.items())
    return CelRule(
        cel=_one_of(kinds),
        message=f"the types are {', '.join(kinds)}",
        holds=lambda spec: spec["type"] in kinds,
        message_expression=f"{known}self.type.startsWith('AUTO') ? self.type + {_AUTO} : {spelt} : "
        f"{_UNKNOWN}{', '.join(kinds)}'",
        path=".type",
        reason="FieldValueForbidden",
    )


def _text_rules(with_text: tuple[SchemaType, ...], without: tuple[SchemaType, ...]) -> tuple[CelRule, ...]:
    """Return the rules of `schema` for each `type`."""
    silent = tuple(kind for kind in without if kind is not SchemaType.STRING)
    return (
        CelRule(
            cel=f"!({_one_of(with_text)}) || {HAS_TEXT}",
            message="a schema of this type needs its text",
            holds=lambda spec: spec["type"] not in with_text or has_text(spec),
            message_expression="'type ' + self.type + ' needs the text of its schema'",
            path=".schema",
            reason="FieldValueRequired",
        ),
        CelRule(
            cel=f"!({_one_of(silent)}) || !{HAS_TEXT}",
            message="this type carries no schema",
            holds=lambda spec: spec["type"] not in silent or not has_text(spec),
            message_expression="'type ' + self.type + ' carries no schema: leave the field out'",
            path=".schema",
            reason="FieldValueForbidden",
        ),
        CelRule(
            cel="self.type != 'STRING' || !has(self.schema) || self.schema in ['', 'null']",
            message="type STRING carries no schema, or the text null that Pulsar's Python client sends",
            holds=lambda spec: spec["type"] != SchemaType.STRING or spec.get("schema") in (None, "", "null"),
            path=".schema",
            reason="FieldValueForbidden",
        ),
    )


TYPE_RULES = (
    _type_rule(
        AVAILABLE_TYPES,
        {
            "self.type in ['BYTES', 'NONE']": "'a topic of plain bytes needs no schema; a broker would store NONE, and "
            "take no other type after it'"
        },
    ),
    *_text_rules(_TEXTS, _PRIMITIVES),
)
"""The rules of a TopicSchema: its allowed types, and if `schema` is allowed or required with them."""

_PART_RULES = (
    _type_rule(
        PART_TYPES,
        {
            "self.type == 'NONE'": "'write BYTES for plain bytes'",
            "self.type == 'KEY_VALUE'": "'a pair inside a pair cannot be sent to a broker: make it a record'",
        },
    ),
    *_text_rules((*_TEXTS, SchemaType.PROTOBUF_NATIVE), (*_PRIMITIVES, SchemaType.BYTES)),
)


def type_field(kinds: tuple[SchemaType, ...]) -> Field:
    """Return the field `type` of a class with a rule about it."""
    return Field(f"The schema's type, by Pulsar's name: {', '.join(kinds)}.", max_length=64, values=kinds)


_LONGEST_NAME = 256


def properties_field(description: str) -> Field:
    """Return a field of properties."""
    return Field(
        description,
        max_properties=64,
        rules=(
            CelRule(
                cel=f"self.all(name, name != '' && size(name) <= {_LONGEST_NAME})",
                message=f"a name has 1 to {_LONGEST_NAME} characters",
                holds=lambda properties: all(0 < len(name) <= _LONGEST_NAME for name in properties),
            ),
        ),
    )


Properties = Mapping[str, Annotated[str, Field(max_length=4096)]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSpec:
    """The schema of the key or of the value."""

    RULES: ClassVar = _PART_RULES

    name: Annotated[
        str, Field("Name of the schema for clients, for instance String. Stored where clients read it.", max_length=256)
    ] = ""
    type: Annotated[SchemaType, type_field(PART_TYPES)]
    schema: Annotated[
        str,
        Field(
            "Text of the schema: an Avro schema in JSON for AVRO, JSON and PROTOBUF, the envelope for "
            "PROTOBUF_NATIVE. Empty or unset for others; for STRING also the text null.",
            max_length=MAX_TEXT,
        ),
    ] = ""
    properties: Annotated[
        Properties, properties_field("Properties of this schema. Pulsar does not compare them; clients use some.")
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValueSpec:
    """A pair of schemas."""

    encoding: Annotated[
        Encoding,
        Field(
            "Place of the key in a message. INLINE: before the value in the payload. SEPARATED: the message's own key."
        ),
    ]
    key: Annotated[PartSpec, Field("Schema of the key.")]
    value: Annotated[PartSpec, Field("Schema of the value.")]


_FILE = "[A-Za-z0-9_][A-Za-z0-9_.+@-]*"
_FILE_NAME = f"^({_FILE}/)*{_FILE}[.]proto$"
_LONGEST_FILE_NAME = 255
MAX_FILES = 256
_NAME_RULE = CelRule(
    cel=f"self.all(name, size(name) <= {_LONGEST_FILE_NAME} && name.matches('{_FILE_NAME}'))",
    message="use the imported name, for instance shop/order.proto: relative, with / between folders, "
    f"ending in .proto, at most {_LONGEST_FILE_NAME} letters, digits and . _ - + @",
    holds=lambda files: all(len(each) <= _LONGEST_FILE_NAME and matches(_FILE_NAME, each) for each in files),
)
_SIZE_RULE = CelRule(
    cel=f"self.map(name, self[name].size()).sum() <= {MAX_TEXT}",
    message=f"all files together may have {MAX_TEXT} characters; give only what the root message needs",
    holds=lambda files: sum(map(len, files.values())) <= MAX_TEXT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtobufSpec:
    """Sources that are compiled to what Pulsar takes."""

    message: Annotated[
        str,
        Field(
            "Full name of the root message, PACKAGE.MESSAGE.",
            max_length=512,
            rules=(
                matching(
                    "^[.]?[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$",
                    "write the message's full name, for instance shop.orders.Created",
                ),
            ),
        ),
    ]
    files: Annotated[
        Mapping[str, Annotated[str, Field(max_length=MAX_TEXT)]],
        Field(
            "The .proto files by their imported names, with all imports except google/protobuf/*.",
            max_properties=MAX_FILES,
            rules=(
                CelRule(cel="size(self) > 0", message="give at least the file of the root message", holds=bool),
                _NAME_RULE,
                _SIZE_RULE,
            ),
        ),
    ]
