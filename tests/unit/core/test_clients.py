"""Connections: Pulsar's tables of producers and of consumers, texts that cannot be read, and the warnings of risks."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from support.pulsar.connections import (
    AUTO_CONSUME,
    AUTO_PRODUCE,
    BROKEN,
    BYTES,
    EMPTY,
    ID,
    INCOMPATIBLE,
    INVALID_DEFAULT,
    MORE,
    NEEDS,
    NO_VERSION,
    NONE,
    NOT_FOUND,
    REGISTERS,
    SPACED,
    STRANGER,
    STRING,
    UNION,
    UNKNOWN,
    USES,
    WITHOUT,
    avro,
    consumer,
    field,
    is_refused,
    producer,
    rules,
    topic,
)
from support.schemas.protobuf_schemas import envelope
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import Client, ConnectResult, TopicState, connect
from topicschema.core.formats.key_value import KeyValue, Part, Side, encode
from topicschema.core.schemas import PRIMITIVES, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst

ANY_STRATEGY = pytest.mark.parametrize("strategy", list(Strategy))
NOT_ALWAYS_COMPATIBLE = pytest.mark.parametrize("strategy", [s for s in Strategy if s != Strategy.ALWAYS_COMPATIBLE])
EITHER_WAY = pytest.mark.parametrize("allowed", [True, False])
EACH_CONSUMER = pytest.mark.parametrize("client", [Client.CONSUMER, Client.READER])


# Producers.


@ANY_STRATEGY
@EITHER_WAY
@pytest.mark.parametrize("sent", [None, BYTES])
@pytest.mark.parametrize("enforced", [True, False])
def test_a_producer_without_a_schema_connects_to_a_topic_without_one(
    sent: SchemaInfo | None, strategy: Strategy, *, allowed: bool, enforced: bool
) -> None:
    state = topic(strategy=strategy, allows_auto_update=allowed, enforces_validation=enforced, is_in_use=True)
    response = producer(sent, state)
    assert (response.outcome, response.schema_version, response.may_connect) == (NO_VERSION, None, True)


@ANY_STRATEGY
@EITHER_WAY
@pytest.mark.parametrize("sent", [None, BYTES])
def test_a_producer_without_a_schema_connects_to_a_topic_that_has_one_unless_validation_is_enforced(
    sent: SchemaInfo | None, strategy: Strategy, *, allowed: bool
) -> None:
    state = topic(ID, strategy=strategy, allows_auto_update=allowed)
    assert producer(sent, state).outcome is NO_VERSION
    assert is_refused(producer(sent, replace(state, enforces_validation=True)), INCOMPATIBLE, WITHOUT)


def test_after_a_deletion_a_topic_counts_as_having_no_schema() -> None:
    assert producer(None, topic(ID, None, enforces_validation=True)).outcome is NO_VERSION
    assert is_refused(producer(None, topic(ID, None, ID, enforces_validation=True)), INCOMPATIBLE, WITHOUT)


@ANY_STRATEGY
def test_a_none_that_is_really_sent_is_registered_and_then_refuses_others(strategy: Strategy) -> None:
    response = producer(NONE, topic(strategy=strategy))
    assert (response.outcome, response.schema_version) == (REGISTERS, 0)
    assert [each.rule for each in response.warnings] == ["UNSUPPORTED_TYPE"]
    assert producer(NONE, topic(NONE, strategy=strategy)).outcome is USES
    after = producer(ID, topic(NONE, strategy=strategy))
    message = "Incompatible schema: exists schema type NONE, new schema type AVRO"
    assert after.may_connect if strategy is Strategy.ALWAYS_COMPATIBLE else is_refused(after, INCOMPATIBLE, message)


@NOT_ALWAYS_COMPATIBLE
def test_a_none_that_is_really_sent_is_refused_by_a_topic_of_another_type(strategy: Strategy) -> None:
    response = producer(NONE, topic(ID, strategy=strategy))
    assert is_refused(response, INCOMPATIBLE, "Incompatible schema: exists schema type AVRO, new schema type NONE")
    assert rules(response) == ["TYPE_CHANGED"]


@ANY_STRATEGY
def test_an_empty_topic_takes_any_producers_schema_as_its_first_version(strategy: Strategy) -> None:
    response = producer(ID, topic(strategy=strategy, is_in_use=True))
    assert (response.outcome, response.schema_version, response.warnings) == (REGISTERS, 0, ())
    assert producer(STRING, topic(ID, MORE, None, strategy=strategy)).schema_version == 3


@ANY_STRATEGY
@EITHER_WAY
@pytest.mark.parametrize("sent", [ID, SPACED, avro(field("id"), doc="what it is")])
def test_a_producer_with_a_known_schema_gets_its_oldest_version_whatever_the_settings(
    sent: SchemaInfo, strategy: Strategy, *, allowed: bool
) -> None:
    state = topic(ID, None, MORE, ID, STRANGER, ID, strategy=strategy, allows_auto_update=allowed)
    response = producer(sent, state)
    assert (response.outcome, response.schema_version) == (USES, 3)


def test_a_producers_schema_that_may_follow_is_the_next_version() -> None:
    response = producer(MORE, topic(ID, strategy=Strategy.FULL))
    assert (response.outcome, response.schema_version, response.upgrade_first) == (REGISTERS, 1, UpgradeFirst.ANY)


PRODUCERS = {
    Strategy.ALWAYS_COMPATIBLE: (True, True, True),
    Strategy.BACKWARD: (True, False, False),
    Strategy.BACKWARD_TRANSITIVE: (False, False, False),
    Strategy.FORWARD: (True, True, False),
    Strategy.FORWARD_TRANSITIVE: (True, True, False),
    Strategy.FULL: (True, False, False),
    Strategy.FULL_TRANSITIVE: (False, False, False),
    Strategy.ALWAYS_INCOMPATIBLE: (False, False, False),
    Strategy.UNDEFINED: (False, False, False),
}


@pytest.mark.parametrize(("strategy", "expected"), PRODUCERS.items())
def test_each_strategy_looks_at_the_latest_version_or_at_all_in_its_own_directions(
    strategy: Strategy, expected: tuple[bool, ...]
) -> None:
    cases = ((NEEDS, (ID, MORE)), (NEEDS, (ID,)), (STRANGER, (ID,)))
    response = [producer(sent, topic(*history, strategy=strategy)) for sent, history in cases]
    assert tuple(each.may_connect for each in response) == expected
    for each in response:
        assert each.may_connect or is_refused(
            each, INCOMPATIBLE, f"Error during schema compatibility check with strategy {strategy}: "
        )


@ANY_STRATEGY
@pytest.mark.parametrize("history", [(), (MORE,), (ID, None), (STRING,)])
def test_without_auto_update_a_producers_new_schema_is_not_found(
    history: tuple[SchemaInfo | None, ...], strategy: Strategy
) -> None:
    response = producer(ID, topic(*history, strategy=strategy, allows_auto_update=False))
    assert is_refused(response, INCOMPATIBLE, NOT_FOUND)
    assert response.incompatibilities == ()


@ANY_STRATEGY
@EITHER_WAY
def test_auto_produce_takes_what_the_topic_has(strategy: Strategy, *, allowed: bool) -> None:
    state = topic(ID, MORE, strategy=strategy, allows_auto_update=allowed, enforces_validation=True)
    response = producer(AUTO_PRODUCE, state)
    assert (response.outcome, response.schema_version) == (USES, 1)


@pytest.mark.parametrize("history", [(), (ID, None)])
def test_auto_produce_is_a_producer_without_a_schema_where_the_topic_has_none(
    history: tuple[SchemaInfo | None, ...],
) -> None:
    state = topic(*history, allows_auto_update=False, enforces_validation=True)
    assert producer(AUTO_PRODUCE, state).outcome is NO_VERSION
    assert is_refused(producer(AUTO_PRODUCE, topic(NONE, enforces_validation=True)), INCOMPATIBLE, WITHOUT)


# Consumers.


@ANY_STRATEGY
@EITHER_WAY
@EACH_CONSUMER
@pytest.mark.parametrize("sent", [None, BYTES, AUTO_CONSUME])
@pytest.mark.parametrize("history", [(), (ID,), (STRANGER, None)])
def test_a_consumer_without_a_schema_of_its_own_subscribes_unchecked_and_enforcement_is_not_for_it(
    client: Client,
    sent: SchemaInfo | None,
    history: tuple[SchemaInfo | None, ...],
    strategy: Strategy,
    *,
    allowed: bool,
) -> None:
    state = topic(*history, strategy=strategy, allows_auto_update=allowed, enforces_validation=True, is_in_use=True)
    assert connect(client, sent, state) == ConnectResult(NO_VERSION, strategy.upgrade_first)


@ANY_STRATEGY
@EACH_CONSUMER
def test_the_first_consumer_of_an_idle_topic_registers_its_schema(client: Client, strategy: Strategy) -> None:
    response = connect(client, ID, topic(strategy=strategy, enforces_validation=True))
    assert (response.outcome, response.schema_version) == (REGISTERS, 0)
    assert connect(client, ID, topic(STRING, None, strategy=strategy)).schema_version == 2


@ANY_STRATEGY
@EACH_CONSUMER
def test_an_idle_topic_without_auto_update_refuses_the_consumer(client: Client, strategy: Strategy) -> None:
    response = connect(client, ID, topic(strategy=strategy, allows_auto_update=False))
    assert is_refused(response, INCOMPATIBLE, NOT_FOUND)


@EITHER_WAY
@pytest.mark.parametrize("history", [(), (STRANGER,), (STRING,), (ID, None)])
@pytest.mark.parametrize("sent", [ID, STRING, NONE, BROKEN])
def test_an_active_topic_lets_every_consumer_in_under_always_compatible_and_registers_nothing(
    sent: SchemaInfo, history: tuple[SchemaInfo | None, ...], *, allowed: bool
) -> None:
    state = topic(*history, strategy=Strategy.ALWAYS_COMPATIBLE, allows_auto_update=allowed, is_in_use=True)
    assert replace(consumer(sent, state), warnings=()) == ConnectResult(NO_VERSION, UpgradeFirst.ANY)


@NOT_ALWAYS_COMPATIBLE
@EITHER_WAY
@pytest.mark.parametrize("history", [(), (ID, None)])
def test_an_active_topic_without_a_schema_refuses_every_consumer_that_has_one(
    history: tuple[SchemaInfo | None, ...], strategy: Strategy, *, allowed: bool
) -> None:
    response = consumer(ID, topic(*history, strategy=strategy, allows_auto_update=allowed, is_in_use=True))
    assert is_refused(response, INCOMPATIBLE, EMPTY)


# Responses to a consumer of NEEDS, of MORE and of STRANGER, if the topic has ID and then MORE.
CONSUMERS = {
    Strategy.ALWAYS_COMPATIBLE: (True, True, True),
    Strategy.BACKWARD: (True, True, False),
    Strategy.FORWARD: (True, True, False),
    Strategy.FORWARD_TRANSITIVE: (True, True, False),
    Strategy.FULL: (True, True, False),
    Strategy.BACKWARD_TRANSITIVE: (False, True, False),
    Strategy.FULL_TRANSITIVE: (False, True, False),
    Strategy.ALWAYS_INCOMPATIBLE: (False, False, False),
    Strategy.UNDEFINED: (False, False, False),
}


@pytest.mark.parametrize(("strategy", "expected"), CONSUMERS.items())
@EITHER_WAY
@EACH_CONSUMER
@pytest.mark.parametrize("in_use", [True, False])
def test_a_consumer_must_read_the_versions_of_its_strategy_and_registers_nothing(
    client: Client, strategy: Strategy, expected: tuple[bool, ...], *, allowed: bool, in_use: bool
) -> None:
    state = topic(ID, MORE, strategy=strategy, allows_auto_update=allowed, is_in_use=in_use)
    response = [connect(client, sent, state) for sent in (NEEDS, MORE, STRANGER)]
    assert tuple(each.may_connect for each in response) == expected
    assert {each.outcome for each in response if each.may_connect} <= {NO_VERSION}
    assert all(each.error is INCOMPATIBLE for each in response if not each.may_connect)


Connect = Callable[[SchemaInfo | None, TopicState], ConnectResult]
NOT_ALWAYS = [s for s in Strategy if not s.startswith("ALWAYS")]


def json_schema(text: bytes) -> SchemaInfo:
    return SchemaInfo(SchemaType.JSON, text)


def message_m(root: str, **file: Any) -> SchemaInfo:
    """Return a PROTOBUF_NATIVE schema of one file with one message, M."""
    files = FileDescriptorSet()
    files.file.add(name="m.proto", syntax="proto3", **file).message_type.add(name="M")
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope(files, root, "m.proto")).encode())


# Producers: texts that cannot be read, and errors.


NO_JSON = json_schema(b"{")
INVALID = {
    "AVRO": (BROKEN, "Invalid schema definition data for AVRO schema"),
    "JSON": (NO_JSON, "Invalid schema definition data for JSON schema"),
    "a union": (UNION, "Avro schema typed [UNION] is not supported"),
    "PROTOBUF_NATIVE": (SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{}"), "deserialize ProtobufNative Schema failed"),
    "STRING": (SchemaInfo(SchemaType.STRING, b"x"), "Invalid schema definition data for string schema"),
    "INT32": (SchemaInfo(SchemaType.INT32, b"x"), "Invalid schema definition data for primitive schemas"),
    "AUTO_CONSUME": (AUTO_CONSUME, "Schema AUTO_CONSUME is a client-side schema type"),
}


@pytest.mark.parametrize(("sent", "message"), INVALID.values(), ids=INVALID)
def test_a_schema_is_validated_where_it_may_be_registered_and_only_there(sent: SchemaInfo, message: str) -> None:
    for state in (topic(), topic(ID, strategy=Strategy.ALWAYS_COMPATIBLE)):
        response = producer(sent, state)
        assert is_refused(response, INCOMPATIBLE, message)
        assert len(rules(response)) == 1
    assert is_refused(producer(sent, topic(allows_auto_update=False)), INCOMPATIBLE, NOT_FOUND)


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF])
def test_a_bad_default_comes_in_first_and_chokes_all_that_follow_itself_included(kind: SchemaType) -> None:
    bad, good = replace(INVALID_DEFAULT, type=kind), replace(ID, type=kind)
    first = producer(bad, topic())
    assert (first.outcome, first.schema_version) == (REGISTERS, 0)
    assert [each.rule for each in first.warnings] == ["INVALID_DEFAULT"]
    for sent in (bad, good, AUTO_PRODUCE):
        assert is_refused(producer(sent, topic(bad)), UNKNOWN)
    assert rules(producer(good, topic(bad))) == ["INVALID_HISTORY"]
    assert rules(producer(bad, topic(good))) == ["INVALID_DEFAULT"]


def test_every_version_of_another_type_is_reported_under_a_transitive_strategy_and_the_first_is_the_brokers() -> None:
    state = topic(STRING, NONE, ID, strategy=Strategy.BACKWARD_TRANSITIVE)
    response = producer(MORE, state)
    assert is_refused(response, INCOMPATIBLE, "Incompatible schema: exists schema type STRING, new schema type AVRO")
    assert [each.schema_version for each in response.incompatibilities] == [1, 0]
    assert producer(MORE, replace(state, strategy=Strategy.BACKWARD)).may_connect


# Consumers: the same.


def test_a_consumer_with_a_registered_version_must_still_read_the_latest() -> None:
    for strategy in (Strategy.BACKWARD, Strategy.FORWARD, Strategy.FULL, Strategy.FORWARD_TRANSITIVE):
        response = consumer(NEEDS, topic(NEEDS, ID, strategy=strategy))
        assert is_refused(response, INCOMPATIBLE, "Error during schema compatibility check with strategy BACKWARD: ")
        assert [(each.rule, each.direction, each.schema_version) for each in response.incompatibilities] == [
            ("FIELD_WITHOUT_DEFAULT", Direction.BACKWARD, 1)
        ]


def test_full_transitive_requires_that_consumers_are_read_too_unlike_other_strategies() -> None:
    nothing = avro()
    for strategy in (Strategy.FULL, Strategy.BACKWARD_TRANSITIVE, Strategy.FORWARD, Strategy.FORWARD_TRANSITIVE):
        assert consumer(nothing, topic(ID, ID, strategy=strategy)).may_connect
    response = consumer(nothing, topic(ID, strategy=Strategy.FULL_TRANSITIVE))
    assert is_refused(response, INCOMPATIBLE, "Error during schema compatibility check with strategy FULL_TRANSITIVE: ")
    assert {each.direction for each in response.incompatibilities} == {Direction.FORWARD}


ONE_OF_EACH = {
    "AVRO": (ID, "Error during schema compatibility check with strategy ALWAYS_INCOMPATIBLE: "),
    "JSON": (replace(ID, type=SchemaType.JSON), "Error during schema compatibility check with strategy"),
    "PROTOBUF": (replace(ID, type=SchemaType.PROTOBUF), "Schema compatibility strategy is ALWAYS_INCOMPATIBLE"),
    "PROTOBUF_NATIVE": (SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{}"), "Unknown SchemaCompatibilityStrategy."),
    "KEY_VALUE": (SchemaInfo(SchemaType.KEY_VALUE, bytes(8)), ""),
    **{str(kind): (SchemaInfo(kind), "Schema compatibility strategy is") for kind in sorted(PRIMITIVES)},
}


@pytest.mark.parametrize(("sent", "message"), ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_always_incompatible_refuses_a_consumer_even_with_the_identical_schema(sent: SchemaInfo, message: str) -> None:
    response = consumer(sent, topic(sent, strategy=Strategy.ALWAYS_INCOMPATIBLE))
    assert is_refused(response, INCOMPATIBLE, message)
    assert rules(response) == ["ALWAYS_INCOMPATIBLE"]
    assert response.upgrade_first is UpgradeFirst.NONE


OF_TYPE_ALONE = [
    (STRING, SchemaInfo(SchemaType.STRING, b"null")),
    (STRING, SchemaInfo(SchemaType.STRING, b"not even valid")),
    (replace(ID, type=SchemaType.PROTOBUF), replace(STRANGER, type=SchemaType.PROTOBUF)),
    (replace(ID, type=SchemaType.PROTOBUF), replace(BROKEN, type=SchemaType.PROTOBUF)),
    (NONE, SchemaInfo(SchemaType.NONE, b"something else")),
    *((SchemaInfo(kind), SchemaInfo(kind)) for kind in sorted(PRIMITIVES)),
]


@pytest.mark.parametrize("strategy", NOT_ALWAYS)
@pytest.mark.parametrize(("known", "sent"), OF_TYPE_ALONE)
def test_a_type_that_is_not_compared_needs_only_the_type(
    known: SchemaInfo, sent: SchemaInfo, strategy: Strategy
) -> None:
    assert consumer(sent, topic(known, strategy=strategy)).outcome is NO_VERSION


@pytest.mark.parametrize("strategy", NOT_ALWAYS)
@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_a_consumers_schema_is_not_validated_but_must_be_read_to_be_compared(
    kind: SchemaType, strategy: Strategy
) -> None:
    response = consumer(replace(BROKEN, type=kind), topic(replace(ID, type=kind), strategy=strategy))
    assert is_refused(response, INCOMPATIBLE)
    assert rules(response) == ["SYNTAX"]


@pytest.mark.parametrize(("sent", "message"), INVALID.values(), ids=INVALID)
def test_the_first_consumer_is_let_in_with_an_invalid_schema_which_is_not_registered(
    sent: SchemaInfo, message: str
) -> None:
    response = consumer(sent, topic())
    assert response.outcome is NO_VERSION
    assert len(response.warnings) == (sent is not AUTO_CONSUME)
    assert is_refused(consumer(BROKEN, topic(allows_auto_update=False)), INCOMPATIBLE, NOT_FOUND)


def test_a_pair_is_compared_part_by_part() -> None:
    def pair(kind: SchemaType) -> SchemaInfo:
        properties = {"key.schema.type": "STRING", "value.schema.type": kind.value}
        return SchemaInfo(SchemaType.KEY_VALUE, bytes(8), properties)

    state = topic(pair(SchemaType.INT32), strategy=Strategy.BACKWARD_TRANSITIVE)
    response = consumer(pair(SchemaType.INT64), state)
    assert is_refused(response, INCOMPATIBLE, "Key schemas or Value schemas are different schema type")
    # The bytes are the same. A search, and a check of the latest alone, compare bytes only.
    assert producer(pair(SchemaType.INT64), state).schema_version == 0
    assert consumer(pair(SchemaType.INT64), replace(state, strategy=Strategy.BACKWARD)).may_connect


def test_the_text_of_a_refused_protobuf_root_names_the_strategy() -> None:
    after, before = (message_m(f"{package}.M", package=package) for package in "ba")
    response = producer(after, topic(before, strategy=Strategy.FULL))
    assert is_refused(response, INCOMPATIBLE, "Protobuf root message change is not allowed under the 'FULL' strategy.")


CHECK_FAILED = "Error during schema compatibility check with strategy "
OTHER_TYPE = "Incompatible schema: exists schema type "
LATEST, ALL = Strategy.BACKWARD, Strategy.BACKWARD_TRANSITIVE
PYTHON = SchemaInfo(SchemaType.STRING, b"null")
PAIR = {"key.schema.type": "STRING", "value.schema.type": "STRING"}
SHORT_PAIR = SchemaInfo(SchemaType.KEY_VALUE, b"\0\0", PAIR)
CONFLICT, CONFLICTING = avro(field("id", aliases=["old"]), field("note", default="")), avro(field("id"), field("old"))
ENDLESS, ENDLESS_TOO = avro(field("self", "R")), avro(field("self", "R"), field("id", default=""))
READS = avro(field("id"), field("at", "int", default="soon"))
TWICE = avro(field("a"), field("a"))
LEGACY = json_schema(b'{"type": "object", "id": "x"}')
# A field without a default ends the reading of its record before the bad default is thrown. Beside a record of another
# name the field is written, so the default is thrown there.
MUST, SOON = field("must", "int"), field("at", "int", default="soon")
BARE, WITH_MUST, WITH_SOON = (
    {"type": "record", "name": name, "fields": fields}
    for name, fields in (("A", []), ("B", [MUST]), ("A", [MUST, SOON]))
)
ENDED_BY_OTHER_EXCEPTIONS = [
    json_schema(b'{"type": "fixed", "name": "F", "size": -1}'),
    json_schema(b'{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "order": "weird"}]}'),
    json_schema(b'{"type": "record", "name": "int", "fields": []}'),
]
# Jackson reads the type before the rest.
NEVER_ANSWERED = [b'{"type": "record", "name": "R"}', b'{"name": "R", "type": "enum", symbols}', b'{"type": 1}', b"[1]"]
NO_SCHEMA = [b"{", b'{"a": NaN, "type": "enum"}', b"1", b'""', b"{}", b'{"type": ["object"]}', b"[" * 100_000, b"\xff"]
NO_SCHEMAS = [*map(json_schema, NO_SCHEMA), replace(TWICE, type=SchemaType.JSON), *ENDED_BY_OTHER_EXCEPTIONS]
REFUSED: list[tuple[Connect, SchemaInfo, TopicState, BrokerError, str, str]] = [
    (producer, BROKEN, topic(ID, allows_auto_update=False), UNKNOWN, "", "SYNTAX"),
    (producer, SHORT_PAIR, topic(ID, allows_auto_update=False), INCOMPATIBLE, NOT_FOUND, ""),
    (producer, SHORT_PAIR, topic(), BrokerError.NO_ANSWER, "", "KEY_VALUE_PAYLOAD"),
    (consumer, SHORT_PAIR, topic(), UNKNOWN, "", "KEY_VALUE_PAYLOAD"),
    (producer, STRING, topic(INVALID_DEFAULT), INCOMPATIBLE, OTHER_TYPE + "AVRO, new schema type STRING",
     "TYPE_CHANGED"),
    (producer, MORE, topic(ID, INVALID_DEFAULT), UNKNOWN, "", "INVALID_HISTORY"),
    (producer, LEGACY, topic(LEGACY), UNKNOWN, "", ""),
    (producer, UNION, topic(avro(), strategy=LATEST), INCOMPATIBLE, "Avro schema typed [UNION]", "UNION_AT_TOP"),
    (producer, CONFLICT, topic(CONFLICTING, strategy=LATEST), UNKNOWN, "", "ALIAS_CONFLICT"),
    (producer, CONFLICT, topic(CONFLICTING, strategy=ALL), INCOMPATIBLE, CHECK_FAILED + ALL, "ALIAS_CONFLICT"),
    (producer, ENDLESS_TOO, topic(ENDLESS, strategy=LATEST), UNKNOWN, "", "INFINITE_RECORD"),
    (producer, ENDLESS_TOO, topic(ENDLESS, strategy=ALL), UNKNOWN, "", "INFINITE_RECORD"),
    (producer, STRING, topic(PYTHON, strategy=Strategy.ALWAYS_INCOMPATIBLE), INCOMPATIBLE, "Schema compatibility", ""),
    (consumer, NONE, topic(ID, STRING, strategy=Strategy.ALWAYS_INCOMPATIBLE), INCOMPATIBLE, OTHER_TYPE + "AVRO", ""),
    *(
        (consumer, STRING, topic(STRING, ID, strategy=each), INCOMPATIBLE, OTHER_TYPE + "AVRO", "TYPE_CHANGED")
        for each in NOT_ALWAYS
    ),
    (consumer, ID, topic(STRING, ID, strategy=ALL), INCOMPATIBLE, OTHER_TYPE + "STRING", "TYPE_CHANGED"),
    (consumer, BROKEN, topic(BROKEN, strategy=Strategy.FULL_TRANSITIVE), INCOMPATIBLE, "", "INVALID_HISTORY"),
    (consumer, ID, topic(BROKEN, strategy=LATEST), INCOMPATIBLE, "", "INVALID_HISTORY"),
    (consumer, READS, topic(ID, strategy=Strategy.FORWARD), UNKNOWN, "", "INVALID_DEFAULT"),
    (consumer, READS, topic(ID, strategy=ALL), INCOMPATIBLE, "", "INVALID_DEFAULT"),
    (consumer, AUTO_PRODUCE, topic(), INCOMPATIBLE, "Schema AUTO_PUBLISH is a client-side schema type", ""),
    (consumer, avro(MUST, SOON), topic(ID, strategy=LATEST), INCOMPATIBLE, CHECK_FAILED, "FIELD_WITHOUT_DEFAULT"),
    (consumer, avro(field("one", [WITH_SOON, WITH_MUST])),
     topic(avro(field("one", [BARE, WITH_MUST])), strategy=LATEST), UNKNOWN, "", "INVALID_DEFAULT"),
    *((producer, json_schema(text), topic(), BrokerError.NO_ANSWER, "", "") for text in NEVER_ANSWERED),
    *(
        (producer, each, topic(), INCOMPATIBLE, "Invalid schema definition data for JSON schema", "")
        for each in NO_SCHEMAS
    ),
    *(
        (consumer, sent, topic(known, strategy=strategy), error, "", "")
        for known, sent in (
            *((replace(ID, type=SchemaType.JSON), broken) for broken in ENDED_BY_OTHER_EXCEPTIONS),
            (ID, TWICE),
            (TWICE, ID),
            (SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{}"), SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{ }")),
        )
        for strategy, error in ((Strategy.FULL, UNKNOWN), (Strategy.FULL_TRANSITIVE, INCOMPATIBLE))
    ),
]  # fmt: skip


@pytest.mark.parametrize(("client", "sent", "state", "error", "message", "rule"), REFUSED)
def test_a_refused_client_gets_the_error_of_the_broker(  # noqa: PLR0913, PLR0917
    client: Connect, sent: SchemaInfo, state: TopicState, error: BrokerError, message: str, rule: str
) -> None:
    response = client(sent, state)
    assert is_refused(response, error, message)
    assert rule == "" or rule in rules(response)


@pytest.mark.parametrize(
    ("client", "sent", "state", "version"),
    [
        (producer, None, topic(INVALID_DEFAULT), None),
        (consumer, ID, topic(INVALID_DEFAULT, strategy=LATEST), None),
        (producer, ID, topic(ID, INVALID_DEFAULT), 0),  # equal before the version that fails
        (producer, LEGACY, topic(), 0),
        (producer, STRING, topic(PYTHON, strategy=Strategy.FULL), 1),
        (consumer, ID, topic(STRING, ID, strategy=Strategy.FORWARD_TRANSITIVE), None),
        (consumer, BROKEN, topic(BROKEN, strategy=Strategy.FULL), None),
        (consumer, UNION, topic(SchemaInfo(SchemaType.AVRO, b'"string"'), strategy=LATEST), None),
    ],
)
def test_an_accepted_client_gets_its_version(
    client: Connect, sent: SchemaInfo | None, state: TopicState, version: int | None
) -> None:
    response = client(sent, state)
    assert (response.may_connect, response.schema_version) == (True, version)


JSON = replace(ID, type=SchemaType.JSON)
SAME_ID = json_schema(b'{"type": "object", "id": "x", "title": "t"}')
OTHER_ID = json_schema(b'{"type": "object", "id": "y"}')
WITHOUT_ID = json_schema(b'{"type": "object"}')
BROKEN_RECORD = json_schema(b'{"type": "record", "name": "R"}')
JSON_PAIRS = [
    (JSON, LEGACY, None),
    (LEGACY, JSON, None),
    (LEGACY, SAME_ID, None),
    (LEGACY, OTHER_ID, INCOMPATIBLE),
    (LEGACY, WITHOUT_ID, INCOMPATIBLE),
    (WITHOUT_ID, LEGACY, UNKNOWN),
    (JSON, NO_JSON, INCOMPATIBLE),
    (JSON, BROKEN_RECORD, UNKNOWN),
    (NO_JSON, JSON, None),
]


@pytest.mark.parametrize(("known", "sent", "error"), JSON_PAIRS)
def test_json_schemas_of_old_clients_pass_a_check_of_the_latest_and_fail_one_of_all_versions(
    known: SchemaInfo, sent: SchemaInfo, error: BrokerError | None
) -> None:
    assert consumer(sent, topic(known, strategy=Strategy.FORWARD)).error is error
    response = consumer(sent, topic(known, strategy=Strategy.BACKWARD_TRANSITIVE))
    assert is_refused(response, INCOMPATIBLE)
    assert len(rules(response)) == 1


@pytest.mark.parametrize("side", Side)
def test_the_parts_of_a_pair_are_checked_as_if_alone(side: Side) -> None:
    def pair(part: SchemaInfo) -> SchemaInfo:
        other = Part(SchemaInfo(SchemaType.BYTES))
        return encode(KeyValue(Part(part), other) if side is Side.KEY else KeyValue(other, Part(part)))

    taken = producer(pair(LEGACY), topic())
    assert taken.may_connect
    assert [(each.rule, each.path) for each in taken.warnings] == [("LEGACY_JSON_SCHEMA", f"$.{side}")]
    assert is_refused(producer(pair(BROKEN_RECORD), topic()), BrokerError.NO_ANSWER)
    response = producer(pair(NO_JSON), topic())
    assert is_refused(response, INCOMPATIBLE)
    assert response.incompatibilities[0].path.startswith(f"$.{side}")


def test_files_that_import_each_other_overflow_the_brokers_stack_at_any_request() -> None:
    looping = message_m("M", dependency=["m.proto"])
    assert is_refused(producer(looping, topic()), BrokerError.NO_ANSWER)
    assert is_refused(consumer(looping, topic()), UNKNOWN)
    for strategy in (Strategy.FORWARD, Strategy.BACKWARD_TRANSITIVE):
        other = replace(looping, schema=looping.schema + b" ")
        assert is_refused(consumer(looping, topic(other, strategy=strategy)), UNKNOWN)


def test_two_avro_schemas_of_type_json_are_compared_as_avro_and_their_defaults_left_unread() -> None:
    needs, chokes = replace(NEEDS, type=SchemaType.JSON), replace(INVALID_DEFAULT, type=SchemaType.JSON)
    response = consumer(needs, topic(JSON, strategy=Strategy.FULL))
    assert is_refused(response, INCOMPATIBLE, "Error during schema compatibility check with strategy BACKWARD: ")
    assert rules(response) == ["FIELD_WITHOUT_DEFAULT"]
    assert consumer(needs, topic(chokes, strategy=Strategy.FULL)).may_connect


@pytest.mark.parametrize("text", [b"null", b'{"type": "any"}'])
def test_what_jackson_takes_is_stored_as_json_with_a_warning_and_under_no_other_type(text: bytes) -> None:
    response = producer(SchemaInfo(SchemaType.JSON, text), topic())
    assert (response.may_connect, len(response.warnings)) == (True, 1)
    response = producer(SchemaInfo(SchemaType.AVRO, text), topic())
    assert is_refused(response, INCOMPATIBLE, "Invalid schema definition data")


def suits(*symbols: str, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return avro(field("suit", {"type": "enum", "name": "Suit", "symbols": list(symbols)}), kind=kind)


WIDE, NARROW = suits("HEARTS", "SPADES"), suits("HEARTS")


def warnings(response: ConnectResult) -> list[tuple[str, Direction | None, int | None]]:
    return [(each.rule, each.direction, each.schema_version) for each in response.warnings]


def test_a_producer_that_registers_gets_warnings_of_readers_that_fail() -> None:
    response = producer(WIDE, topic(NARROW, strategy=Strategy.FORWARD))
    assert (response.outcome, warnings(response)) == (REGISTERS, [("ENUM_SYMBOL_UNKNOWN", Direction.FORWARD, 0)])
    assert warnings(producer(NARROW, topic(WIDE, strategy=Strategy.FORWARD))) == []


def test_a_consumer_gets_warnings_of_what_it_cannot_read() -> None:
    response = consumer(NARROW, topic(WIDE, strategy=Strategy.FORWARD))
    assert (response.outcome, warnings(response)) == (NO_VERSION, [("ENUM_SYMBOL_UNKNOWN", Direction.BACKWARD, 0)])
    assert warnings(consumer(WIDE, topic(NARROW, strategy=Strategy.FORWARD))) == []


def test_risks_are_those_of_the_versions_that_are_compared() -> None:
    history = (WIDE, NARROW)
    third = suits("HEARTS", "CLUBS")
    backward = [("ENUM_SYMBOL_UNKNOWN", Direction.BACKWARD, 0)]
    assert warnings(producer(third, topic(*history, strategy=Strategy.BACKWARD))) == []
    assert warnings(producer(third, topic(*history, strategy=Strategy.BACKWARD_TRANSITIVE))) == backward
    assert warnings(consumer(third, topic(*history, strategy=Strategy.FULL))) == []
    assert warnings(consumer(third, topic(*history, strategy=Strategy.BACKWARD_TRANSITIVE))) == backward


def test_types_that_the_broker_does_not_check_have_warnings() -> None:
    wide, narrow = (suits(*symbols, kind=SchemaType.PROTOBUF) for symbols in (("HEARTS", "SPADES"), ("HEARTS",)))
    assert [rule for rule, *_ in warnings(consumer(narrow, topic(wide)))] == ["ENUM_SYMBOL_UNKNOWN"]


@pytest.mark.parametrize("sent", [STRING, NONE, BROKEN])
def test_a_changed_type_is_a_warning_if_any_type_may_connect(sent: SchemaInfo) -> None:
    history = topic(suits("HEARTS", kind=SchemaType.JSON), strategy=Strategy.ALWAYS_COMPATIBLE)
    assert warnings(consumer(sent, history)) == [("TYPE_CHANGED", None, 0)]


def test_texts_that_cannot_be_read_have_no_warnings() -> None:
    for pulsar_version in PulsarVersion:
        state = topic(BROKEN, strategy=Strategy.ALWAYS_COMPATIBLE, pulsar_version=pulsar_version)
        assert warnings(consumer(ID, state)) == warnings(consumer(BROKEN, state)) == []


def test_a_pair_that_is_equal_to_another_has_a_warning() -> None:
    types = {"key.schema.type": "STRING", "value.schema.type": "INT32"}
    pair = SchemaInfo(SchemaType.KEY_VALUE, bytes(8), types)
    other = SchemaInfo(SchemaType.KEY_VALUE, bytes(8), {**types, "value.schema.type": "INT64"})
    response = producer(other, topic(pair))
    assert (response.outcome, warnings(response)) == (USES, [("PART_TYPE_CHANGED", None, 0)])
    assert warnings(producer(pair, topic(pair))) == []
