"""PROTOBUF_NATIVE: an envelope of protobuf's own descriptors. docs/spec/protobuf-native.md has the rules.

The broker dedupes by the envelope's bytes, and compares only the full names of the root messages. The model has
everything in the descriptors, for rules that compare more.
"""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native import envelope, files, risks
from topicschema.core.formats.protobuf_native.linking import Built, Linker
from topicschema.core.formats.protobuf_native.model import (
    Descriptors,
    Enum,
    Field,
    File,
    Kind,
    Label,
    Message,
    Presence,
    Range,
)
from topicschema.core.formats.protobuf_native.symbols import Sort, Symbol, Symbols, shown
from topicschema.core.schemas import PulsarVersion, SchemaInfo, fingerprint_of_bytes
from topicschema.core.steps import Steps

__all__ = [
    "FORMAT",
    "Descriptors",
    "Enum",
    "Field",
    "File",
    "Kind",
    "Label",
    "Message",
    "Presence",
    "ProtobufNativeSchema",
    "Range",
]

_SPECIAL: Final = re.compile(r"[\\^$|?*+()\[\]{}]")
_ANY_CHARACTER: Final = "[^\n\r\u0085\u2028\u2029]"
_ROOT: Final = "$.rootMessageTypeName"


@dataclass(frozen=True, slots=True)
class ProtobufNativeSchema:
    """A parsed PROTOBUF_NATIVE schema."""

    info: SchemaInfo
    descriptors: Descriptors
    fingerprint: str


class _ProtobufNative:
    """The Format of PROTOBUF_NATIVE."""

    has_checker = True

    def parse(
        self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True
    ) -> ProtobufNativeSchema:
        """Return the schema. Raises InvalidSchemaError if the broker could not resolve its root message."""
        del validate_defaults  # defaults are always validated
        read = envelope.read(info.schema)
        linker = Linker(pulsar_version)
        for proto in files.needed(read):
            linker.add(proto)
        root = _root(linker.built[read.root_file].symbols, read.root_message)
        descriptors = _descriptors(linker.built, linker.built[root.file].messages[root.full_name])
        return ProtobufNativeSchema(info, descriptors, fingerprint_of_bytes(info.type, info.schema))

    def compares(self, schema: ProtobufNativeSchema) -> bool:
        """Return True: the broker always compares it."""
        del schema
        return True

    def unreadable(
        self, reader: ProtobufNativeSchema, writer: ProtobufNativeSchema, steps: Steps
    ) -> tuple[Mismatch, ...]:
        """Return ROOT_MESSAGE_CHANGED if the root messages have different full names."""
        del steps
        names = [shown(schema.descriptors.root.full_name) for schema in (reader, writer)]
        if reader.descriptors.root.full_name == writer.descriptors.root.full_name:
            return ()
        message = f"{{reader}} has the root message {names[0]}, {{writer}} has {names[1]}"
        return (Mismatch("ROOT_MESSAGE_CHANGED", message, _ROOT, _ROOT, is_mutual=True),)

    def risks(self, reader: ProtobufNativeSchema, writer: ProtobufNativeSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return what clients lose or misread and the broker does not check. docs/rules.md has the rules."""
        if reader.info.schema == writer.info.schema:
            return ()
        return risks.risks(reader.descriptors, writer.descriptors, steps)


FORMAT = _ProtobufNative()


def _root(symbols: Symbols, name: str) -> Symbol:
    """Return the root message that the broker resolves for a name in an envelope.

    The broker uses the package as a regular expression and removes its first match, then the first dot. Then it goes
    from message to nested message. A package with characters that have another meaning in a regular expression is
    refused.
    """
    if _SPECIAL.search(symbols.package):
        raise symbols.refusal("", "the package's name has signs that no package's name has")
    pattern = re.escape(symbols.package).replace(r"\.", _ANY_CHARACTER)
    outer, *nested = re.sub(pattern, "", name, count=1).replace(".", "", 1).rstrip(".").split(".")
    root = _message(symbols, f"{symbols.package}.{outer}" if symbols.package else outer)
    if root is not None and root.file != symbols.file:
        root = None
    for each in nested:
        root = root and _message(symbols, f"{root.full_name}.{each}")
    if root is None:
        message = f"the file {shown(symbols.file)!r} has no message that the broker finds by {shown(name)!r}"
        raise InvalidSchemaError("UNKNOWN_MESSAGE", message, Place(_ROOT))
    return root


def _message(symbols: Symbols, full_name: str) -> Symbol | None:
    symbol = symbols.find(full_name)
    return symbol if symbol is not None and symbol.sort is Sort.MESSAGE else None


def _descriptors(built: dict[str, Built], root: Message) -> Descriptors:
    messages: dict[str, Message] = {}
    enums: dict[str, Enum] = {}
    extensions: dict[str, dict[int, Field]] = {}
    for each in reversed(built.values()):  # so that the first file to define a name has it
        messages.update(each.messages)
        enums.update({enum.full_name: enum for enum in each.enums})
        for extended, field in each.extensions:
            extensions.setdefault(extended, {})[field.number] = field
    return Descriptors(
        root=root,
        files=MappingProxyType({name: each.file for name, each in built.items()}),
        messages=MappingProxyType(messages),
        enums=MappingProxyType(enums),
        extensions=MappingProxyType({name: MappingProxyType(fields) for name, fields in extensions.items()}),
    )
