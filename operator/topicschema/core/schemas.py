"""SchemaInfo and SchemaType, by Pulsar's names, and the interface of a parsed schema."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol, Self


class PulsarVersion(StrEnum):
    """A minor release of Pulsar that the operator supports, and its releases of Avro's and protobuf's Java libraries.

    Its brokers and its Java client have the same two. Sources are the root poms of 4.0.7, 4.1.0 to 4.1.3, 4.2.4 and
    5.0.0-M1.
    """

    avro: str
    protobuf: str

    def __new__(cls, name: str, avro: str = "", protobuf: str = "") -> Self:
        """Return the member."""
        self = str.__new__(cls, name)
        self._value_ = name
        self.avro, self.protobuf = avro, protobuf
        return self

    V4_0 = "4.0", "1.11.4", "3.25.5"
    V4_1 = "4.1", "1.12.0", "3.25.5"
    V4_2 = "4.2", "1.12.0", "3.25.5"
    V5_0 = "5.0", "1.12.0", "4.35.0"

    @property
    def has_protobuf_4(self) -> bool:
        """True if it has protobuf's library 4, which checks editions, and whose descriptors differ from those of 3."""
        return self.protobuf.startswith("4.")


NEWEST = tuple(PulsarVersion)[-1]
"""The newest Pulsar version that the operator supports. The command line judges by it if none is given."""


class SchemaType(StrEnum):
    """Pulsar's SchemaType names that a topic's history may have."""

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
"""A type that brokers have from Pulsar 4.1 on. It may not change there; the operator refuses it for every version."""

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
"""Types whose texts the broker's dedupe parses with Avro and compares by structure."""


@dataclass(frozen=True)
class SchemaInfo:
    """A topic's schema in Pulsar's form: type, bytes, properties. Clients make up the name, and it is never stored."""

    type: SchemaType
    schema: bytes = b""
    properties: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        """Return a hash of the content. That of a dataclass would fail for the properties."""
        return hash(self.content_hash)

    @cached_property
    def content_hash(self) -> str:
        """`sha256:` and 64 hex digits over type, properties and bytes, which are equal only if all of these are equal.

        A payload is stored under it before its number is assigned, so two contents must never share one.
        """
        properties = json.dumps(dict(self.properties), sort_keys=True, separators=(",", ":"))
        return digest(b"\0".join((self.type.value.encode(), properties.encode(), self.schema)))


class Schema(Protocol):
    """A parsed schema, which `formats.parse` returns and a format's checker takes."""

    @property
    def info(self) -> SchemaInfo:
        """The SchemaInfo it was parsed from."""

    @property
    def fingerprint(self) -> str:
        """`sha256:` and 64 hex digits, equal exactly if the broker would dedupe (docs/spec/fingerprint.md)."""


@dataclass(frozen=True, slots=True)
class ReadSchema:
    """A schema that another process has parsed: its SchemaInfo and its fingerprint, without its structure."""

    info: SchemaInfo
    fingerprint: str


def fingerprint_of_bytes(kind: SchemaType, schema: bytes) -> str:
    """Return the fingerprint of a schema whose bytes identify it: it has no Avro text, or one that does not parse."""
    return digest(f"{kind} bytes\n".encode("ascii") + schema)


def digest(content: bytes) -> str:
    """Return `sha256:` and 64 hex digits of `content`."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
