"""Plans for reading and writing a message's fields, made from its descriptors on first use.

Source: Descriptors.FieldDescriptor of protobuf's Java library (3.25). A file that is neither "proto3" nor "editions" is
proto2, and an edition's features are ignored. So in Pulsar 4.0's client a file with an edition has fields without
presence, open enums, packed lists, and unchecked texts.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from topicschema.core.formats.protobuf_native import (
    Enum,
    Field,
    Kind,
    Label,
    Message,
    ProtobufNativeSchema,
    envelope,
)
from topicschema.core.formats.protobuf_native.fields import NOT_EXTENDABLE, Extendable
from topicschema.payload.protobuf_native import defaults, kinds

_PROTO_3: Final = "proto3"
_EDITION: Final = "edition "
_PAIR: Final = {1, 2}
"""Field numbers of a map entry's key and value."""


class FieldPlan:
    """Plan of a field. `rivals` are all members of its oneof, including itself, if there are others."""

    __slots__ = (
        "_plans", "checks_utf8", "default", "enum", "field", "has_presence", "is_closed", "is_packed", "is_repeated",
        "is_required", "kind", "message_name", "name", "names", "number", "oneof", "rivals", "takes_packed", "wire",
    )  # fmt: skip

    def __init__(
        self, field: Field, proto: FieldDescriptorProto, owner: "FieldOwner", plans: "Plans | None" = None
    ) -> None:
        self._plans = plans
        self.field = field
        self.name, self.number, self.kind = field.name, field.number, field.kind
        self.wire = kinds.WIRE[field.kind]
        self.is_repeated = field.label is Label.REPEATED
        self.is_required = field.label is Label.REQUIRED
        self.takes_packed = self.is_repeated and self.wire not in (kinds.LENGTH, kinds.GROUP)
        options = proto.options
        self.is_packed = self.takes_packed and (
            options.packed or (not owner.is_proto2 and not options.HasField("packed"))
        )
        self.oneof: int | None = proto.oneof_index if proto.HasField("oneof_index") else None
        is_held = self.kind in kinds.HOLDERS or self.oneof is not None
        self.has_presence = not self.is_repeated and (is_held or owner.is_proto2)
        self.rivals: frozenset[str] = frozenset()
        self.checks_utf8 = self.kind is Kind.STRING and owner.checks_utf8
        self.is_closed = owner.is_proto2
        self.message_name = field.type_name if self.kind in kinds.HOLDERS else ""
        self.enum: Enum | None = None
        if plans is not None and self.kind is Kind.ENUM:
            self.enum = plans.enums.get(field.type_name)
        self.names: Mapping[int, str] = _names(self.enum)
        self.default: Any = None if self.is_repeated else defaults.of(field, self.enum)

    def is_default(self, value: Any) -> bool:
        """Return True if the value is the default. As in Java, -0.0 is not 0.0."""
        if isinstance(value, float):
            return bool(value == self.default) and math.copysign(1, value) == math.copysign(1, self.default)
        return bool(value == self.default)

    @property
    def is_passed_by(self) -> bool:
        """True for a group whose content is unknown."""
        return self.kind is Kind.GROUP and not self.message_name

    @property
    def message(self) -> "MessagePlan":
        """The plan of the message that the field holds."""
        assert self._plans is not None  # noqa: S101  # a field without plans has no message inside
        return self._plans.of(self.message_name)

    @property
    def pair(self) -> "MessagePlan | None":
        """The plan of a map field's entry, or None for another field."""
        if not self.is_repeated or self.kind is not Kind.MESSAGE:
            return None
        held = self.message
        return held if held.is_pair else None


class MessagePlan:
    """Plan of a message. `read` has the fields that Java reads, `written` all of them, by their numbers.

    `declared` are all names in the order of the descriptor, `extensions` the allowed numbers of extensions.
    """

    __slots__ = (
        "declared", "extensions", "full_name", "has_required", "is_pair", "names", "read", "required", "written",
    )  # fmt: skip

    def __init__(self, full_name: str, fields: list[FieldPlan], *, has_required: bool) -> None:
        for members in _oneofs(fields):
            names = frozenset(each.name for each in members)
            for each in members:
                each.rivals = names
        self.full_name = full_name
        self.written = tuple(fields)
        self.read = {each.number: each for each in fields}
        self.declared = tuple(each.name for each in fields)
        self.names = {each.name: each for each in fields}
        self.required = tuple(each.name for each in fields if each.is_required)
        self.has_required = has_required
        self.is_pair = False
        self.extensions = NOT_EXTENDABLE


class Plans:
    """Plans of a schema's messages, each made on first use."""

    def __init__(self, schema: ProtobufNativeSchema) -> None:
        known = schema.descriptors
        self._messages = known.messages
        self._syntax = {name: file.syntax for name, file in known.files.items()}
        self._files = _files(schema.info.schema)
        self._protos: dict[str, dict[str, DescriptorProto]] = {}
        self._made: dict[str, MessagePlan] = {}
        self.enums = known.enums
        self.has_required = any(
            field.label is Label.REQUIRED for message in known.messages.values() for field in message.fields.values()
        )
        self.root = self._plan(known.root)

    def of(self, full_name: str) -> MessagePlan:
        """Return the plan of the message with that full name."""
        made = self._made.get(full_name)
        return made if made is not None else self._plan(self._messages[full_name])

    def _plan(self, message: Message) -> MessagePlan:
        if message.file not in self._protos:
            self._protos[message.file] = dict(_messages(self._files[message.file]))
        proto = self._protos[message.file][message.full_name]
        owner = _owner(proto, self._files[message.file], self._syntax[message.file])
        protos = {each.number: each for each in proto.field}
        fields = [FieldPlan(field, protos[number], owner, self) for number, field in message.fields.items()]
        plan = MessagePlan(message.full_name, fields, has_required=self.has_required)
        plan.declared = tuple(each.name for each in proto.field)
        plan.extensions = Extendable.of(proto)
        plan.read = {number: field for number, field in plan.read.items() if not plan.extensions.takes(number)}
        plan.is_pair = message.is_map_entry and _is_pair(plan.read)
        self._made[message.full_name] = plan
        return plan


@dataclass(frozen=True, slots=True)
class FieldOwner:
    """Properties of a field's message and file."""

    is_proto2: bool
    checks_utf8: bool


def _owner(proto: DescriptorProto, file: FileDescriptorProto, syntax: str) -> FieldOwner:
    is_proto2 = syntax != _PROTO_3 and not syntax.startswith(_EDITION)
    checks_utf8 = proto.options.map_entry or syntax == _PROTO_3 or file.options.java_string_check_utf8
    return FieldOwner(is_proto2, checks_utf8)


def _files(schema: bytes) -> dict[str, FileDescriptorProto]:
    descriptors = FileDescriptorSet.FromString(envelope.read(schema).file_descriptor_set)
    return {file.name: file for file in descriptors.file}  # if two have one name, the last counts, as in core


def _messages(file: FileDescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    waiting = [(file.package, message) for message in file.message_type]
    while waiting:
        scope, message = waiting.pop()
        full_name = f"{scope}.{message.name}" if scope else message.name
        yield full_name, message
        waiting.extend((full_name, nested) for nested in message.nested_type)


def _oneofs(fields: list[FieldPlan]) -> list[list[FieldPlan]]:
    members_by_oneof: dict[int, list[FieldPlan]] = {}
    for each in fields:
        if each.oneof is not None:
            members_by_oneof.setdefault(each.oneof, []).append(each)
    return [members for members in members_by_oneof.values() if len(members) > 1]


def _is_pair(fields: Mapping[int, FieldPlan]) -> bool:
    return (
        fields.keys() == _PAIR
        and fields[1].kind in kinds.KEYS
        and not any(each.is_repeated for each in fields.values())
    )


def _names(enum: Enum | None) -> Mapping[int, str]:
    if enum is None:
        return MappingProxyType({})
    return MappingProxyType(
        {number: name for name, number in reversed(tuple(enum.values.items()))}
    )  # the first name counts
