"""`topicschema manifest`: a schema's file as a TopicSchema manifest."""

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final

from topicschema.api.schemas import AVAILABLE_TYPES, PART_TYPES
from topicschema.api.topic_names import MAX_NAME, name_of
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import Refusal
from topicschema.cli.commands import check
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, schema_files
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.manifest import layout, writing
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError, StalledError
from topicschema.core.formats import key_value
from topicschema.core.schemas import AVRO_TEXTS, PRIMITIVES, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.topics import Topic

_OF_PARTS: Final = ("key.schema.", "value.schema.", "kv.encoding.type")
"""Prefixes of the properties that a resource expresses as `spec.keyValue`."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_UNTIDY: Final = re.compile(r"[ \t]$|\t", re.MULTILINE)


def run(options: Namespace) -> int:
    """Print the manifest. Return 1, with the reason on standard error, if the text is no schema."""
    return write(options, schema_of_file)


def write(options: Namespace, schema: Callable[[Namespace], tuple[SchemaInfo, dict[str, Any]]]) -> int:
    """Print the manifest, as `run`. `schema` returns the schema, and the fields of a spec for it."""
    name = _name(options)
    info = checked(options, schema)
    if info is None:
        return INCOMPATIBLE
    print(writing.rendered(manifest(options.topic, info[1], name, options.namespace)), end="")
    return COMPATIBLE


def _name(options: Namespace) -> str:
    """Return the name of the resource. Raises UsageError if the topic or one of the names cannot be one."""
    try:
        topic = Topic.parse(options.topic)
    except StalledError as error:
        raise UsageError(error.message) from None
    name: str = options.name or name_of(topic)
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise UsageError(f"{name!r} cannot be a resource's name; give one with --name")
    if options.namespace and not _LABEL.fullmatch(options.namespace):
        raise UsageError(f"{options.namespace!r} cannot be a Kubernetes namespace")
    return name


def checked(
    options: Namespace, schema: Callable[[Namespace], tuple[SchemaInfo, dict[str, Any]]]
) -> tuple[SchemaInfo, dict[str, Any]] | None:
    """Return the result of `schema`. Print the reason on standard error and return None if the text is no schema."""
    spec: dict[str, Any] = {}
    try:
        info, spec = schema(options)
        formats.parse(info, PulsarVersion(options.pulsar_version))
    except InvalidSchemaError as error:
        shown, text = files.shown(options.file or "no file"), spec.get("schema", "")
        print(check_text.refused(text, Refusal.of(error), shown, options.pulsar_version), file=sys.stderr)
        return None
    return info, spec


def manifest(topic: str, schema: dict[str, Any], name: str, namespace: str | None) -> dict[str, Any]:
    """Return the resource for a parsed schema, given as fields of the spec."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": "topicschema.io/v1alpha1",
        "kind": "TopicSchema",
        "metadata": metadata,
        "spec": {"topic": topic} | schema,
    }


def schema_of_file(options: Namespace) -> tuple[SchemaInfo, dict[str, Any]]:
    """Return the schema, and the fields of a spec for it."""
    names = [] if options.file is None else [options.file]
    kind = schema_files.kind_of(options.type, names)
    if kind not in AVAILABLE_TYPES:
        raise UsageError(f"a TopicSchema cannot have the type {kind}")
    if options.file is None and kind not in PRIMITIVES:
        raise UsageError(f"a schema of type {kind} needs its FILE")
    if kind is SchemaType.PROTOBUF_NATIVE and schema_files.is_proto(options.file):
        return _sources(options)
    if options.imported or options.more_imported:
        raise UsageError("only a FILE.proto has other files")
    properties = check.properties(options.property)
    infos = schema_files.read([kind for _ in names], names, options, properties)
    info = infos[0] if infos else SchemaInfo(kind, b"", properties)
    if info.type not in AVAILABLE_TYPES:
        raise UsageError(f"a TopicSchema cannot have the type {info.type}")
    return _pair(info, options) if info.type is SchemaType.KEY_VALUE else (info, spec_of(info, options))


def spec_of(info: SchemaInfo, options: Namespace) -> dict[str, Any]:
    """Return the fields of a spec for a schema that is no pair."""
    text = _laid_out(info.type, info.schema.decode(errors="replace"), options)
    return _spec(info.type, info.properties) | ({"schema": text} if text else {})


def _laid_out(kind: SchemaType, text: str, options: Namespace) -> str:
    """Return the text as an indented block, if it is none and the type's identity does not depend on the layout."""
    if options.verbatim or kind not in AVRO_TEXTS or (writing.is_block(text) and not _UNTIDY.search(text)):
        return text
    block = layout.indented(text)
    return block if block is not None and writing.is_block(block) else text


def _spec(kind: SchemaType, properties: Mapping[str, str]) -> dict[str, Any]:
    return {"type": kind.value} | ({"properties": dict(properties)} if properties else {})


def _pair(sent: SchemaInfo, options: Namespace) -> tuple[SchemaInfo, dict[str, Any]]:
    """Return a pair in the form of the REST API, and its fields. Raises InvalidSchemaError if it is none."""
    info = formats.as_stored(sent)
    pair = key_value.decode(info)
    if pair.encoding is None:
        raise UsageError("--property kv.encoding.type: write INLINE or SEPARATED")
    for side, part in pair.parts:
        if part.info.type not in PART_TYPES:
            raise UsageError(f"a part of a TopicSchema's pair cannot have the type {part.info.type}")
        if part.info.type is SchemaType.BYTES and part.info.schema:
            raise UsageError(f"the {side} has a schema and the type BYTES: add --property {side}.schema.type=TYPE")
    own = {name: text for name, text in sent.properties.items() if not name.startswith(_OF_PARTS)}
    parts = {side.value: _part(part, options) for side, part in pair.parts}
    return info, _spec(info.type, own) | {"keyValue": {"encoding": pair.encoding.value} | parts}


def _part(part: key_value.Part, options: Namespace) -> dict[str, Any]:
    text = _laid_out(part.info.type, part.info.schema.decode(errors="replace"), options)
    fields = {"name": part.name, "type": part.info.type.value, "schema": text}
    return {name: text for name, text in fields.items() if text} | (
        {"properties": dict(part.info.properties)} if part.info.properties else {}
    )


def _sources(options: Namespace) -> tuple[SchemaInfo, dict[str, Any]]:
    from topicschema.cli.inputs import proto_files  # noqa: PLC0415  # a child process and asyncio, only for .proto

    listed = [*options.imported, *options.more_imported]
    search = proto_files.Search(options.message, options.folders, listed, PulsarVersion(options.pulsar_version))
    compiled = search.compiled(options.file, files.read(options.file))
    search.demand_used(compiled.files)
    kind = SchemaType.PROTOBUF_NATIVE
    properties = check.properties(options.property)
    protobuf = {"message": compiled.message, "files": dict(compiled.files)}
    return SchemaInfo(kind, compiled.envelope, properties), _spec(kind, properties) | {"protobuf": protobuf}
