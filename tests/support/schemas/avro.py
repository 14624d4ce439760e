"""Short functions for Avro schemas as JSON values and for the incompatibilities of a reader and a writer."""

import json
from typing import Any

from topicschema.core.formats.avro import FORMAT
from topicschema.core.formats.avro.model import Node
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType


def parsed(schema: Any) -> Node:
    """Return the model of a schema without validated defaults, as in the broker's check. As JSON it may be a union."""
    info = SchemaInfo(SchemaType.JSON, json.dumps(schema).encode())
    return FORMAT.parse(info, PulsarVersion.V4_0, validate_defaults=False).root


def unreadable(reader: Any, writer: Any) -> tuple[Mismatch, ...]:
    return resolver.unreadable(parsed(reader), parsed(writer))


def find_mismatches(reader: Any, writer: Any) -> list[tuple[str, str, str]]:
    """Rule, reader's path and writer's path of every mismatch."""
    return [(each.rule, each.reader_path, each.writer_path) for each in unreadable(reader, writer)]


def record(name: str, *fields: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **rest}


def field(name: str, kind: Any, **rest: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **rest}


def enum(name: str, *symbols: str, **rest: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **rest}


def fixed(name: str, size: int, **rest: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **rest}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapping(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}
