"""Schemas of a command line: the content of a file or, for `.proto` files, the schema that a client would send."""

import re
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from topicschema.cli.inputs import files
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.core.schemas import PulsarVersion, SchemaType

_MANIFESTS: Final = frozenset({".yaml", ".yml"})
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
    return PurePath(name).suffix in _MANIFESTS or _RESOURCE.match(content) is not None


def read_all(kind: SchemaType, names: Sequence[str], options: Namespace) -> list[bytes]:
    """Return the schema in each file, all of one type. Raises UsageError if one cannot be read or compiled."""
    return read_each([kind] * len(names), names, options)


def read_each(kinds: Sequence[SchemaType], names: Sequence[str], options: Namespace) -> list[bytes]:
    """Return the schema in each file, each of its own type. Raises UsageError if one cannot be read or compiled.

    If the command has a history, its files come first. A manifest is no schema's file.
    """
    texts = files.read_all(names)
    manifest = next((name for name, text in zip(names, texts, strict=True) if is_manifest(name, text)), None)
    if manifest is not None:
        where = "check, fingerprint and validate-messages --schema take it"
        raise UsageError(f"{files.shown(manifest)} is a manifest ({where}): name the file of the schema alone")
    return made_of(kinds, names, texts, options)


def made_of(
    kinds: Sequence[SchemaType], names: Sequence[str], texts: Sequence[bytes], options: Namespace
) -> list[bytes]:
    """Return the schemas for texts that are already read."""
    values = vars(options)
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


def _is_source(kind: SchemaType, name: str, text: bytes) -> bool:
    if kind is not SchemaType.PROTOBUF_NATIVE:
        return False
    return is_proto(name) or (name == STANDARD_INPUT and not text.lstrip().startswith(b"{"))
