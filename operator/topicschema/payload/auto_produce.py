"""Check of a Java producer with AUTO_PRODUCE before it sends bytes to a topic with a schema.

The producer reads the bytes first (AutoProduceBytesSchema.encode, client 4.0.7), by the topic's newest schema. It is
less strict than a consumer: of JSON it requires only JSON and no record, of a SEPARATED pair only the value, of STRING
nothing. It treats a topic of type PROTOBUF as AVRO, and so refuses valid payloads. Each other refusal is a finding of
`payload.validate`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from topicschema import payload
from topicschema.core.formats.avro.model import Node, Record
from topicschema.core.formats.key_value import Encoding, KeyValueSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import primitives, text
from topicschema.payload.avro import reading
from topicschema.payload.codec import Codec
from topicschema.payload.finding import PayloadFinding, Unreadable
from topicschema.payload.json import JsonCodec, document
from topicschema.payload.key_value import KeyValueCodec

_TRAILING: Final = "TRAILING_BYTES"
_GLUED: Final = re.compile(rb"[ \t\r\n]*(?:-?[0-9][0-9.eE+-]*(?![0-9.eE+\- \t\r\n]|\Z)|(?:true|false|null)[\w$])")
"""A number or a word directly followed by a character that is no space, which Jackson refuses."""


def refusals(schema: Schema, content: bytes) -> tuple[PayloadFinding, ...]:
    """Return the reasons why the producer would not send the bytes, () if it sends them.

    Raises InvalidSchemaError like `payload.codec`.
    """
    findings: list[PayloadFinding] = []
    if isinstance(schema, KeyValueSchema) and schema.pair.encoding is Encoding.SEPARATED:
        schema = schema.value
    try:
        _codec(schema).read(content, findings)
    except Unreadable as stop:
        findings.append(stop.finding)
    return tuple(each for each in findings if not each.is_tolerated)


def _codec(schema: Schema) -> Codec:
    """Return the codec with the producer's checks."""
    make = _LAX.get(schema.info.type)
    return payload.codec(schema) if make is None else make(schema)


@dataclass(frozen=True, slots=True)
class _Avro:
    """Avro's own reader, which cuts off the excess bits of a number."""

    root: Node

    def read(self, content: bytes, findings: list[PayloadFinding]) -> Any:
        return reading.read(self.root, content, findings, cuts=True)

    def write(self, value: Any) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _AnyJson:
    """Jackson's tree of JSON. An empty text is valid, malformed UTF-8 is replaced, and trailing text is ignored."""

    def read(self, content: bytes, findings: list[PayloadFinding]) -> Any:
        del findings
        replaced = text.encode(text.decode(content)[0])
        if not replaced.strip(b" \t\r\n"):
            return None
        try:
            return document.read(replaced).value
        except Unreadable as stop:
            if stop.finding.rule != _TRAILING or _GLUED.match(replaced):
                raise
            return None

    def write(self, value: Any) -> bytes:
        raise NotImplementedError


def _json(schema: Any) -> Codec:
    return _AnyJson() if isinstance(schema.root, Record) else JsonCodec(schema.root, is_generic=True)


def _pair(schema: KeyValueSchema) -> Codec:
    kinds = schema.key.info.type, schema.value.info.type
    return KeyValueCodec(_codec(schema.key), _codec(schema.value), Encoding.INLINE, kinds)


def _string(schema: Schema) -> Codec:
    del schema  # nor is its charset checked
    return primitives.codec(SchemaInfo(SchemaType.STRING))


_LAX: Final[Mapping[SchemaType, Callable[[Any], Codec]]] = MappingProxyType(
    {
        SchemaType.AVRO: lambda schema: _Avro(schema.root),
        SchemaType.JSON: _json,
        SchemaType.KEY_VALUE: _pair,
        SchemaType.PROTOBUF: lambda schema: _Avro(schema.root),
        SchemaType.STRING: _string,
    }
)
"""Types for which the producer's checks differ from a consumer's."""
