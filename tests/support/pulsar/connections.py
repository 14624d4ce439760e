"""Schemas, topics and clients for tests of `core.clients`."""

import json
from typing import Any

from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import Client, ConnectOutcome, ConnectResult, TopicState, connect
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

USES, REGISTERS, NO_VERSION = ConnectOutcome.USES_VERSION, ConnectOutcome.REGISTERS_VERSION, ConnectOutcome.NO_VERSION
INCOMPATIBLE, UNKNOWN = BrokerError.INCOMPATIBLE_SCHEMA, BrokerError.UNKNOWN_ERROR
NOT_FOUND = "Schema not found and schema auto updating is disabled."
WITHOUT = "Producers cannot connect or send message without a schema to topics with a schema"
EMPTY = "Failed to add schema to an active topic with empty(BYTES) schema"


def field(name: str, kind: Any = "string", **rest: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **rest}


def avro(*fields: dict[str, Any], kind: SchemaType = SchemaType.AVRO, **rest: Any) -> SchemaInfo:
    return SchemaInfo(kind, json.dumps({"type": "record", "name": "R", "fields": list(fields), **rest}).encode())


ID = avro(field("id"))
MORE = avro(field("id"), field("note", default=""))  # ID and MORE read each other
NEEDS = avro(field("id"), field("note"))  # reads MORE, not ID; both read it
STRANGER = avro(field("other"))  # reads neither ID nor MORE, nor is it read
INVALID_DEFAULT = avro(field("id"), field("note", default=None))
SPACED = SchemaInfo(SchemaType.AVRO, ID.schema.replace(b":", b" : "))
BROKEN = SchemaInfo(SchemaType.AVRO, b'{"name": "record"')
NONE = SchemaInfo(SchemaType.NONE, b"whatever")
BYTES = SchemaInfo(SchemaType.BYTES)
STRING = SchemaInfo(SchemaType.STRING)
UNION = SchemaInfo(SchemaType.AVRO, b'["null", "string"]')
AUTO_PRODUCE = SchemaInfo(SchemaType.AUTO_PUBLISH)
AUTO_CONSUME = SchemaInfo(SchemaType.AUTO_CONSUME)


def topic(*history: SchemaInfo | None, strategy: Strategy = Strategy.FULL, **rest: Any) -> TopicState:
    return TopicState(history, strategy, **rest)


def producer(sent: SchemaInfo | None, state: TopicState) -> ConnectResult:
    return connect(Client.PRODUCER, sent, state)


def consumer(sent: SchemaInfo | None, state: TopicState) -> ConnectResult:
    return connect(Client.CONSUMER, sent, state)


def is_refused(connection: ConnectResult, error: BrokerError, begins: str = "") -> bool:
    outcome = (
        connection.outcome,
        connection.may_connect,
        connection.schema_version,
        connection.error,
        connection.message.startswith(begins),
    )
    return outcome == (ConnectOutcome.REFUSED, False, None, error, True)


def rules(connection: ConnectResult) -> list[str]:
    return [each.rule for each in connection.incompatibilities]
