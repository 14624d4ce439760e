"""Validators of many payloads at once, one for each schema type: a verdict for each message, with reason and place.

`payload` itself decodes single messages. Here no value is decoded, only verdicts are stored. numpy and numba are
imported with the validators, not with this package, because the operator's image has neither. The package uses neither
Arrow nor Spark nor Pulsar.
"""

from typing import TYPE_CHECKING

from topicschema.core.schemas import PulsarVersion, SchemaInfo

if TYPE_CHECKING:
    from topicschema.payload.columnar.verdicts import Validator

__all__ = ["validator_for"]


def validator_for(reader: SchemaInfo, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> "Validator":
    """Return the validator, by `reader`, of messages that were written with `writer`. Reuse it for many columns.

    A writer of None is an unknown version. AVRO messages then are UNKNOWN_WRITER_VERSION, and all others are validated
    by `reader` alone, as clients read them. For messages without a version, which consumers read by their own schema,
    pass `reader` twice.

    Raises InvalidSchemaError if `reader` cannot be used. A writer that cannot be used is a reason for AVRO, and an
    unknown version for all other types.
    """
    from topicschema.payload.columnar import factory  # noqa: PLC0415  # numpy, only for validators

    return factory.validator_for(reader, writer, pulsar_version)
