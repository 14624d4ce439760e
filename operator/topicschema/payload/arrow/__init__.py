"""Decoders of many messages at once to Arrow: one column of the reader's values, for each schema type.

A message is read by its own writer's schema and projected on the reader's. Which messages are bad, and why, is what
`payload.columnar` decides. pyarrow, numpy and numba are imported with the decoders, not with this package. The package
uses neither Spark nor Pulsar; docs/spark-types.md has the types, which are Spark's.
"""

from typing import TYPE_CHECKING

from topicschema.core.schemas import NEWEST, PulsarVersion, SchemaInfo

if TYPE_CHECKING:
    import pyarrow as pa

    from topicschema.payload.arrow.decoder import Decoder

__all__ = ["arrow_type", "decoder_for"]


def arrow_type(reader: SchemaInfo, pulsar_version: PulsarVersion = NEWEST) -> "pa.DataType":
    """Return the type of the column of messages that are read with `reader`. All values and fields may be null.

    Raises InvalidSchemaError if `reader` cannot be used, or has no such type, with the place in the schema.
    """
    from topicschema.payload.arrow import factory  # noqa: PLC0415  # pyarrow, only for decoders

    return factory.shape_of(reader, pulsar_version).type


def decoder_for(reader: SchemaInfo, writer: SchemaInfo | None, pulsar_version: PulsarVersion) -> "Decoder":
    """Return the decoder, by `reader`, of messages that were written with `writer`. Reuse it for many columns.

    The two schemas are those of `columnar.validator_for`: None is an unknown version, and for messages without a
    version pass `reader` twice. Raises InvalidSchemaError like `arrow_type` and `validator_for`.
    """
    from topicschema.payload.arrow import factory  # noqa: PLC0415  # as above

    return factory.decoder_for(reader, writer, pulsar_version)
