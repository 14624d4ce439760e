"""Schemas of a command line: the content of a file or, for `.proto` files, the schema that a client would send."""

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from topicschema.cli.inputs import admin_forms, files
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.core.schemas import AVRO_TEXTS, PRIMITIVES, PulsarVersion, SchemaInfo, SchemaType

_COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"PK\x03\x04")
"""The begin of files of gzip, zstd, bzip2, xz and zip."""
_PROTO: Final = re.compile(
    rb"(?:\s+|//[^\n]*\n|/\*.*?\*/)*+((syntax|edition)\s*=|package\s+[\w.]+\s*;|import\s+[\w\s]*\"|message\s+\w+\s*\{)",
    re.DOTALL,
)
_RESOURCE: Final = re.compile(
    rb"(?:\s*#.*\n)*\s*(---|%YAML|(apiVersion|kind|metadata|spec):|\{\s*\"(apiVersion|kind)\")"
)


def kind_of(named: str | None, names: Sequence[str], option: str = "--type") -> SchemaType:
    """Return the type `named`, or else that of the files: PROTOBUF_NATIVE for `.proto`, otherwise AVRO.

    Raises UsageError if sources should have another type.
    """
    source = next(filter(is_proto, names), None)
    if source is None:
        return SchemaType(named or SchemaType.AVRO)
    if named not in (None, SchemaType.PROTOBUF_NATIVE):
        raise UsageError(f"{source} is PROTOBUF_NATIVE, not {named}: leave out {option}")
    return SchemaType.PROTOBUF_NATIVE


def is_proto(name: str) -> bool:
    """Return True if the file has sources for protoc."""
    return name.endswith(".proto")


def is_manifest(name: str, content: bytes) -> bool:
    """Return True if the file has a Kubernetes resource, by its name or its beginning. No schema begins like that."""
    if PurePath(name).suffix in admin_forms.YAML_SUFFIXES:
        return not admin_forms.versions(name, content)
    return _RESOURCE.match(content) is not None


def read(
    kinds: Sequence[SchemaType], names: Sequence[str], options: Namespace, properties: Mapping[str, str]
) -> list[SchemaInfo]:
    """Return the schema in each file, each of its own type. Raises UsageError if one cannot be read or compiled.

    If the command has a history, its files come first. A manifest is no schema's file. A file in a form of Pulsar's
    admin tools has its own type and properties, and may have several versions: see `expanded`.
    """
    inputs = expanded(names, files.read_all(names), options)
    manifest = next((each.name for each in inputs if each.info is None and is_manifest(each.name, each.text)), None)
    if manifest is not None:
        where = "check, fingerprint and validate-messages --schema take it"
        raise UsageError(f"{files.shown(manifest)} is a manifest ({where}): name the file of the schema alone")
    return infos_of([kinds[each.number] for each in inputs], inputs, options, properties)


@dataclass(frozen=True, slots=True)
class Input:
    """A schema's name and text, and the schema if the file has its type and properties. `number` is the file's."""

    number: int
    name: str
    text: bytes
    info: SchemaInfo | None


def expanded(names: Sequence[str], texts: Sequence[bytes], options: Namespace) -> list[Input]:
    """Return the files, with those in a form of Pulsar's admin tools read: each version of a history is one input.

    `options.history` then has a name for each version. Raises UsageError for a candidate with several versions, or with
    another type than `--type`.
    """
    history = vars(options).get("history", [])
    count, inputs = len(history), list[Input]()
    for number, (name, text) in enumerate(zip(names, texts, strict=True)):
        versions = admin_forms.versions(name, text)
        if number >= count:
            _demand_one(files.shown(name), versions, options)
        inputs += (
            Input(number, name if len(versions) == 1 else f"{files.shown(name)}, version {index}", each.schema, each)
            for index, each in enumerate(versions)
        )
        if not versions:
            inputs.append(Input(number, name, text, None))
    history[:] = [each.name for each in inputs if each.number < count]
    return inputs


def _demand_one(shown: str, versions: Sequence[SchemaInfo], options: Namespace) -> None:
    if len(versions) > 1:
        raise UsageError(f"{shown} has {len(versions)} versions: give it as --history, and one schema as the candidate")
    if versions and vars(options).get("type") not in (None, versions[0].type.value):
        raise UsageError(f"{shown} has its own type {versions[0].type}: remove --type")


def infos_of(
    kinds: Sequence[SchemaType], inputs: Sequence[Input], options: Namespace, properties: Mapping[str, str]
) -> list[SchemaInfo]:
    """Return the schemas, compiled where they are sources. Those without their own type are of `kinds`."""
    made = made_of(
        [kind if each.info is None else SchemaType.NONE for kind, each in zip(kinds, inputs, strict=True)],
        [each.name for each in inputs],
        [each.text for each in inputs],
        options,
    )
    infos = [
        replace(each.info, properties={**each.info.properties, **properties})
        if each.info is not None
        else SchemaInfo(kind, text, properties)
        for kind, text, each in zip(kinds, made, inputs, strict=True)
    ]
    for each, info in zip(inputs[: len(vars(options).get("history", ()))], infos, strict=False):
        if info.type in PRIMITIVES and info.schema not in (b"", b"null"):
            remedy = ": name their type with --history-type" if "history_type" in vars(options) else ""
            why = f"a version of type {info.type} has no text, and this file has one"
            raise UsageError(f"{files.shown(each.name)} cannot be an earlier version{remedy}; {why}")
    return infos


def made_of(
    kinds: Sequence[SchemaType], names: Sequence[str], texts: Sequence[bytes], options: Namespace
) -> list[bytes]:
    """Return the schemas for texts that are already read."""
    values = vars(options)
    for kind, name, text in zip(kinds, names, texts, strict=True):
        _demand_readable(kind, name, text)
    are_sources = [_is_source(*each) for each in zip(kinds, names, texts, strict=True)]
    if not any(are_sources):
        if any(values.get(each) for each in ("message", "history_message", "folders", "imported")):
            raise UsageError("--message, --history-message, --import and -I are for .proto files")
        return list(texts)
    from topicschema.cli.inputs import proto_files  # noqa: PLC0415  # a child process and asyncio, only for .proto

    search = proto_files.Search(
        options.message, options.folders, options.imported, PulsarVersion(options.pulsar_version)
    )
    earlier = replace(search, message=values.get("history_message") or options.message)
    versions = len(values.get("history", ()))
    called = next(filter(is_proto, names), "stdin.proto")  # standard input gets the name of the file beside it
    used: set[str] = set()
    made = []
    for number, (name, text, is_source) in enumerate(zip(names, texts, are_sources, strict=True)):
        if not is_source:
            made.append(text)
            continue
        own = earlier if number < versions else search
        compiled = own.compiled(called if name == STANDARD_INPUT else name, text)
        used.update(compiled.files)
        made.append(compiled.envelope)
    search.demand_used(used)
    return made


def _demand_readable(kind: SchemaType, name: str, text: bytes) -> None:
    if text.startswith(_COMPRESSED):
        raise UsageError(f"{files.shown(name)}: compressed files are not read: unpack it")
    if kind in AVRO_TEXTS and _PROTO.match(text):
        remedy = "write --type PROTOBUF_NATIVE" if name == STANDARD_INPUT else "its name must end with .proto"
        raise UsageError(f"{files.shown(name)} is a protobuf source: {remedy}")


def _is_source(kind: SchemaType, name: str, text: bytes) -> bool:
    if kind is not SchemaType.PROTOBUF_NATIVE:
        return False
    return is_proto(name) or (name == STANDARD_INPUT and not text.lstrip().startswith(b"{"))
