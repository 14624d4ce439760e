"""Judges protobuf payloads, PROTOBUF_NATIVE's and PROTOBUF's, by their descriptors; a compiled loop reads them.

A field that the reader has not is a loss where the writer had it, else a finding (UNKNOWN_FIELD). A number that an enum
has not is a finding (UNKNOWN_SYMBOL) in proto3, too, where a consumer gets it as a number that it has no name for.
"""

from topicschema.core.schemas import Schema
from topicschema.payload.columnar.protobuf.validator import ProtobufValidator
from topicschema.payload.columnar.verdicts import Validator
from topicschema.payload.protobuf_native import plan_of

__all__ = ["validator_for"]


def validator_for(reader: Schema, writer: Schema | None) -> Validator:
    """The validator of one version's messages; InvalidSchemaError as `protobuf_native.plan_of`."""
    return ProtobufValidator(plan_of(reader), None if writer is None else plan_of(writer))
