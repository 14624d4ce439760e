"""PROTOBUF: an Avro schema that a client derived from a protobuf class. It is parsed and deduped as AVRO.

The broker never compares it. The format of protobuf's own descriptors is PROTOBUF_NATIVE, in `protobuf_native`.
"""

from topicschema.core.formats import avro
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import PulsarVersion, SchemaInfo
from topicschema.core.steps import Steps

__all__ = ["FORMAT"]


class _Protobuf:
    """The Format of PROTOBUF: no checker, so only type and strategy decide."""

    has_checker = False

    def parse(self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True) -> AvroSchema:
        """Return the schema, parsed as one of type AVRO, except that the top may be a union."""
        return avro.FORMAT.parse(info, pulsar_version, validate_defaults=validate_defaults)

    def compares(self, schema: AvroSchema) -> bool:
        """Return False: PROTOBUF has no checker."""
        del schema
        return False

    def unreadable(self, reader: AvroSchema, writer: AvroSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return nothing: the broker has no checker for it, unless one is configured."""
        del reader, writer, steps
        return ()

    def risks(self, reader: AvroSchema, writer: AvroSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return all that AVRO's checker would refuse, and AVRO's own risks."""
        return (*avro.FORMAT.unreadable(reader, writer, steps), *avro.FORMAT.risks(reader, writer, steps))


FORMAT = _Protobuf()
