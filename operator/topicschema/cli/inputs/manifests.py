"""The schema that a TopicSchema manifest holds, for commands that take a manifest where a schema's file is wanted."""

from dataclasses import replace
from typing import Any

import yaml

from topicschema import protoc
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import Refusal
from topicschema.cli.inputs.files import UsageError
from topicschema.core.errors import InvalidSchemaError, StalledError, WaitingError
from topicschema.core.formats import key_value
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.judging import schema_source
from topicschema.protoc import ProtobufSources


def schema(name: str, content: bytes) -> SchemaInfo:
    """The schema as it is sent over REST; UsageError unless there is one TopicSchema whose schema can be made."""
    spec = _spec(name, content)
    try:
        wanted = schema_source.sources_of(spec)
        if wanted is not None:
            return SchemaInfo(SchemaType.PROTOBUF_NATIVE, _compiled(name, wanted), dict(spec.properties))
        info = schema_source.info_of(spec)
        if info.type is not SchemaType.KEY_VALUE:
            return info
        return replace(info, schema=key_value.text_of(info.schema).encode())
    except InvalidSchemaError as error:
        raise UsageError(f"{name}: {error.sentence}") from None
    except UnicodeEncodeError:
        raise UsageError(f"{name}: half of a surrogate pair (\\uD800 and the like) is no text") from None


def _spec(name: str, content: bytes) -> TopicSchemaSpec:
    found = [each for each in _documents(name, content) if _is_topic_schema(each)]
    if len(found) != 1:
        raise UsageError(f"{name} has {len(found)} TopicSchemas; one is needed")
    try:
        return decode(TopicSchemaSpec, found[0].get("spec"), "spec")
    except StalledError as error:
        raise UsageError(f"{name}: {error.message}") from None


def _documents(name: str, content: bytes) -> list[Any]:
    try:
        return list(yaml.safe_load_all(content))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        raise UsageError(f"{name} is not YAML: {where}{error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise UsageError(f"{name} is not YAML: {error.reason} at position {error.position}") from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deep") from None
    except (ValueError, AttributeError, LookupError) as error:  # what should be a date or a number: 2026-02-30
        raise UsageError(f"{name} is not YAML: {error}; write texts in quotes") from None


def _is_topic_schema(resource: Any) -> bool:
    return isinstance(resource, dict) and resource.get("kind") == "TopicSchema"


def _compiled(name: str, wanted: ProtobufSources) -> bytes:
    try:
        return protoc.compile_envelope(wanted)
    except InvalidSchemaError as error:
        culprit = protoc.file_of(error.place.path, wanted.files)
        text = "" if culprit is None or error.place.line is None else wanted.files[culprit]
        shown = f"{culprit} of {name}" if culprit else name
        raise UsageError(check_text.not_compiled(text, Refusal.of(error), shown)) from None
    except WaitingError as error:
        raise UsageError(error.message) from None
