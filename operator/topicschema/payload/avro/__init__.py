"""Avro's binary encoding of a message, by a schema of core/formats/avro, to and from plain values (a generic record).

A record is a dict, an enum's symbol a str, fixed and bytes are bytes. A union's value has no wrapper, and a logical
type's value is that of the underlying type. Source: Apache Avro 1.11 specification, "Binary Encoding", and the
tolerance of Java's BinaryDecoder. Payloads of other programs are read as they are, or refused with a reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Node
from topicschema.payload.avro import reading, writing
from topicschema.payload.avro.resolving import Resolver
from topicschema.payload.finding import PayloadFinding, Unreadable, at_least

__all__ = ["AvroCodec", "ResolvingCodec"]


@dataclass(frozen=True, slots=True)
class AvroCodec:
    """Codec of an AVRO schema that is both writer and reader."""

    root: Node
    library: Library
    skipped: int = 0
    """Bytes before each message, see `read_offset`."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        """Return the value."""
        return _after(
            self.skipped, payload, findings, lambda *rest: reading.read(self.root, *rest, library=self.library)
        )

    def write(self, value: Any) -> bytes:
        """Return the payload."""
        return writing.write(self.root, value)


@dataclass(frozen=True, slots=True)
class ResolvingCodec:
    """Codec of an AVRO schema for messages that were written with another version of it."""

    resolver: Resolver
    skipped: int = 0

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        """Return the value by the reader's version."""
        return _after(self.skipped, payload, findings, self.resolver.read)

    def write(self, value: Any) -> bytes:
        """Return the payload by the reader's version."""
        return writing.write(self.resolver.reader, value)


def _after(
    skipped: int, payload: bytes, findings: list[PayloadFinding], read: Callable[[bytes, list[PayloadFinding]], Any]
) -> Any:
    """Return what `read` makes of the bytes after the first `skipped`. Places are those of the payload."""
    if not skipped:
        return read(payload, findings)
    at_least(payload, skipped, "what another system puts before the message")
    inner: list[PayloadFinding] = []
    try:
        return read(payload[skipped:], inner)
    except Unreadable as stop:
        raise Unreadable(stop.finding.within("$", skipped)) from None
    finally:
        findings += [each.within("$", skipped) for each in inner]
