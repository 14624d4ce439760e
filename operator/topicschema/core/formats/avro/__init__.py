"""AVRO and JSON schemas: parsing, fingerprints, and the resolution rules of the Avro library that the broker uses."""

from dataclasses import dataclass, field

from topicschema.core.formats.avro import avro_version, fingerprint
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Node
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.formats.avro.risks import rules
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.steps import Steps

__all__ = ["FORMAT", "AvroSchema"]


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A parsed AVRO or JSON schema: its SchemaInfo, the model's root, and the Avro library that the broker uses.

    The root follows from the other members.
    """

    info: SchemaInfo
    root: Node = field(compare=False)
    library: Library
    fingerprint: str


class _Avro:
    """The Format of AVRO and JSON."""

    has_checker = True

    def parse(self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True) -> AvroSchema:
        """Return the schema.

        Raise InvalidSchemaError if the broker would refuse the schema, or would store it and fail on later uploads.
        """
        root = parser.parse(info, pulsar_version, validate_defaults=validate_defaults)
        return AvroSchema(info, root, avro_version.of(pulsar_version), fingerprint.seal(info.type, root))

    def compares(self, schema: AvroSchema) -> bool:
        """Return True for every schema."""
        del schema
        return True

    def unreadable(self, reader: AvroSchema, writer: AvroSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return a mismatch for each part of messages written with `writer` that `reader` cannot read."""
        return resolver.unreadable(reader.root, writer.root, reader.library, steps)

    def risks(self, reader: AvroSchema, writer: AvroSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return a mismatch for each part of messages written with `writer` that `reader` loses or misreads."""
        is_json = reader.info.type is SchemaType.JSON
        return rules.between(reader.root, writer.root, reader.library, steps, is_json=is_json)


FORMAT = _Avro()
