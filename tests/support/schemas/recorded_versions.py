"""A topic's history with its payloads, as judging reads it."""

import json

from support.kubernetes.memory_storage import MemoryStorage
from topicschema.core import formats
from topicschema.core.history import History, Origin
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.protocol import Stored

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
ID = {"name": "id", "type": "string"}
NOTE = {"name": "note", "type": "string"}


def schema(*fields: object, doc: str = "") -> Schema:
    text = json.dumps({"type": "record", "name": "R", "doc": doc, "fields": list(fields)})
    return formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()))


async def on_record(*schemas: Schema) -> tuple[MemoryStorage, History]:
    storage, stored = MemoryStorage(), Stored(History(KEY))
    for each in schemas:
        history = stored.history.with_version(each, Origin.SPEC, "2026-11-21T05:30:00Z")
        stored = await storage.put(stored, history, (each.info,))
    return storage, stored.history


def card(*symbols: str) -> Schema:
    kind = {"type": "enum", "name": "Suit", "symbols": list(symbols), "default": "NONE"}
    text = json.dumps({"type": "record", "name": "Card", "fields": [{"name": "suit", "type": kind}]})
    return formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()))


WIDE, NARROW = card("NONE", "HEARTS", "SPADES"), card("NONE", "HEARTS")
