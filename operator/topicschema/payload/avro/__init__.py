"""Avro's binary encoding of a message, by a schema of core/formats/avro, to and from plain values (a generic record).

A record is a dict, an enum's symbol a str, fixed and bytes are bytes, a union's value stands for itself, and a logical
type's value is that of the type under it. Source: Apache Avro 1.11 specification, "Binary Encoding", and what Java's
BinaryDecoder tolerates. Payloads that other programs encoded are taken as they are: this reads them, or says why not.
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
    """The Codec of an AVRO schema, whose writer and reader are one."""

    root: Node

    def read(self, payload: bytes, found: list[Finding]) -> Any:
        """The value."""
        return reading.read(self.root, payload, found)

    def write(self, value: Any) -> bytes:
        """The payload."""
        return writing.write(self.root, value)


@dataclass(frozen=True, slots=True)
class ResolvingCodec:
    """The Codec of an AVRO schema for messages that were written with another version of it."""

    resolver: Resolver

    def read(self, payload: bytes, found: list[Finding]) -> Any:
        """The value by the reader's version."""
        return self.resolver.read(payload, found)

    def write(self, value: Any) -> bytes:
        """The payload, by the reader's version."""
        return writing.write(self.resolver.reader, value)
