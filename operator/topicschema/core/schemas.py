"""SchemaInfo and SchemaType, by Pulsar's names, and what a parsed schema is to the rest of the product."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

_NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


class PulsarLine(StrEnum):
    """A release line of Pulsar whose verdicts are known."""

    V4_0 = "4.0"
    V4_1 = "4.1"
    V4_2 = "4.2"


class SchemaType(StrEnum):
    """Pulsar's SchemaType names that a topic's history may hold."""

    NONE = "NONE"
    STRING = "STRING"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"
    AVRO = "AVRO"
    BOOLEAN = "BOOLEAN"
    INT8 = "INT8"
    INT16 = "INT16"
    INT32 = "INT32"
    INT64 = "INT64"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    KEY_VALUE = "KEY_VALUE"
    INSTANT = "INSTANT"
    LOCAL_DATE = "LOCAL_DATE"
    LOCAL_TIME = "LOCAL_TIME"
    LOCAL_DATE_TIME = "LOCAL_DATE_TIME"
    PROTOBUF_NATIVE = "PROTOBUF_NATIVE"
    BYTES = "BYTES"
    AUTO_CONSUME = "AUTO_CONSUME"
    AUTO_PUBLISH = "AUTO_PUBLISH"


EXTERNAL = "EXTERNAL"
"""A type that brokers know from line 4.1 on, which asks of it only that it stays; refused here on every line."""

PRIMITIVES = frozenset(
    {
        SchemaType.STRING,
        SchemaType.BOOLEAN,
        SchemaType.INT8,
        SchemaType.INT16,
        SchemaType.INT32,
        SchemaType.INT64,
        SchemaType.FLOAT,
        SchemaType.DOUBLE,
        SchemaType.DATE,
        SchemaType.TIME,
        SchemaType.TIMESTAMP,
        SchemaType.INSTANT,
        SchemaType.LOCAL_DATE,
        SchemaType.LOCAL_TIME,
        SchemaType.LOCAL_DATE_TIME,
    }
)
"""Types whose schema bytes are empty (STRING: or the text `null`)."""

TEXTLESS = PRIMITIVES | {SchemaType.NONE, SchemaType.BYTES, SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH}
"""Types that need no text."""

AVRO_TEXTS = frozenset({SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF})
"""Types whose texts the broker's dedupe parses with Avro, and compares by structure."""


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """A topic's schema as Pulsar takes it: type, bytes, properties. The name is made up by clients and never stored."""

    type: SchemaType
    schema: bytes = b""
    properties: Mapping[str, str] = field(default_factory=lambda: _NO_PROPERTIES)

    @property
    def content_hash(self) -> str:
        """`sha256:` and 64 hex digits over type, properties and bytes: equal exactly when nothing at all differs.

        A payload is stored under it before its number is taken, so two contents must never share one.
        """
        properties = json.dumps(dict(self.properties), sort_keys=True, separators=(",", ":"))
        return digest(b"\0".join((self.type.value.encode(), properties.encode(), self.schema)))


class Schema(Protocol):
    """A parsed schema: what `formats.parse` returns and a format's checker takes."""

    @property
    def info(self) -> SchemaInfo:
        """The SchemaInfo it was parsed from."""

    @property
    def fingerprint(self) -> str:
        """`sha256:` and 64 hex digits; equal exactly when the broker would dedupe (docs/spec/fingerprint.md)."""


@dataclass(frozen=True, slots=True)
class ReadSchema:
    """A schema that another process has parsed: what it is, not what it consists of."""

    info: SchemaInfo
    fingerprint: str


def fingerprint_of_bytes(kind: SchemaType, schema: bytes) -> str:
    """The fingerprint where the bytes are the identity: types that hold no Avro text, and texts that do not parse."""
    return digest(f"{kind} bytes\n".encode("ascii") + schema)


def digest(content: bytes) -> str:
    """`sha256:` and 64 hex digits of `content`."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
