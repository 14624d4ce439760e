"""Would a Java producer with AUTO_PRODUCE send these bytes to a topic with that schema?

It reads them first (AutoProduceBytesSchema.encode, client 4.0.7), by the topic's newest schema, and looks less closely
than a consumer may have to: of JSON it wants JSON alone and no record, of a SEPARATED pair the value alone, of STRING
nothing. A topic of type PROTOBUF it takes for AVRO, so that it refuses what belongs there. Each refusal is a finding of
`payload.validate`, but for that one.
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
from topicschema.payload.finding import Finding, Unreadable
from topicschema.payload.json import JsonCodec, document
from topicschema.payload.key_value import KeyValueCodec

_TRAILING: Final = "TRAILING_BYTES"
_GLUED: Final = re.compile(rb"[ \t\r\n]*(?:-?[0-9][0-9.eE+-]*(?![0-9.eE+\- \t\r\n]|\Z)|(?:true|false|null)[\w$])")
"""A number or a word with something behind it that is no space, which Jackson minds."""


def refusals(schema: Schema, content: bytes) -> tuple[Finding, ...]:
    """Why the producer would not send the bytes; () where it sends them. InvalidSchemaError as `payload.codec`."""
    found: list[Finding] = []
    if isinstance(schema, KeyValueSchema) and schema.pair.encoding is Encoding.SEPARATED:
        schema = schema.value
    try:
        _codec(schema).read(content, found)
    except Unreadable as stop:
        found.append(stop.finding)
    return tuple(each for each in found if not each.is_tolerated)


def _codec(schema: Schema) -> Codec:
    """The codec that looks as the producer does."""
    make = _LAX.get(schema.info.type)
    return payload.codec(schema) if make is None else make(schema)


@dataclass(frozen=True, slots=True)
class _Avro:
    """Avro's own reader, which cuts off the bits that a number has too many."""

    root: Node

    def read(self, content: bytes, found: list[Finding]) -> Any:
        return reading.read(self.root, content, found, cuts=True)

    def write(self, value: Any) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _AnyJson:
    """Jackson's tree of JSON: no text at all is one, what is not UTF-8 is replaced, what follows is not looked at."""

    def read(self, content: bytes, found: list[Finding]) -> Any:
        del found
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
    return _AnyJson() if isinstance(schema.root, Record) else JsonCodec(schema.root)


def _pair(schema: KeyValueSchema) -> Codec:
    return KeyValueCodec(_codec(schema.key), _codec(schema.value), Encoding.INLINE)


def _string(schema: Schema) -> Codec:
    del schema  # its charset, too, is not looked at
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
"""Where the producer looks otherwise than a consumer."""
