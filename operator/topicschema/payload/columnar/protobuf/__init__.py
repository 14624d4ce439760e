"""Judges protobuf payloads, PROTOBUF_NATIVE's and PROTOBUF's, by their descriptors; a compiled loop reads them.

A field that the reader has not is a loss where the writer had it, else a finding (UNKNOWN_FIELD). A number that an enum
has not is a finding (UNKNOWN_SYMBOL) in proto3, too, where a consumer gets it as a number that it has no name for.
"""

from topicschema.core.schemas import Schema
from topicschema.payload.columnar.protobuf.validator import ProtobufJudge
from topicschema.payload.columnar.verdicts import Judge
from topicschema.payload.protobuf_native import plan_of

__all__ = ["judge_of"]


def judge_of(reader: Schema, writer: Schema | None) -> Judge:
    """The judge of one version's messages; InvalidSchemaError as `protobuf_native.plan_of`."""
    return ProtobufJudge(plan_of(reader), None if writer is None else plan_of(writer))
