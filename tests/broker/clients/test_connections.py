"""What a broker answers to real clients that connect is what `core.clients` says, and `topicschema can-connect` by it.

Every schema and every state of a topic is met in `make test`, by one row in five: each row is a client that connects,
half a minute for all of them. A full run takes the whole product of schemas, states, clients and settings at one
broker, and prints how far it is; TOPICSCHEMA_TEST_CONNECTIONS=1/8 takes the first of eight parts (four minutes), each
with a bit of everything.
"""

import itertools
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import _pulsar
import pulsar as python
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from broker.clients.attempts import Attempt, Found, GivenToPython, Settings, made, perform, prepare
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
from topicschema.core.clients import Client, Outcome, TopicState
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

PART = os.environ.get("TOPICSCHEMA_TEST_CONNECTIONS") or ("1/1" if IS_FULL else "")
_EACH, _STRIDE = 5, 7  # of a sample: no two of states, settings and these have a divisor in common
AT_ONCE = 300  # a long run is told of, and keeps what it found, so many rows at a time
UNTOLD = Settings(Strategy.FULL, allows_auto_update=True, enforces_validation=False)  # of a broker that is told nothing
TOLD = Settings(Strategy.BACKWARD, allows_auto_update=False, enforces_validation=True)  # the strict one


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
    client: Client, sent: SchemaInfo | None, state: TopicState, settings: Settings, broker: Settings = UNTOLD
) -> Attempt:
    """The namespace says `settings`, its broker what it leaves unsaid; enforcement is either's."""
    allows = settings.allows_auto_update
    in_force = replace(
        state,
        pulsar_version=PulsarVersion(PULSAR_VERSION),
        strategy=settings.strategy or broker.strategy,
        allows_auto_update=bool(broker.allows_auto_update if allows is None else allows),
        enforces_validation=bool(settings.enforces_validation or broker.enforces_validation),
    )
    return Attempt(client, sent, in_force, settings)


def chosen() -> Iterator[Attempt]:
    """The table's rows: every schema before every state; and what only Java's client has before each it can serve.

    Without a part each fifth of these, under one of the settings.
    """
    rows = list(itertools.product(SENT, STATES))
    rows += [
        (AUTO_PRODUCE, state) for state in STATES if state.history[-1:] not in ((JSON,), (MESSAGE,), (INVALID_DEFAULT,))
    ]
    rows += [(AUTO_CONSUME, state) for state in STATES]
    for turn, (sent, state) in enumerate(rows):
        clients = [client for client in (Client.PRODUCER, Client.CONSUMER) if sent is not NOT_OF.get(client)]
        settings = [Settings(*each) for each in itertools.product(STRATEGIES, (True, False), (True, False))]
        drawn = list(itertools.product(clients, settings))
        if PART or turn % _EACH == 0:
            of_sample = drawn[turn // _EACH * _STRIDE % len(drawn)]
            for client, setting in drawn if PART else [of_sample]:
                yield attempt(client, sent, state, setting)


def of_files_that_import_each_other() -> Iterator[Attempt]:
    """They end a producer's request without an answer."""
    for client, error in ((Client.PRODUCER, BrokerError.NO_ANSWER), (Client.CONSUMER, BrokerError.UNKNOWN_ERROR)):
        made = attempt(client, message("Created", "m.proto"), TopicState(), UNTOLD)
        assert made.expected.error is error
        yield made


def part_of(rows: Sequence[Attempt], part: str) -> list[Attempt]:
    """The K-th of N parts, from `K/N`: the same in every run, all of one size, each mixed from the whole."""
    turn, count = map(int, part.split("/"))
    mixed = Random(count).sample(rows, len(rows))  # noqa: S311 - the same in every run is the point
    return mixed[turn - 1 :: count]


def differing(attempts: Sequence[Attempt], found: Sequence[Found]) -> list[tuple[Attempt, Found]]:
    """The attempts that came out otherwise than expected, and how."""
    return [(each, one) for each, one in zip(attempts, found, strict=True) if not one.agrees(each)]


def skip_without_java() -> None:
    reason = maven.why_absent()
    if reason is not None:
        pytest.skip(f"no Java client: {reason}")


def differing_of_many(pulsar: Pulsar, attempts: Sequence[Attempt]) -> list[tuple[Attempt, Found]]:
    """Those that come out otherwise of so many that a person wants to know how far it is, and at once what differs."""
    differences: list[tuple[Attempt, Found]] = []
    began, done = time.monotonic(), 0
    for first in range(0, len(attempts), AT_ONCE):
        some = attempts[first : first + AT_ONCE]
        for each in (found := differing(some, perform(pulsar, some))):
            print(*each, sep="\n    ")  # noqa: T201 - the course of a long run
        differences += found
        done += len(some)
        rate = done / (time.monotonic() - began)
        told = f"{done} of {len(attempts)} rows, {rate:.1f} a second, {len(differences)} differ"
        print(told, flush=True)  # noqa: T201 - the course of a long run
    return differences


@pytest.mark.timeout(0 if PART else 300)
def test_a_broker_lets_in_registers_and_refuses_as_can_connect_says(pulsar: Pulsar) -> None:
    skip_without_java()
    attempts = list(chosen())
    assert {each.expected.outcome for each in attempts} == set(Outcome)
    assert {each.settings.strategy for each in attempts} == set(STRATEGIES)
    assert {each.client for each in attempts} == {Client.PRODUCER, Client.CONSUMER}
    if PART:
        attempts = [*part_of(attempts, PART), *of_files_that_import_each_other()]
        assert differing_of_many(pulsar, attempts) == []
    else:
        attempts += of_files_that_import_each_other()
        assert differing(attempts, perform(pulsar, attempts)) == []


FEW = [
    (client, sent, state)
    for client in (Client.PRODUCER, Client.CONSUMER)
    for sent in (None, ID, MORE, NEEDS)
    for state in (TopicState(), TopicState((ID,)), TopicState((ID, MORE)), TopicState((MORE, NEEDS)))
]


def test_what_the_broker_itself_is_told_counts_where_the_namespace_says_nothing(
    strict_pulsar: Pulsar,
) -> None:
    otherwise = Settings(Strategy.FORWARD, allows_auto_update=True, enforces_validation=False)
    attempts = [attempt(*each, settings, TOLD) for each in FEW for settings in (Settings(), otherwise)]
    assert {each.expected.outcome for each in attempts} == set(Outcome)
    assert differing(attempts, perform(strict_pulsar, attempts)) == []


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
    assert differing(attempts, made(pulsar, attempts, topics)) == []


def test_clients_take_an_unknown_error_for_one_that_passes_and_time_out(topic: RestTopic) -> None:
    topic.upload_version(INVALID_DEFAULT.schema.decode())
    client = python.Client(topic.pulsar.service_url, operation_timeout_seconds=2)
    try:
        with pytest.raises(_pulsar.Timeout):
            client.create_producer(
                f"persistent://{topic.namespace}/{topic.name}", schema=GivenToPython(INVALID_DEFAULT)
            )
    finally:
        client.close()
