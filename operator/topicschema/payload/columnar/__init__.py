"""Validators of many payloads at once, one for each schema type: a verdict for each message, its reason and place.

`payload` itself decodes a single message. Here no value is decoded, only verdicts are stored. numpy and numba are
imported with the validators, not with this package: the operator has neither. Nothing here uses Arrow, Spark or
Pulsar.
"""

from typing import TYPE_CHECKING

from topicschema.core.schemas import PulsarLine, SchemaInfo

if TYPE_CHECKING:
    from topicschema.payload.columnar.verdicts import Validator

__all__ = ["validator_for"]


def validator_for(reader: SchemaInfo, writer: SchemaInfo | None, line: PulsarLine) -> "Validator":
    """Return the validator, by `reader`, of messages that were written with `writer`; reuse it for many columns.

    A writer of None is an unknown version: AVRO messages are UNKNOWN_WRITER_VERSION then, all others are read by
    `reader` alone, as clients read them. For messages that name no version, which consumers read by their own, give
    `reader` twice. InvalidSchemaError where `reader` cannot be used; a writer that cannot be is a reason for AVRO, and
    as one that nobody knows for all others.
    """
    from topicschema.payload.columnar import factory  # noqa: PLC0415  # numpy, where somebody validators

    return factory.validator_for(reader, writer, line)
