"""From a schema's bytes to the model, taking exactly what Schema.Parser takes in the Avro library of a Pulsar line.

Refused beyond that, deliberately: bytes that are not UTF-8 (Java would put U+FFFD there), text behind the schema (Avro
overlooks it in long texts), tens of thousands of nodes some hundred levels deep (their paths would fill the memory),
defaults that do not fit (see `defaults`), and what the broker takes for JSON by its
fallback for Jackson's JSON Schema and then chokes on with every later upload (LEGACY_JSON_SCHEMA).
The parser never recurses, so no text can exhaust the stack.
"""

from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.formats.avro import avro_version as libraries
from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.model import Node, Union
from topicschema.core.formats.avro.parsing import defaults, sharing
from topicschema.core.formats.avro.parsing.builder import Builder
from topicschema.core.formats.avro.parsing.incremental import IncrementalReader
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType

_LARGE: Final = 4096
"""Bytes of a text from which on it costs less to know which types are equal than to compare them."""
_LEGACY_TYPES: Final = ("object", "integer", "number", "any")  # a tuple: `type` may be anything


def parse(info: SchemaInfo, line: PulsarLine = PulsarLine.V4_0, *, validate_defaults: bool = True) -> Node:
    """The root of the schema; InvalidSchemaError with rule and place where a broker of `line` could not use it.

    `validate_defaults=False` is the parse of the broker's compatibility check alone, which leaves defaults unread.
    """
    library = libraries.of(line)
    if len(info.schema) < _LARGE:
        return _parsed(info, Builder(json_text.read(_text(info.schema)), library), validate_defaults=validate_defaults)
    root: Node | None = sharing.find_whole(info.schema, library, validates=validate_defaults)
    if root is None:
        reading = IncrementalReader(_text(info.schema), sharing.before(info.schema, library))
        root = _parsed(info, Builder(reading.read(), library, reading), validate_defaults=validate_defaults)
        fingerprint.assign_digests(root)
        sharing.offer_whole(info.schema, root, library, validates=validate_defaults)
    return root


def _parsed(info: SchemaInfo, builder: Builder, *, validate_defaults: bool) -> Node:
    try:
        root = builder.build()
    except InvalidSchemaError:
        if info.type is SchemaType.JSON and _is_legacy(builder.value):
            raise _legacy() from None
        raise
    if info.type is SchemaType.AVRO and isinstance(root, Union):
        raise InvalidSchemaError("UNION_AT_TOP", "a schema of type AVRO may not be a union; wrap it in a record")
    if validate_defaults:
        _check_defaults(builder)
    return root


def _check_defaults(builder: Builder) -> None:
    if builder.forward.places:
        defaults.check_ahead(builder.fields, builder.named.values(), frozenset(builder.forward.places))
    else:
        defaults.check(builder.fields, builder.library)


def _text(schema: bytes) -> str:
    try:
        text = schema.decode()
    except UnicodeDecodeError as error:
        place = json_text.place_of(schema[: error.start].decode(), len(schema[: error.start].decode()))
        message = f"byte {error.start} is not UTF-8; save the schema as UTF-8"
        raise InvalidSchemaError("NOT_UTF8", message, place) from None
    if not text.strip():
        message = "the text is empty; an Avro schema is wanted"
        raise InvalidSchemaError("SYNTAX", message, json_text.place_of(text, len(text)))
    return text


def _is_legacy(value: Any) -> bool:
    """Whether it looks like the JSON Schema that Jackson's generator writes, not like an Avro schema with a mistake."""
    return isinstance(value, dict) and ("$schema" in value or value.get("type") in _LEGACY_TYPES)


def _legacy() -> InvalidSchemaError:
    message = (
        "this is a JSON Schema, not an Avro schema: a broker of line 4.0 would store it and then fail on every later "
        "upload, a newer one refuses it; write the Avro schema of the messages"
    )
    return InvalidSchemaError("LEGACY_JSON_SCHEMA", message, Place())
