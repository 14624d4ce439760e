"""Our responses to clients beside the broker's own validator and checkers, most of all on texts that cannot be read.

Their context in the broker (the versions that it reads, dedupe, the handling of exceptions) is not tested here:
tests/unit/core/test_clients.py has it, row by row.
"""

import functools
import json
from itertools import product
from typing import Any

import pytest

from differential import oracle
from support.pulsar.connections import avro, consumer, field, producer, topic
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import ConnectResult
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.differential

TEXTS = [
    avro(field("id")).schema.decode(),
    avro(field("id"), field("old")).schema.decode(),
    avro(field("id", aliases=["old"]), field("note", default="")).schema.decode(),
    avro(field("id"), field("at", "int", default="soon")).schema.decode(),
    avro(field("id", "int"), field("at", "int", default="soon")).schema.decode(),
    avro(field("self", "R")).schema.decode(),
    avro(field("self", "R"), field("id", default="")).schema.decode(),
    '["null", "string"]',
    '"string"',
    '{"type": "object", "id": "x"}',
    '{"type": "object", "id": "x", "title": "same"}',
    '{"type": "object", "id": "y"}',
    '{"type": "object"}',
    '{"type": "array"}',
    '{"type": "record", "name": "R"}',
    '{"type": "record", "name": "R", "fields": []} and more',
    '{"type": "Object"}',
    '{"type": ["object"]}',
    '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}]}',
    '"nowhere"',
    '{"type": "map", "values": "nowhere"}',
    "null",
    "{",
    "{}",
    "1",
    "",
]
AVRO_TYPES = (SchemaType.AVRO, SchemaType.JSON)
UNCHECKED = (SchemaType.STRING, SchemaType.INT32, SchemaType.AUTO_CONSUME)
ENVELOPES = ("{}", "{ }", "", "null")
PAIRS = (bytes(8), b"\0\0", b"\xff\xff\xff\xfe" + bytes(4), b"\xff" * 8)
TYPES_OF_PAIR = {"key.schema.type": "STRING", "value.schema.type": "INT32"}
SCHEMAS = [
    *(SchemaInfo(kind, text.encode()) for kind in AVRO_TYPES for text in TEXTS),
    *(SchemaInfo(SchemaType.PROTOBUF_NATIVE, text.encode()) for text in ENVELOPES),
    *(SchemaInfo(SchemaType.KEY_VALUE, payload, TYPES_OF_PAIR) for payload in PAIRS),
    SchemaInfo(SchemaType.KEY_VALUE, bytes(8), {"key.schema.type": "NOPE"}),
    *(SchemaInfo(kind, b"x") for kind in UNCHECKED),
]


def named(answer: dict[str, Any], *, wraps: bool = False) -> BrokerError | None:
    """Return the error of a client for an answer of the broker's class."""
    if answer["verdict"] is True:
        return None
    if answer["verdict"] is False or (wraps and answer["verdict"] != "error:StackOverflowError"):
        return BrokerError.INCOMPATIBLE_SCHEMA
    return BrokerError.UNKNOWN_ERROR


def begins(ours: ConnectResult, theirs: dict[str, Any]) -> bool:
    """Return True if the broker's text begins as ours, if we have one."""
    _, _, text = str(theirs.get("detail", "")).partition(": ")
    return theirs["verdict"] is not False or text.startswith(ours.message)


COUPLES = [
    (existing, sent)
    for existing, sent in product(SCHEMAS, SCHEMAS)
    if existing.type is sent.type and existing.schema != sent.schema and existing.type not in UNCHECKED
]
CHECKS = (Strategy.BACKWARD, Strategy.BACKWARD_TRANSITIVE, Strategy.FULL_TRANSITIVE)


@functools.cache
def recorded(pulsar_version: PulsarVersion) -> list[dict[str, Any]]:
    """Return the broker's answers in one run of Java: of each schema, then under each strategy of each couple."""
    checks = (oracle.check(sent, strategy, existing) for strategy in CHECKS for existing, sent in COUPLES)
    validations = ({"op": "validate", "schema": oracle.wire(each)} for each in SCHEMAS)
    return oracle.query([*validations, *checks], oracle.BROKER, oracle.BROKER_OF[pulsar_version])


@pytest.mark.parametrize("pulsar_version", oracle.JUDGING)
def test_an_empty_topic_accepts_of_a_producer_what_the_brokers_validator_accepts(
    pulsar_version: PulsarVersion,
) -> None:
    differing = []
    for sent, theirs in zip(SCHEMAS, recorded(pulsar_version)[: len(SCHEMAS)], strict=True):
        ours = producer(sent, topic(pulsar_version=pulsar_version))
        # An uncaught exception there leaves the client without a response.
        expected = BrokerError.NO_ANSWER if named(theirs) is BrokerError.UNKNOWN_ERROR else named(theirs)
        if ours.error is not expected or not begins(ours, theirs):
            differing.append((sent, ours.error, ours.message, theirs))
    assert differing == []


@pytest.mark.parametrize("strategy", [Strategy.FULL, Strategy.BACKWARD_TRANSITIVE, Strategy.FULL_TRANSITIVE])
@pytest.mark.parametrize("pulsar_version", oracle.JUDGING)
def test_a_consumer_gets_the_response_of_the_brokers_checker(pulsar_version: PulsarVersion, strategy: Strategy) -> None:
    position = CHECKS.index(strategy if strategy.is_transitive else Strategy.BACKWARD)
    start = len(SCHEMAS) + position * len(COUPLES)
    answers = recorded(pulsar_version)[start : start + len(COUPLES)]
    assert len(answers) > 900
    differing = []
    for (existing, sent), theirs in zip(COUPLES, answers, strict=True):
        ours = consumer(sent, topic(existing, strategy=strategy, pulsar_version=pulsar_version))
        if ours.error is not named(theirs, wraps=strategy.is_transitive) or not begins(ours, theirs):
            differing.append(
                (existing.schema, sent.schema, sent.type, ours.error, ours.message, json.dumps(theirs)[:200])
            )
    assert differing == []
