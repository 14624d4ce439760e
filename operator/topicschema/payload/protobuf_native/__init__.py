"""Protobuf's binary encoding, by the descriptors of core/formats/protobuf_native, to and from plain values.

A message is a dict of its set fields, by their names in the .proto. A repeated field is a list, a map a dict, an enum's
value its name (its number if it has none), integers are ints, bytes are bytes.

Source: protobuf.dev's "Encoding", and DynamicMessage of protobuf's Java library (3.25, as in Pulsar 4.0's client).
google.protobuf is not used: it reports no place, and has other rules than Java on descriptors that Java accepts.
"""

from dataclasses import dataclass
from typing import Any

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import Schema
from topicschema.payload.finding import PayloadFinding
from topicschema.payload.protobuf_native import parsing_info, reading, writing
from topicschema.payload.protobuf_native.descriptors import FieldPlan, MessagePlan, Plans

__all__ = ["FieldPlan", "MessagePlan", "ProtobufCodec", "ProtobufNativeCodec", "of", "plan_of"]


@dataclass(frozen=True, slots=True)
class ProtobufNativeCodec:
    """Codec of a PROTOBUF_NATIVE schema. `root` is the message of its payloads."""

    root: MessagePlan

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> dict[str, Any]:
        """Return the message's fields. Those without presence that have their default are omitted, as if not sent."""
        return reading.read(self.root, payload, findings)

    def write(self, value: Any) -> bytes:
        """Return the payload: fields by their numbers, a map's entries in the dict's order, each with key and value."""
        return writing.write(self.root, value)


@dataclass(frozen=True, slots=True)
class ProtobufCodec:
    """Codec of a PROTOBUF schema, which can only read."""

    root: MessagePlan

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> dict[str, Any]:
        """Return the message's fields. Messages inside it are bytes, enums numbers."""
        return reading.read(self.root, payload, findings)

    def write(self, value: Any) -> bytes:
        """Raise InvalidSchemaError UNSUPPORTED_TYPE."""
        del value
        message = "a PROTOBUF schema does not describe its messages: write them by their .proto file"
        raise InvalidSchemaError("UNSUPPORTED_TYPE", message)


def of(schema: Schema) -> ProtobufNativeCodec | ProtobufCodec:
    """Return the codec of a parsed PROTOBUF_NATIVE or PROTOBUF schema.

    Raises InvalidSchemaError MISSING_PARSING_INFO.
    """
    plan = plan_of(schema)
    return ProtobufNativeCodec(plan) if isinstance(schema, ProtobufNativeSchema) else ProtobufCodec(plan)


def plan_of(schema: Schema) -> MessagePlan:
    """Return the plan of the payloads' message. Raises InvalidSchemaError MISSING_PARSING_INFO."""
    return Plans(schema).root if isinstance(schema, ProtobufNativeSchema) else parsing_info.plan_of(schema)
