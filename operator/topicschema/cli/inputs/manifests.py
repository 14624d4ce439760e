"""Schema of a TopicSchema manifest, for commands that accept a manifest instead of a schema's file."""

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
    """Return the schema in the form of the REST API. Raises UsageError unless there is one valid TopicSchema."""
    spec = _spec(name, content)
    try:
        sources = schema_source.sources_of(spec)
        if sources is not None:
            return SchemaInfo(SchemaType.PROTOBUF_NATIVE, _compiled(name, sources), dict(spec.properties))
        info = schema_source.info_of(spec)
        if info.type is not SchemaType.KEY_VALUE:
            return info
        return replace(info, schema=key_value.text_of(info.schema).encode())
    except InvalidSchemaError as error:
        raise UsageError(f"{name}: {error.sentence}") from None
    except UnicodeEncodeError:
        raise UsageError(f"{name}: half of a surrogate pair (\\uD800 and the like) is no text") from None


def _spec(name: str, content: bytes) -> TopicSchemaSpec:
    resources = [each for each in _documents(name, content) if _is_topic_schema(each)]
    if len(resources) != 1:
        raise UsageError(f"{name} has {len(resources)} TopicSchemas; one is needed")
    try:
        return decode(TopicSchemaSpec, resources[0].get("spec"), "spec")
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
    except (ValueError, AttributeError, LookupError) as error:  # an invalid date or number, such as 2026-02-30
        raise UsageError(f"{name} is not YAML: {error}; write texts in quotes") from None


def _is_topic_schema(resource: Any) -> bool:
    return isinstance(resource, dict) and resource.get("kind") == "TopicSchema"


def _compiled(name: str, sources: ProtobufSources) -> bytes:
    try:
        return protoc.compile_envelope(sources)
    except InvalidSchemaError as error:
        culprit = protoc.file_of(error.place.path, sources.files)
        text = "" if culprit is None or error.place.line is None else sources.files[culprit]
        shown = f"{culprit} of {name}" if culprit else name
        raise UsageError(check_text.not_compiled(text, Refusal.of(error), shown)) from None
    except WaitingError as error:
        raise UsageError(error.message) from None
