"""Pulsar's primitive types: there is nothing to parse, the type is the schema."""

from dataclasses import dataclass

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType, fingerprint_of_bytes

__all__ = ["FORMAT", "PrimitiveSchema"]


@dataclass(frozen=True, slots=True)
class PrimitiveSchema:
    """A schema of a primitive type."""

    info: SchemaInfo
    fingerprint: str


class _Primitives:
    """The Format of all primitive types: no checker, so only type and strategy decide."""

    has_checker = False

    def parse(self, info: SchemaInfo, line: PulsarLine, *, validate_defaults: bool = True) -> PrimitiveSchema:
        """The schema; PRIMITIVE_HAS_SCHEMA unless its text is empty (or, for STRING, Python's `null`)."""
        del line, validate_defaults  # the same in all lines; there are no defaults
        if info.schema and not (info.type is SchemaType.STRING and info.schema == b"null"):
            wanted = "empty or the text null" if info.type is SchemaType.STRING else "empty"
            message = f"a schema of type {info.type} has no text; leave it {wanted}"
            raise InvalidSchemaError("PRIMITIVE_HAS_SCHEMA", message, Place())
        return PrimitiveSchema(info, fingerprint_of_bytes(info.type, info.schema))

    def compares(self, schema: PrimitiveSchema) -> bool:
        """Never."""
        del schema
        return False

    def unreadable(self, reader: PrimitiveSchema, writer: PrimitiveSchema) -> tuple[Mismatch, ...]:
        """Nothing: the broker does not compare schemas of primitive types."""
        del reader, writer
        return ()

    def risks(self, reader: PrimitiveSchema, writer: PrimitiveSchema) -> tuple[Mismatch, ...]:
        """Nothing."""
        del reader, writer
        return ()


FORMAT = _Primitives()
