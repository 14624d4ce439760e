"""AVRO and Avro-defined JSON: parse, identity, and the broker's resolving rules, by the Avro library of its line."""

from dataclasses import dataclass, field

from topicschema.core.formats.avro import avro_version as libraries
from topicschema.core.formats.avro import fingerprint as avro_fingerprint
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Node
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.formats.avro.risks import rules
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.core.steps import Steps

__all__ = ["FORMAT", "AvroSchema"]


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A parsed AVRO or JSON schema: its SchemaInfo, the model's root, the library that judges it."""

    info: SchemaInfo
    root: Node
    library: Library
    _fingerprints: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """The fingerprint, made when it is first asked for."""
        if not self._fingerprints:
            self._fingerprints.append(avro_fingerprint.fingerprint(self.info.type, self.root))
        return self._fingerprints[0]


class _Avro:
    """The Format of AVRO and JSON."""

    has_checker = True

    def parse(self, info: SchemaInfo, line: PulsarLine, *, validate_defaults: bool = True) -> AvroSchema:
        """The schema; InvalidSchemaError where the broker would refuse it, or store it and choke on it later."""
        root = parser.parse(info, line, validate_defaults=validate_defaults)
        return AvroSchema(info, root, libraries.of(line))

    def compares(self, schema: AvroSchema) -> bool:
        """Always."""
        del schema
        return True

    def unreadable(self, reader: AvroSchema, writer: AvroSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """All that `reader` cannot read of messages written with `writer`."""
        return resolver.unreadable(reader.root, writer.root, reader.library, steps)

    def risks(self, reader: AvroSchema, writer: AvroSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """What `reader` loses or misreads of messages written with `writer`."""
        is_json = reader.info.type is SchemaType.JSON
        return rules.between(reader.root, writer.root, reader.library, steps, is_json=is_json)


FORMAT = _Avro()
