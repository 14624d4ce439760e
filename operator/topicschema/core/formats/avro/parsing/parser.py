"""Parser from a schema's bytes to the model.

It accepts exactly what Schema.Parser accepts in the Avro library of a Pulsar version, but deliberately refuses:
* bytes that are not UTF-8 (Java would replace them with U+FFFD);
* text after the schema (Avro ignores it in long texts);
* tens of thousands of nodes some hundred levels deep (their paths would exhaust memory);
* defaults that do not fit (see `defaults`);
* JSON schemas that the broker accepts by its fallback to Jackson's JSON Schema, and then fails on at every later upload
  (LEGACY_JSON_SCHEMA).

The parser never recurses, so no text can exhaust the stack.
"""

from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.formats.avro import avro_version
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Node, Union
from topicschema.core.formats.avro.parsing import defaults, resolved_defaults
from topicschema.core.formats.avro.parsing.builder import Builder
from topicschema.core.formats.avro.parsing.defaults import DefaultsChecker
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.steps import Steps

_LEGACY_TYPES: Final = ("object", "integer", "number", "any")  # a tuple, because `type` may be unhashable


def parse(
    info: SchemaInfo, pulsar_version: PulsarVersion = PulsarVersion.V4_0, *, validate_defaults: bool = True
) -> Node:
    """Return the root of the schema. Its named types have no digests yet.

    Raise InvalidSchemaError with rule and place if a broker of `pulsar_version` could not use the schema.
    `validate_defaults=False` parses as the broker's compatibility check does, which does not validate defaults.
    """
    builder = Builder(json_text.read(_text(info.schema)), avro_version.of(pulsar_version))
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
    if builder.library is Library.AVRO_1_12:
        resolved_defaults.check(builder.fields, builder.named.values(), frozenset(builder.forward.places))
    else:
        defaults.check(builder.fields, DefaultsChecker(Library.AVRO_1_11, Steps()))


def _text(schema: bytes) -> str:
    try:
        text = schema.decode()
    except UnicodeDecodeError as error:
        place = json_text.place_of(schema[: error.start].decode(), len(schema[: error.start].decode()))
        message = f"byte {error.start} is not UTF-8; save the schema as UTF-8"
        raise InvalidSchemaError("NOT_UTF8", message, place) from None
    if not text.strip():
        message = "the text is empty; write an Avro schema"
        raise InvalidSchemaError("SYNTAX", message, json_text.place_of(text, len(text)))
    return text


def _is_legacy(value: Any) -> bool:
    """Return True if the value resembles a JSON Schema of Jackson's generator, not an Avro schema with a mistake."""
    return isinstance(value, dict) and ("$schema" in value or value.get("type") in _LEGACY_TYPES)


def _legacy() -> InvalidSchemaError:
    message = (
        "this is a JSON Schema, not an Avro schema: a broker of Pulsar 4.0 would store it and then fail on every later "
        "upload, a newer one refuses it; write the Avro schema of the messages"
    )
    return InvalidSchemaError("LEGACY_JSON_SCHEMA", message, Place())
