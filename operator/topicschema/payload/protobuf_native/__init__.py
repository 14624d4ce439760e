"""Protobuf's binary encoding, by the descriptors of core/formats/protobuf_native, to and from plain values.

A message is a dict of the fields that it has, by their names in the .proto; a repeated field is a list, a map a dict,
an enum's value its name (its number where it has none), integers are ints, bytes are bytes. Source: protobuf.dev's
"Encoding", and what DynamicMessage of protobuf's Java library (3.25, as in Pulsar 4.0's client) makes of it.
google.protobuf is not asked: it tells no place, and keeps other rules than Java on descriptors that Java lets pass.
"""

from dataclasses import dataclass
from typing import Any

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import Schema
from topicschema.payload.finding import Finding
from topicschema.payload.protobuf_native import parsing_info, reading, writing
from topicschema.payload.protobuf_native.descriptors import FieldPlan, MessagePlan, Plans

__all__ = ["FieldPlan", "MessagePlan", "ProtobufCodec", "ProtobufNativeCodec", "of", "plan_of"]


@dataclass(frozen=True, slots=True)
class ProtobufNativeCodec:
    """The Codec of a PROTOBUF_NATIVE schema; `root` is the message that its payloads are."""

    root: MessagePlan

    def read(self, payload: bytes, found: list[Finding]) -> dict[str, Any]:
        """The message's fields; those that have their default and no presence are left out, as if never sent."""
        return reading.read(self.root, payload, found)

    def write(self, value: Any) -> bytes:
        """The payload: fields by their numbers, a map's entries in the order of the dict, each with key and value."""
        return writing.write(self.root, value)


@dataclass(frozen=True, slots=True)
class ProtobufCodec:
    """The Codec of a PROTOBUF schema, which reads only."""

    root: MessagePlan

    def read(self, payload: bytes, found: list[Finding]) -> dict[str, Any]:
        """The message's fields; messages inside it are bytes, enums numbers."""
        return reading.read(self.root, payload, found)

    def write(self, value: Any) -> bytes:
        """InvalidSchemaError UNSUPPORTED_TYPE."""
        del value
        message = "a PROTOBUF schema does not say what is in its messages: write them by their .proto file"
        raise InvalidSchemaError("UNSUPPORTED_TYPE", message)


def of(schema: Schema) -> ProtobufNativeCodec | ProtobufCodec:
    """The codec of a parsed PROTOBUF_NATIVE or PROTOBUF schema; InvalidSchemaError MISSING_PARSING_INFO."""
    plan = plan_of(schema)
    return ProtobufNativeCodec(plan) if isinstance(schema, ProtobufNativeSchema) else ProtobufCodec(plan)


def plan_of(schema: Schema) -> MessagePlan:
    """The message that the schema's payloads are; InvalidSchemaError MISSING_PARSING_INFO."""
    return Plans(schema).root if isinstance(schema, ProtobufNativeSchema) else parsing_info.plan_of(schema)
