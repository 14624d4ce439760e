"""Avro's binary encoding of a message, by a schema of core/formats/avro, to and from plain values (a generic record).

A record is a dict, an enum's symbol a str, fixed and bytes are bytes. A union's value has no wrapper, and a logical
type's value is that of the underlying type. Source: Apache Avro 1.11 specification, "Binary Encoding", and the
tolerance of Java's BinaryDecoder. Payloads of other programs are read as they are, or refused with a reason.
"""

from dataclasses import dataclass
from typing import Any

from topicschema.core.formats.avro.model import Node
from topicschema.payload.avro import reading, writing
from topicschema.payload.avro.resolving import Resolver
from topicschema.payload.finding import Finding

__all__ = ["AvroCodec", "ResolvingCodec"]


@dataclass(frozen=True, slots=True)
class AvroCodec:
    """Codec of an AVRO schema that is both writer and reader."""

    root: Node

    def read(self, payload: bytes, findings: list[Finding]) -> Any:
        """Return the value."""
        return reading.read(self.root, payload, findings)

    def write(self, value: Any) -> bytes:
        """Return the payload."""
        return writing.write(self.root, value)


@dataclass(frozen=True, slots=True)
class ResolvingCodec:
    """Codec of an AVRO schema for messages that were written with another version of it."""

    resolver: Resolver

    def read(self, payload: bytes, findings: list[Finding]) -> Any:
        """Return the value by the reader's version."""
        return self.resolver.read(payload, findings)

    def write(self, value: Any) -> bytes:
        """Return the payload by the reader's version."""
        return writing.write(self.resolver.reader, value)
