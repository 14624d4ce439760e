"""Conversion of descriptors to the model: it resolves names and refuses what protobuf's Java library refuses to build.

Source: Descriptors.FileDescriptor.buildFrom (3.25, as in Pulsar 4.0; 4.35, as in Pulsar 5.0). It is less strict than
protoc, because such a set of files may be hand-made. Every schema that a broker has accepted must be readable here, so
nothing more is checked.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.protobuf_native import features, fields
from topicschema.core.formats.protobuf_native.features import Features
from topicschema.core.formats.protobuf_native.model import Enum, Field, File, Message, Range
from topicschema.core.formats.protobuf_native.symbols import Registry, Sort, Symbols
from topicschema.core.schemas import PulsarVersion

MAX_VISIBLE: Final = 250_000
"""A bound of this reader: the sum, over all files, of the files visible to each one."""

_EDITIONS: Final = "editions"
_SUPPORTED: Final = frozenset({998, 999, 1000, 1001, 9999})
"""Editions that protobuf's Java library 4.35 supports: proto2, proto3, 2023, 2024, and the one called UNSTABLE."""


@dataclass(frozen=True, slots=True)
class Built:
    """A file whose names are resolved. `public` are the files whose symbols are visible to its importers, too."""

    file: File
    symbols: Symbols
    messages: Mapping[str, Message]
    enums: tuple[Enum, ...]
    extensions: tuple[tuple[str, Field], ...]
    public: tuple["Built", ...]


class Linker:
    """A builder of files, one after the other, each after all that it imports.

    It refuses editions that brokers with protobuf's library 4 do not support. Earlier brokers read any as proto3.
    """

    def __init__(self, pulsar_version: PulsarVersion) -> None:
        self._pulsar_version = pulsar_version
        self.built: dict[str, Built] = {}
        self._registry = Registry()
        self._visible_files = 0

    def add(self, proto: FileDescriptorProto) -> None:
        """Build a file. Raises InvalidSchemaError INVALID_DESCRIPTOR with the name of what cannot be built."""
        imported = [self.built[name] for name in proto.dependency]
        visible = {id(each.symbols): each.symbols for each in _with_public(imported)}
        self._visible_files += len(visible)
        if self._visible_files > MAX_VISIBLE:
            message = f"the files see more than {MAX_VISIBLE:,} others through their imports"
            raise InvalidSchemaError("INVALID_DESCRIPTOR", message, Place("$.fileDescriptorSet"))
        linking = _Linking(Symbols(proto.name, proto.package, visible.values(), self._registry))
        checks_editions = self._pulsar_version.has_protobuf_4
        if checks_editions and proto.syntax == _EDITIONS and proto.edition not in _SUPPORTED:
            message = f"Pulsar {self._pulsar_version} does not support its edition, {proto.edition}"
            raise linking.symbols.refusal("", message)
        linking.define(proto)
        self.built[proto.name] = Built(
            File(proto.name, proto.package, _syntax(proto)),
            linking.symbols,
            MappingProxyType({message.full_name: message for message in linking.messages()}),
            tuple(linking.enums),
            tuple(linking.extensions),
            tuple(_public(linking.symbols, proto, imported)),
        )


def _public(symbols: Symbols, proto: FileDescriptorProto, imported: list[Built]) -> Iterator[Built]:
    for index in proto.public_dependency:
        if not 0 <= index < len(imported):
            raise symbols.refusal("", f"public_dependency {index} is no import of the file")
        yield imported[index]


def _with_public(imported: Iterable[Built]) -> Iterator[Built]:
    done: set[int] = set()
    waiting = list(imported)
    while waiting:
        each = waiting.pop()
        if id(each) not in done:
            done.add(id(each))
            waiting.extend(each.public)
            yield each


def _syntax(proto: FileDescriptorProto) -> str:
    return f"edition {proto.edition}" if proto.syntax == _EDITIONS else proto.syntax or "proto2"


class _Linking:
    """The definitions of one file: first all names, then their references."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.enums: list[Enum] = []
        self.extensions: list[tuple[str, Field]] = []
        self._messages: list[tuple[str, DescriptorProto, Features]] = []
        self._extensions: list[tuple[str, FieldDescriptorProto, Features]] = []
        self._services: list[tuple[str, ServiceDescriptorProto]] = []

    def define(self, proto: FileDescriptorProto) -> None:
        """Add every definition of the file by its full name."""
        own = features.of_file(proto)
        for message in proto.message_type:
            self._define_message(proto.package, message, own)
        for enum in proto.enum_type:
            self._define_enum(proto.package, enum, own)
        for service in proto.service:
            name = self.symbols.add(Sort.SERVICE, proto.package, service.name)
            self._services.append((name, service))
            for method in service.method:
                self.symbols.add(Sort.OTHER, name, method.name)
        self._define_extensions(proto.package, proto.extension, own)

    def messages(self) -> Iterator[Message]:
        """Yield the messages with resolved types of their fields, then resolve the extensions.

        Services are only checked.
        """
        for name, proto, own in self._messages:
            yield self._message(name, proto, own)
        for name, extension, inherited in self._extensions:
            self.extensions.append(fields.build_extension(self.symbols, name, extension, inherited))
        for name, service in self._services:
            for method in service.method:
                for type_name in (method.input_type, method.output_type):
                    scope = f"{name}.{method.name}"
                    if self.symbols.resolve(type_name, scope).sort is not Sort.MESSAGE:
                        raise self.symbols.refusal(scope, f"{type_name} is not a message")

    def _define_message(self, scope: str, proto: DescriptorProto, inherited: Features) -> None:
        # Descriptors nest no deeper than the limit of protobuf's readers (100 levels), so recursion is safe here.
        name = self.symbols.add(Sort.MESSAGE, scope, proto.name, fields.Extendable.of(proto))
        own = inherited.within(proto)
        self._messages.append((name, proto, own))
        for nested in proto.nested_type:
            self._define_message(name, nested, own)
        for enum in proto.enum_type:
            self._define_enum(name, enum, own)
        for field in proto.field:
            self.symbols.add(Sort.OTHER, name, field.name)
        self._define_extensions(name, proto.extension, own)

    def _define_extensions(self, scope: str, protos: Iterable[FieldDescriptorProto], inherited: Features) -> None:
        for extension in protos:
            self._extensions.append((self.symbols.add(Sort.OTHER, scope, extension.name), extension, inherited))

    def _define_enum(self, scope: str, proto: EnumDescriptorProto, inherited: Features) -> None:
        values = {value.name: value.number for value in proto.value}
        name = self.symbols.add(Sort.ENUM, scope, proto.name, values.keys())
        if not values:
            raise self.symbols.refusal(name, "an enum has at least one value")
        for value in proto.value:
            self.symbols.add(Sort.OTHER, name, value.name)
        self.enums.append(
            Enum(
                full_name=name,
                file=self.symbols.file,
                values=MappingProxyType(values),
                reserved_numbers=tuple(Range(each.start, each.end) for each in proto.reserved_range),
                reserved_names=frozenset(proto.reserved_name),
                is_closed=inherited.within(proto).has_closed_enums,
            )
        )

    def _message(self, name: str, proto: DescriptorProto, own: Features) -> Message:
        synthetic = fields.synthetic_oneofs(self.symbols, name, proto)
        numbers: dict[int, Field] = {}
        for each in proto.field:
            field = fields.build(self.symbols, name, proto, each, own)
            if field.number in numbers:
                other = numbers[field.number].name
                raise self.symbols.refusal(f"{name}.{field.name}", f"{other} has the number {field.number} already")
            numbers[field.number] = field
        return Message(
            full_name=name,
            file=self.symbols.file,
            fields=MappingProxyType(dict(sorted(numbers.items()))),
            oneofs=tuple(each.name for index, each in enumerate(proto.oneof_decl) if index not in synthetic),
            reserved_numbers=tuple(Range(each.start, each.end - 1) for each in proto.reserved_range),
            reserved_names=frozenset(proto.reserved_name),
            extension_numbers=tuple(Range(each.start, each.end - 1) for each in proto.extension_range),
            is_map_entry=proto.options.map_entry,
            is_message_set=proto.options.message_set_wire_format,
        )
