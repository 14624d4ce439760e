"""Attempts of real clients to connect to topics of a real broker, and their results.

Python's client makes those that it can, Java's the others. Topics are prepared by bare REST. Of the product there are
only the values of `core.clients`, as the form of attempts and expectations.
"""

import base64
import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _pulsar
import pulsar as python
from pulsar.schema import Schema as PythonSchema

from support.pulsar.rest_topic import RestTopic
from testbed import maven
from testbed.pulsar import Pulsar
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import Client, ConnectOutcome, ConnectResult, TopicState, connect
from topicschema.core.formats import key_value
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

JAVA_CLIENT = Path(__file__).parents[2] / "differential" / "client" / "pom.xml"
_PROGRAM = Path(__file__).parent / "Connections.java"
_OF_PYTHON = (SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.PROTOBUF_NATIVE, SchemaType.STRING)
_AT_ONCE = 6
_TIMEOUT = 30
_FOR_EVER = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a namespace; without a strategy none is set anywhere."""

    strategy: Strategy | None = None
    allows_auto_update: bool | None = None
    enforces_validation: bool | None = None

    def apply(self, pulsar: Pulsar, namespace: str) -> None:
        base = f"/namespaces/{namespace}"
        pulsar.call("PUT", f"{base}/schemaCompatibilityStrategy", self.strategy or "UNDEFINED")
        if self.allows_auto_update is not None:
            pulsar.call("POST", f"{base}/isAllowAutoUpdateSchema", self.allows_auto_update)
        if self.enforces_validation is not None:
            pulsar.call("POST", f"{base}/schemaValidationEnforced", self.enforces_validation)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A client with a schema that connects to a topic. `settings` are the namespace's, `state` has the effective."""

    client: Client
    sent: SchemaInfo | None
    state: TopicState
    settings: Settings

    @property
    def expected(self) -> ConnectResult:
        return connect(self.client, self.sent, self.state)

    @property
    def is_bare(self) -> bool:
        """True if no client makes it: they send no NONE, and retry after errors until they time out."""
        is_none = self.sent is not None and self.sent.type is SchemaType.NONE
        return is_none or self.expected.error in (BrokerError.UNKNOWN_ERROR, BrokerError.NO_ANSWER)

    @property
    def is_for_python(self) -> bool:
        """True if Python's client makes it. It does not send most other types, and has no properties."""
        return not self.is_bare and (self.sent is None or self.sent.type in _OF_PYTHON)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt: the version of its messages, the registered version, the error of a refusal."""

    used: int | None = None
    registered: int | None = None
    error: str | None = None
    text: str | None = None

    def agrees(self, attempt: Attempt) -> bool:
        """Return True if it is what `core.clients` expects."""
        expected = attempt.expected
        if expected.outcome is ConnectOutcome.REFUSED:
            begins = self.text is None or expected.message in self.text
            return (self.error, self.registered, begins) == (expected.error, None, True)
        used = expected.schema_version if attempt.client is Client.PRODUCER else None
        registered = expected.schema_version if expected.outcome is ConnectOutcome.REGISTERS_VERSION else None
        return (self.used, self.registered, self.error) == (used, registered, None)


@dataclass(frozen=True, slots=True)
class _Response:
    """The client's error and text, and the version that the broker assigned, if the client reports it."""

    error: str | None = None
    text: str | None = None
    version: int | None = None


def perform(pulsar: Pulsar, attempts: Sequence[Attempt]) -> list[Result]:
    """Make each attempt at a topic of its own, in a namespace of its settings. Return the results.

    A loaded topic gets new settings of its namespace a moment late, so all are loaded again; retention keeps the
    messages by which some are in use. None stays loaded: thousands of topics are too many for the broker's memory.
    """
    namespaces = {settings: pulsar.create_namespace() for settings in {each.settings for each in attempts}}
    topics = [RestTopic(pulsar, namespaces[each.settings], f"x{turn}") for turn, each in enumerate(attempts)]
    for namespace in namespaces.values():
        pulsar.call("POST", f"/namespaces/{namespace}/retention", _FOR_EVER)
        Settings(Strategy.ALWAYS_COMPATIBLE).apply(pulsar, namespace)
    prepare(pulsar, attempts, topics)
    for settings, namespace in namespaces.items():
        settings.apply(pulsar, namespace)
        pulsar.call("PUT", f"/namespaces/{namespace}/unload")
    results = connect_all(pulsar, attempts, topics)
    for namespace in namespaces.values():
        pulsar.call("PUT", f"/namespaces/{namespace}/unload")
    return results


def prepare(pulsar: Pulsar, attempts: Sequence[Attempt], topics: Sequence[RestTopic]) -> None:
    """Bring the topics into the attempts' states, while everything is still allowed."""
    with _python(pulsar) as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda attempt, topic: _prepare(client, attempt.state, topic), attempts, topics))


def connect_all(pulsar: Pulsar, attempts: Sequence[Attempt], topics: Sequence[RestTopic]) -> list[Result]:
    """Make each attempt at its topic as it is. Return the results."""
    before = _indexes(topics)
    turns = range(len(attempts))
    responses = _by_python(pulsar, [turn for turn in turns if attempts[turn].is_for_python], attempts, topics)
    responses |= _by_java(pulsar, [turn for turn in turns if not attempts[turn].is_for_python], attempts, topics)
    after = _indexes(topics)
    added = [max(late) if late != early else None for early, late in zip(before, after, strict=True)]
    used = _versions_of_messages(pulsar, attempts, topics, responses)
    return [Result(used[turn], added[turn], responses[turn].error, responses[turn].text) for turn in turns]


def _prepare(client: python.Client, state: TopicState, topic: RestTopic) -> None:
    if state.is_in_use:
        producer = client.create_producer(_name(topic))
        producer.send(b"stays")
        producer.close()
    for info in state.history:
        if info is None:
            topic.delete()
        else:
            is_pair = info.type is SchemaType.KEY_VALUE
            text = key_value.text_of(info.schema) if is_pair else info.schema.decode()
            topic.upload_version(text, info.type.value, info.properties)


def _by_python(
    pulsar: Pulsar, turns: Sequence[int], attempts: Sequence[Attempt], topics: Sequence[RestTopic]
) -> dict[int, _Response]:
    with _python(pulsar) as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        responses = pool.map(lambda turn: _connect(client, attempts[turn], _name(topics[turn])), turns)
        return dict(zip(turns, responses, strict=True))


def _connect(client: python.Client, attempt: Attempt, topic: str) -> _Response:
    schema = python.schema.BytesSchema() if attempt.sent is None else VerbatimSchema(attempt.sent)
    try:
        if attempt.client is Client.PRODUCER:
            producer = client.create_producer(topic, schema=schema)
            producer.send(bytes(8))
            producer.close()
        elif attempt.client is Client.CONSUMER:
            client.subscribe(topic, "client", schema=schema).close()
        else:
            client.create_reader(topic, python.MessageId.earliest, schema=schema).close()
    except python.PulsarException as error:
        return _Response(type(error).__name__)
    return _Response()


class VerbatimSchema(PythonSchema):
    """A schema that Python's client sends unchecked, with payloads as they are."""

    def __init__(self, info: SchemaInfo) -> None:
        kind = getattr(_pulsar.SchemaType, info.type.value)
        self._schema_info = _pulsar.SchemaInfo(kind, "verbatim", info.schema.decode())

    def encode(self, obj: bytes) -> bytes:
        return obj

    def decode(self, data: bytes) -> bytes:
        return data


def _by_java(
    pulsar: Pulsar, turns: Sequence[int], attempts: Sequence[Attempt], topics: Sequence[RestTopic]
) -> dict[int, _Response]:
    if not turns:
        return {}
    lines = "".join(json.dumps(_request(attempts[turn], topics[turn])) + "\n" for turn in turns)
    answers = maven.run_java(_PROGRAM, pulsar.service_url, stdin=lines, pom=JAVA_CLIENT).splitlines()
    return {turn: _of_java(json.loads(answer)) for turn, answer in zip(turns, answers, strict=True)}


def _request(attempt: Attempt, topic: RestTopic) -> dict[str, Any]:
    is_silent = attempt.expected.error is BrokerError.NO_ANSWER  # the wait is shorter
    request: dict[str, Any] = {"topic": _name(topic), "client": attempt.client.value, "bare": attempt.is_bare}
    request["silent"] = is_silent
    if attempt.sent is not None:
        schema = base64.b64encode(attempt.sent.schema).decode()
        properties = dict(attempt.sent.properties)
        request |= {"type": attempt.sent.type.value, "schema": schema, "properties": properties}
    return request


def _of_java(answer: dict[str, Any]) -> _Response:
    error = answer.get("error")
    named = None if error is None else error.removesuffix("Exception")
    return _Response("NoAnswer" if named == "SocketTimeout" else named, answer.get("text"), answer.get("version"))


def _versions_of_messages(
    pulsar: Pulsar, attempts: Sequence[Attempt], topics: Sequence[RestTopic], responses: dict[int, _Response]
) -> list[int | None]:
    """Return the version that each producer's message carries, read from the topic if no response has it."""

    def fetch(turn: int) -> int | None:
        response = responses[turn]
        if response.error or attempts[turn].client is not Client.PRODUCER or response.version is not None:
            return response.version
        return _last_version(client, _name(topics[turn]))

    with _python(pulsar) as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(fetch, range(len(attempts))))


def _last_version(client: python.Client, topic: str) -> int | None:
    reader = client.create_reader(topic, python.MessageId.earliest)
    try:
        version = b""
        while reader.has_message_available():
            version = reader.read_next(_TIMEOUT * 1000).schema_version().encode("latin-1")
    finally:
        reader.close()
    return int.from_bytes(version, "big") if version else None


def _indexes(topics: Sequence[RestTopic]) -> list[list[int]]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [index or [] for index in pool.map(lambda topic: topic.index(), topics)]


@contextlib.contextmanager
def _python(pulsar: Pulsar) -> Iterator[python.Client]:
    logger = python.FileLogger(python.LoggerLevel.Error, os.devnull)  # it logs every refusal
    client = python.Client(pulsar.service_url, operation_timeout_seconds=_TIMEOUT, logger=logger)
    try:
        yield client
    finally:
        client.close()


def _name(topic: RestTopic) -> str:
    return f"persistent://{topic.namespace}/{topic.name}"
