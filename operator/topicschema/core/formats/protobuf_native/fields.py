"""Fields and extensions as protobuf's Java library (3.25 and 4.35) builds them: number, type, label, oneof and default.

Source: Descriptors.FieldDescriptor, its constructor and crossLink.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from topicschema.core.formats.protobuf_native import defaults
from topicschema.core.formats.protobuf_native.features import Features
from topicschema.core.formats.protobuf_native.model import Field, Kind, Label, Presence
from topicschema.core.formats.protobuf_native.symbols import Sort, Symbol, Symbols, shown

_KINDS: Final = {number: Kind(name.removeprefix("TYPE_")) for name, number in FieldDescriptorProto.Type.items()}
_LABELS: Final = {number: Label(name.removeprefix("LABEL_")) for name, number in FieldDescriptorProto.Label.items()}
_MESSAGES: Final = frozenset({Kind.MESSAGE, Kind.GROUP})
_UNPACKABLE: Final = _MESSAGES | {Kind.STRING, Kind.BYTES}


@dataclass(frozen=True, slots=True)
class Extendable:
    """The properties of a message that its extensions need: its extension numbers, and if it is a message set."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    is_set: bool

    @classmethod
    def of(cls, proto: DescriptorProto) -> "Extendable":
        """Return the numbers in order. Each end is one above the last number."""
        is_set = proto.HasField("options") and proto.options.message_set_wire_format
        ranges = proto.extension_range
        if not ranges and not is_set:
            return NOT_EXTENDABLE
        starts, ends = (tuple(sorted(numbers)) for numbers in ([r.start for r in ranges], [r.end for r in ranges]))
        return cls(starts, ends, is_set)

    def takes(self, number: int) -> bool:
        """Return True if the number is an extension's. The range that begins nearest before it decides."""
        index = bisect_right(self.starts, number) - 1
        return index >= 0 and number < self.ends[index]


NOT_EXTENDABLE: Final = Extendable((), (), is_set=False)


def build(
    symbols: Symbols, message: str, owner: DescriptorProto, proto: FieldDescriptorProto, features: Features
) -> Field:
    """Return a message's field. Raises InvalidSchemaError INVALID_DESCRIPTOR with its name.

    `features` are those of the message.
    """
    where = f"{message}.{proto.name}"
    if proto.HasField("extendee"):
        raise symbols.refusal(where, "a field of a message extends nothing")
    if owner.HasField("options") and owner.options.message_set_wire_format:
        raise symbols.refusal(where, "a message with message_set_wire_format has extensions only")
    oneof = None
    if proto.HasField("oneof_index"):
        if not 0 <= proto.oneof_index < len(owner.oneof_decl):
            raise symbols.refusal(where, f"the message has no oneof {proto.oneof_index}")
        declared = owner.oneof_decl[proto.oneof_index]
        oneof, features = declared.name, features.within(declared)
    kind, type_name = _type(symbols, where, proto)
    field = _field(proto, proto.name, kind, type_name, features)
    return field if proto.proto3_optional or oneof is None else replace(field, oneof=oneof)


def _field(proto: FieldDescriptorProto, name: str, kind: Kind, type_name: str, inherited: Features) -> Field:
    features = inherited.within(proto)
    return Field(
        name=name,
        number=proto.number,
        kind=kind,
        label=_label(proto),
        type_name=type_name,
        json_name=proto.json_name,
        default=proto.default_value if proto.HasField("default_value") else None,
        is_proto3_optional=proto.proto3_optional,
        presence=features.presence_of(proto, kind),
        checks_utf8=kind is Kind.STRING and features.checks_utf8,
        is_delimited=kind is Kind.GROUP or (kind is Kind.MESSAGE and features.is_delimited),
    )


def build_extension(symbols: Symbols, where: str, proto: FieldDescriptorProto, features: Features) -> tuple[str, Field]:
    """Return the extended message's full name and the field of the extension with the full name `where`.

    Raises InvalidSchemaError INVALID_DESCRIPTOR.
    """
    if not proto.HasField("extendee"):
        raise symbols.refusal(where, "an extension says what it extends")
    if proto.HasField("oneof_index"):
        raise symbols.refusal(where, "an extension stands in no oneof")
    extended = symbols.resolve(proto.extendee, where)
    if extended.sort is not Sort.MESSAGE:
        raise symbols.refusal(where, f"{shown(proto.extendee)} is not a message")
    message: Extendable = extended.content
    if not message.takes(proto.number):
        raise symbols.refusal(where, f"{extended.full_name} does not declare {proto.number} as an extension's number")
    field = _field(proto, f"[{where}]", *_type(symbols, where, proto), features)
    if message.is_set and not _fits_message_set(field):
        raise symbols.refusal(where, "what extends a message with message_set_wire_format is an optional message")
    return extended.full_name, field


def _fits_message_set(field: Field) -> bool:
    is_message = field.kind is Kind.MESSAGE and not field.is_delimited
    return is_message and field.label is Label.OPTIONAL and field.presence is not Presence.REQUIRED


def synthetic_oneofs(symbols: Symbols, message: str, proto: DescriptorProto) -> frozenset[int]:
    """Return the indexes of the oneofs that protoc adds for proto3's `optional`. They must follow all others."""
    members: dict[int, list[FieldDescriptorProto]] = {}
    for field in proto.field if proto.oneof_decl else ():
        if field.HasField("oneof_index"):
            members.setdefault(field.oneof_index, []).append(field)
    indexes = frozenset(index for index, inside in members.items() if len(inside) == 1 and inside[0].proto3_optional)
    if indexes and any(index not in indexes for index in range(min(indexes), len(proto.oneof_decl))):
        raise symbols.refusal(message, "oneofs that stand for an optional field come behind all others")
    return indexes


def _type(symbols: Symbols, where: str, proto: FieldDescriptorProto) -> tuple[Kind, str]:
    """Return the kind, and the full name of the message or enum. Checks that the default and `packed` fit it."""
    if proto.number <= 0:
        raise symbols.refusal(where, f"{proto.number} is no field's number; they begin at 1")
    kind = _KINDS[proto.type] if proto.HasField("type") else None
    symbol = symbols.resolve(proto.type_name, where) if proto.HasField("type_name") else None
    kind = _kind(symbols, where, kind, symbol)
    if (
        proto.HasField("options")
        and proto.options.packed
        and (_label(proto) is not Label.REPEATED or kind in _UNPACKABLE)
    ):
        raise symbols.refusal(where, "only repeated fields of numbers, booleans and enums can be packed")
    if proto.HasField("default_value"):
        _check_default(symbols, where, proto, kind, symbol)
    return kind, symbol.full_name if symbol else ""


def _kind(symbols: Symbols, where: str, kind: Kind | None, symbol: Symbol | None) -> Kind:
    kinds = {Sort.MESSAGE: _MESSAGES, Sort.ENUM: frozenset({Kind.ENUM})}.get(symbol.sort) if symbol else None
    if symbol is None:
        if kind is None or kind in _MESSAGES or kind is Kind.ENUM:
            raise symbols.refusal(where, "the field's type is missing")
        return kind
    if kind is None and kinds is not None:
        return Kind.ENUM if symbol.sort is Sort.ENUM else Kind.MESSAGE
    if kind is None or kinds is None or kind not in kinds:
        raise symbols.refusal(where, f"{symbol.full_name} is {symbol.sort.value}, the field is of type {kind}")
    return kind


def _check_default(
    symbols: Symbols, where: str, proto: FieldDescriptorProto, kind: Kind, symbol: Symbol | None
) -> None:
    if _label(proto) is Label.REPEATED or kind in _MESSAGES:
        raise symbols.refusal(where, "a repeated field, or one that is a message, has no default")
    if kind is Kind.ENUM and symbol is not None:
        fits = proto.default_value in symbol.content
    else:
        fits = defaults.is_default(kind, proto.default_value)
    if not fits:
        raise symbols.refusal(where, f"the default does not fit the type {kind}")


def _label(proto: FieldDescriptorProto) -> Label:
    return _LABELS[proto.label]
