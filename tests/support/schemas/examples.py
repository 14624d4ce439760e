"""Schemas and histories that tests of policy, verdict, plan and report are made with; parsed by the product."""

import json
from collections.abc import Mapping

from topicschema.core import formats
from topicschema.core.history import History, Origin, Owner
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
ME = Owner("shop", "created", "uid-1")
OTHER = Owner("shop", "other", "uid-2")
NOW = "2026-11-21T06:00:00Z"
LATER = "2026-11-21T07:00:00Z"


def record(*fields: str, doc: str = "") -> Schema:
    """Return an AVRO record `Created` of text fields. A field `name?` is optional."""
    members = [
        {"name": field.rstrip("?"), "type": "string", **({"default": ""} if field.endswith("?") else {})}
        for field in fields
    ]
    text = {"type": "record", "name": "Created", "fields": members, **({"doc": doc} if doc else {})}
    return parsed(SchemaType.AVRO, json.dumps(text))


def parsed(kind: SchemaType, text: str = "", properties: Mapping[str, str] | None = None) -> Schema:
    """Parse the schema with the product's parser."""
    return formats.parse(SchemaInfo(kind, text.encode(), dict(properties or {})))


def history(*schemas: Schema, claim: Owner | None = None) -> History:
    """Return a history with these versions, numbered from 0."""
    made = History(KEY, claim)
    for schema in schemas:
        made = made.with_version(schema, Origin.SPEC, NOW)
    return made
