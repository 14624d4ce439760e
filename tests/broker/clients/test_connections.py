"""A broker's responses to real clients that connect are those of `core.clients`, and so of `topicschema can-connect`.

`make test` has every schema and every state of a topic, and one row in five. Each row is a client that connects, half a
minute for all of them. A full run takes the whole product of schemas, states, clients and settings at one broker.
TOPICSCHEMA_TEST_CONNECTIONS=1/8 takes the first of eight parts (four minutes), each with a bit of everything.
"""

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import _pulsar
import pulsar as python
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from broker.clients.attempts import Attempt, Result, Settings, VerbatimSchema, connect_all, perform, prepare
from support.pulsar.connections import (
    AUTO_CONSUME,
    AUTO_PRODUCE,
    BROKEN,
    ID,
    INVALID_DEFAULT,
    MORE,
    NEEDS,
    NONE,
    SPACED,
    STRANGER,
    STRING,
    UNION,
    avro,
    field,
)
from support.pulsar.rest_topic import RestTopic
from support.schemas.protobuf_schemas import envelope
from support.sizes import IS_FULL
from testbed import maven
from testbed.pulsar import PULSAR_VERSION, Pulsar
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import Client, ConnectOutcome, TopicState
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

PART = os.environ.get("TOPICSCHEMA_TEST_CONNECTIONS") or ("1/1" if IS_FULL else "")
_EACH, _STRIDE = 5, 7  # of a sample: no two of states, settings and these have a divisor in common
AT_ONCE = 300  # rows: more topics are too many for a broker
DEFAULTS = Settings(Strategy.FULL, allows_auto_update=True, enforces_validation=False)  # of a broker as it comes
STRICT = Settings(Strategy.BACKWARD, allows_auto_update=False, enforces_validation=True)  # of the strict broker


def pair(key: SchemaType, value: SchemaInfo) -> SchemaInfo:
    return encode(KeyValue(Part(SchemaInfo(key)), Part(value), Encoding.INLINE), {})


def message(name: str, *imports: str) -> SchemaInfo:
    files = FileDescriptorSet()
    file = files.file.add(name="m.proto", package="p", syntax="proto3", dependency=imports)
    file.message_type.add(name=name)
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope(files, f"p.{name}", "m.proto")).encode())


JSON = avro(field("id"), kind=SchemaType.JSON)
PROTOBUF = avro(field("id"), kind=SchemaType.PROTOBUF)
NULL = SchemaInfo(SchemaType.STRING, b"null")
INT32 = SchemaInfo(SchemaType.INT32)
PAIR = pair(SchemaType.STRING, SchemaInfo(SchemaType.STRING))
RETYPED_PAIR = pair(SchemaType.INT64, SchemaInfo(SchemaType.INT32))
AVRO_PAIR = pair(SchemaType.STRING, ID)
SHORT_PAIR = SchemaInfo(SchemaType.KEY_VALUE, b"\0\0", PAIR.properties)
MESSAGE, OTHER_MESSAGE = message("Created"), message("Deleted")

SENT = (
    *(None, ID, MORE, NEEDS, STRANGER, SPACED, INVALID_DEFAULT, BROKEN, UNION, JSON, PROTOBUF, STRING, NULL, INT32),
    *(PAIR, RETYPED_PAIR, AVRO_PAIR, SHORT_PAIR, MESSAGE, OTHER_MESSAGE, NONE),
)
STATES = (
    *(TopicState(), TopicState(is_in_use=True), TopicState((ID,)), TopicState((ID,), is_in_use=True)),
    *(
        TopicState((ID, MORE)),
        TopicState((MORE, NEEDS)),
        TopicState((ID, None)),
        TopicState((ID, None), is_in_use=True),
    ),
    *(TopicState((ID, None, STRANGER)), TopicState((ID, STRING)), TopicState((INVALID_DEFAULT,)), TopicState((JSON,))),
    *(TopicState((STRING,)), TopicState((PAIR,)), TopicState((MESSAGE,)), TopicState((NONE,))),
)
NOT_OF = {Client.PRODUCER: AUTO_CONSUME, Client.CONSUMER: AUTO_PRODUCE}
STRATEGIES = (None, *(each for each in Strategy if each is not Strategy.UNDEFINED))


def attempt(
    client: Client, sent: SchemaInfo | None, state: TopicState, settings: Settings, broker: Settings = DEFAULTS
) -> Attempt:
    """Return the attempt by the namespace's `settings`, or its broker's if unset; enforcement is either's."""
    allows = settings.allows_auto_update
    effective = replace(
        state,
        pulsar_version=PulsarVersion(PULSAR_VERSION),
        strategy=settings.strategy or broker.strategy,
        allows_auto_update=bool(broker.allows_auto_update if allows is None else allows),
        enforces_validation=bool(settings.enforces_validation or broker.enforces_validation),
    )
    return Attempt(client, sent, effective, settings)


def rows() -> Iterator[Attempt]:
    """Yield the table's rows: every schema at every state, and those of Java's client alone at each that it can serve.

    Without a part, each fifth of these, under one of the settings.
    """
    cases = list(itertools.product(SENT, STATES))
    cases += [
        (AUTO_PRODUCE, state) for state in STATES if state.history[-1:] not in ((JSON,), (MESSAGE,), (INVALID_DEFAULT,))
    ]
    cases += [(AUTO_CONSUME, state) for state in STATES]
    for turn, (sent, state) in enumerate(cases):
        clients = [client for client in (Client.PRODUCER, Client.CONSUMER) if sent is not NOT_OF.get(client)]
        settings = [Settings(*each) for each in itertools.product(STRATEGIES, (True, False), (True, False))]
        drawn = list(itertools.product(clients, settings))
        if PART or turn % _EACH == 0:
            of_sample = drawn[turn // _EACH * _STRIDE % len(drawn)]
            for client, setting in drawn if PART else [of_sample]:
                yield attempt(client, sent, state, setting)


def of_files_that_import_each_other() -> Iterator[Attempt]:
    """Yield attempts that end a producer's request without a response."""
    for client, error in ((Client.PRODUCER, BrokerError.NO_ANSWER), (Client.CONSUMER, BrokerError.UNKNOWN_ERROR)):
        each = attempt(client, message("Created", "m.proto"), TopicState(), DEFAULTS)
        assert each.expected.error is error
        yield each


def part_of(rows: Sequence[Attempt], part: str) -> list[Attempt]:
    """Return the K-th of N parts, from `K/N`: the same in every run, all of one size, each mixed from the whole."""
    turn, count = map(int, part.split("/"))
    mixed = Random(count).sample(rows, len(rows))  # noqa: S311 - the same in every run is the point
    return mixed[turn - 1 :: count]


def differences(attempts: Sequence[Attempt], results: Sequence[Result]) -> list[tuple[Attempt, Result]]:
    """Return the attempts with an unexpected result, and the results."""
    return [(each, one) for each, one in zip(attempts, results, strict=True) if not one.agrees(each)]


def skip_without_java() -> None:
    reason = maven.why_absent()
    if reason is not None:
        pytest.skip(f"no Java client: {reason}")


@pytest.mark.timeout(0 if PART else 300)
def test_a_broker_accepts_registers_and_refuses_as_can_connect_prints(pulsar: Pulsar) -> None:
    skip_without_java()
    attempts = list(rows())
    assert {each.expected.outcome for each in attempts} == set(ConnectOutcome)
    assert {each.settings.strategy for each in attempts} == set(STRATEGIES)
    assert {each.client for each in attempts} == {Client.PRODUCER, Client.CONSUMER}
    attempts = [*(part_of(attempts, PART) if PART else attempts), *of_files_that_import_each_other()]
    parts = [attempts[first : first + AT_ONCE] for first in range(0, len(attempts), AT_ONCE)]
    assert [each for part in parts for each in differences(part, perform(pulsar, part))] == []


FEW = [
    (client, sent, state)
    for client in (Client.PRODUCER, Client.CONSUMER)
    for sent in (None, ID, MORE, NEEDS)
    for state in (TopicState(), TopicState((ID,)), TopicState((ID, MORE)), TopicState((MORE, NEEDS)))
]


def test_the_broker_s_own_settings_count_if_the_namespace_has_none(strict_pulsar: Pulsar) -> None:
    otherwise = Settings(Strategy.FORWARD, allows_auto_update=True, enforces_validation=False)
    attempts = [attempt(*each, settings, STRICT) for each in FEW for settings in (Settings(), otherwise)]
    assert {each.expected.outcome for each in attempts} == set(ConnectOutcome)
    assert differences(attempts, perform(strict_pulsar, attempts)) == []


def test_a_topics_own_strategy_and_enforcement_count_before_the_namespaces(
    pulsar: Pulsar, pulsar_namespace: str
) -> None:
    of_namespace = Settings(Strategy.ALWAYS_COMPATIBLE, allows_auto_update=True, enforces_validation=False)
    own = replace(of_namespace, strategy=Strategy.BACKWARD, enforces_validation=True)
    attempts = [attempt(*each, own) for each in FEW]
    topics = [RestTopic(pulsar, pulsar_namespace, f"x{turn}") for turn, _ in enumerate(attempts)]
    of_namespace.apply(pulsar, pulsar_namespace)
    prepare(pulsar, attempts, topics)
    for topic in topics:
        pulsar.call("PUT", topic.itself)
        pulsar.call("PUT", f"{topic.itself}/schemaCompatibilityStrategy", own.strategy)
        pulsar.call("POST", f"{topic.itself}/schemaValidationEnforced", own.enforces_validation)
    assert differences(attempts, connect_all(pulsar, attempts, topics)) == []


def test_clients_retry_after_an_unknown_error_and_time_out(topic: RestTopic) -> None:
    topic.upload_version(INVALID_DEFAULT.schema.decode())
    client = python.Client(topic.pulsar.service_url, operation_timeout_seconds=2)
    try:
        with pytest.raises(_pulsar.Timeout):
            client.create_producer(
                f"persistent://{topic.namespace}/{topic.name}", schema=VerbatimSchema(INVALID_DEFAULT)
            )
    finally:
        client.close()
