"""Validators of many payloads at once, one for each schema type: a verdict for each message, its reason and place.

`payload` itself decodes a single message. Here no value is decoded, only verdicts are stored. numpy and numba are
imported with the validators, not with this package: the operator has neither. Nothing here uses Arrow, Spark or
Pulsar.
"""

from typing import TYPE_CHECKING

from topicschema.core.schemas import PulsarLine, SchemaInfo

if TYPE_CHECKING:
    from topicschema.payload.columnar.verdicts import Judge

__all__ = ["judge_of"]


def judge_of(reader: SchemaInfo, writer: SchemaInfo | None, line: PulsarLine) -> "Judge":
    """The judge of messages that were written with one version of a schema, by another; to be kept for many columns.

    A writer of None is a version that nobody knows: AVRO messages are UNKNOWN_WRITER_VERSION then, all others are read
    by `reader` alone, as clients read them. For messages that name no version, which consumers read by their own, give
    `reader` twice. InvalidSchemaError where `reader` cannot be used; a writer that cannot be is a reason for AVRO, and
    as one that nobody knows for all others.
    """
    from topicschema.payload.columnar import factory  # noqa: PLC0415  # numpy, where somebody judges

    return factory.judge_of(reader, writer, line)
