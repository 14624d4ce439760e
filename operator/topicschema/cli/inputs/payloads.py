"""Common parts of `decode`, `encode` and `validate`: the schema, and bytes, plain or as text."""

import base64
import binascii
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from topicschema.cli.check.excerpt import printable
from topicschema.cli.commands import check
from topicschema.cli.inputs import files, schema_files
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.key_value import Encoding, KeyValueSchema
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import PRIMITIVES, PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload import PayloadFinding

T = TypeVar("T")
_PLAIN = frozenset({SchemaType.NONE, SchemaType.BYTES})


def schema(options: Namespace) -> Schema:
    """Return the schema that the options name. Raises UsageError if it is none, or has no payloads."""
    values = vars(options)
    names = [values.get(each) for each in ("schema", "writer", "payload", "value")]
    names += [options.key] if "payload" in values else []  # `encode` writes the key
    if names.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be one of the files only")
    kind = schema_files.kind_of(options.type, [options.schema or ""])
    if kind in _PLAIN:
        return PrimitiveSchema(SchemaInfo(kind), "")
    if options.schema is None and kind not in PRIMITIVES:
        raise UsageError(f"a payload of type {kind} needs its schema: add --schema FILE")
    return _parsed(options, options.schema)


def writer(options: Namespace) -> Schema | None:
    """Return the version with which the payload was written, or None if the options name none."""
    if options.writer is None:
        return None
    if schema_files.kind_of(options.type, [options.schema or ""]) is not SchemaType.AVRO:
        raise UsageError("--writer is for the type AVRO: consumers of other types read with one schema")
    read = _parsed(options, options.writer, validate_defaults=False)  # a reader never uses a writer's defaults
    if read.info.type is not SchemaType.AVRO:
        raise UsageError(f"--writer is for the type AVRO, and {files.shown(options.writer)} has {read.info.type}")
    return read


def usable(step: Callable[[], T], name: str | None) -> T:
    """Return the result of `step`. Raises UsageError if it cannot use the schema in that file."""
    try:
        return step()
    except InvalidSchemaError as error:
        called = "the schema" if name is None else files.shown(name)
        raise UsageError(f"{called}: {error.sentence}") from None


def read(name: str, options: Namespace) -> bytes:
    """Return the bytes of a file, decoded with --hex or --base64."""
    return _bytes(files.read(name), files.shown(name), options)


def key(options: Namespace, parsed: Schema) -> bytes | None:
    """Return the message's key. Raises UsageError for a key that the schema does not use."""
    if options.key is None:
        return None
    demand_separated(parsed)
    return read(options.key, options)


def is_separated(parsed: Schema) -> bool:
    """Return True if the message's own key is a part of its value."""
    return isinstance(parsed, KeyValueSchema) and parsed.pair.encoding is Encoding.SEPARATED


def demand_separated(parsed: Schema) -> None:
    """Raise UsageError if the message's own key is no part of its value."""
    if not is_separated(parsed):
        raise UsageError("--key is for a KEY_VALUE with --property kv.encoding.type=SEPARATED")


def write(content: bytes, name: str | None, options: Namespace) -> None:
    """Write the bytes into the file, or to standard output. With --hex or --base64 they are a line of text."""
    if options.hex or options.base64:
        content = (content.hex() if options.hex else base64.b64encode(content).decode()).encode() + b"\n"
    if name is None or name == STANDARD_INPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        Path(name).write_bytes(content)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def summary(finding: PayloadFinding) -> str:
    """Return the finding as a line of text."""
    return printable(f"{finding.error.sentence}{' (consumers read on)' if finding.is_tolerated else ''}")


def _parsed(options: Namespace, name: str | None, *, validate_defaults: bool = True) -> Schema:
    names = [] if name is None else [name]
    kind = schema_files.kind_of(options.type, names)
    properties = check.properties(options.property)
    infos = schema_files.read([kind for _ in names], names, options, properties)
    info = infos[0] if infos else SchemaInfo(kind, b"", properties)
    pulsar_version = PulsarVersion(options.pulsar_version)
    return usable(
        lambda: formats.parse(formats.as_stored(info), pulsar_version, validate_defaults=validate_defaults), name
    )


def _bytes(content: bytes, name: str, options: Namespace) -> bytes:
    bare = b"".join(content.split())
    try:
        if options.hex:
            return binascii.unhexlify(bare)
        return base64.b64decode(bare, validate=True) if options.base64 else content
    except ValueError:
        raise UsageError(f"{name} is not {'hexadecimal' if options.hex else 'base64'}") from None
