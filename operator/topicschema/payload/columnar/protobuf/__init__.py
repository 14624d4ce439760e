"""Validator of protobuf payloads, PROTOBUF_NATIVE's and PROTOBUF's, by their descriptors, with a compiled loop.

A field that the reader does not have is a loss if the writer had it, else a finding (UNKNOWN_FIELD). An unknown number
of an enum is a finding (UNKNOWN_SYMBOL) also in proto3, where a consumer gets the number without a name.
"""

from topicschema.core.schemas import Schema
from topicschema.payload.columnar.protobuf.validator import ProtobufValidator
from topicschema.payload.columnar.verdicts import Validator
from topicschema.payload.protobuf_native import plan_of

__all__ = ["validator_for"]


def validator_for(reader: Schema, writer: Schema | None) -> Validator:
    """Return the validator of one version's messages. Raises InvalidSchemaError like `protobuf_native.plan_of`."""
    return ProtobufValidator(plan_of(reader), None if writer is None else plan_of(writer))
