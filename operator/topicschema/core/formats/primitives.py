"""Pulsar's primitive types. They need no parsing: the type is the schema."""

from dataclasses import dataclass
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType, fingerprint_of_bytes
from topicschema.core.steps import Steps

__all__ = ["FORMAT", "PrimitiveSchema"]

_CHARSET: Final = "__charset"
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class PrimitiveSchema:
    """A schema of a primitive type."""

    info: SchemaInfo
    fingerprint: str


class _Primitives:
    """The Format of all primitive types: no checker, so only type and strategy decide."""

    has_checker = False

    def parse(
        self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True
    ) -> PrimitiveSchema:
        """Return the schema.

        Raises InvalidSchemaError PRIMITIVE_HAS_SCHEMA unless its text is empty (or, for STRING, Python's `null`).
        """
        del pulsar_version, validate_defaults  # the same in all versions; there are no defaults
        if info.schema and not (info.type is SchemaType.STRING and info.schema == b"null"):
            allowed = "empty or the text null" if info.type is SchemaType.STRING else "empty"
            message = f"a schema of type {info.type} has no text; leave it {allowed}"
            raise InvalidSchemaError("PRIMITIVE_HAS_SCHEMA", message, Place())
        return PrimitiveSchema(info, fingerprint_of_bytes(info.type, info.schema))

    def compares(self, schema: PrimitiveSchema) -> bool:
        """Return False: no primitive type has a checker."""
        del schema
        return False

    def unreadable(self, reader: PrimitiveSchema, writer: PrimitiveSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return nothing: the broker does not compare schemas of primitive types."""
        del reader, writer, steps
        return ()

    def risks(self, reader: PrimitiveSchema, writer: PrimitiveSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return CHARSET_CHANGED if texts are written in another charset than they are read in."""
        del steps
        read, written = _charset(reader.info), _charset(writer.info)
        if reader.info.type is not SchemaType.STRING or read == written:
            return ()
        message = (
            f"{{writer}} has texts in {written[:_SHOWN]}, {{reader}} in {read[:_SHOWN]}; keep the property {_CHARSET}"
        )
        return (Mismatch("CHARSET_CHANGED", message, "$", "$", is_mutual=True),)


def _charset(info: SchemaInfo) -> str:
    """Return the charset's name in capitals. Java ignores the case."""
    return info.properties.get(_CHARSET, "UTF-8").upper()


FORMAT = _Primitives()
