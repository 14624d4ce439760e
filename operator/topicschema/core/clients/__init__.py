"""The broker's result for a client that connects to a topic with a schema, and the effects of the connection.

Producers, consumers and readers send their schema when they connect. The broker returns the version to use, registers a
new one, or refuses. Source: Pulsar's ServerCnx, AbstractTopic.addSchema,
PersistentTopic.addSchemaIfIdleOrCheckCompatible and SchemaRegistryServiceImpl (Pulsar 4.0).

Unlike `verdict`, this is the broker's own behavior and not that of the operator. If it hurts the broker itself, the
result has a warning. docs/clients.md has the two tables.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from topicschema.core import broker_errors
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import comparing, warning
from topicschema.core.clients.comparing import finding, read
from topicschema.core.clients.model import Client, ConnectOutcome, ConnectResult, RefusedError, TopicState, Unparsed
from topicschema.core.clients.validating import validate
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import AVRO_TEXTS, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

__all__ = ["Client", "ConnectOutcome", "ConnectResult", "TopicState", "connect"]

_Versions = tuple[tuple[int, SchemaInfo], ...]
_OF_CONSUMERS: Final[Mapping[Strategy, Strategy]] = MappingProxyType(
    dict.fromkeys((Strategy.FORWARD, Strategy.FORWARD_TRANSITIVE, Strategy.FULL), Strategy.BACKWARD)
)
"""The strategy that replaces a consumer's: SchemaRegistryServiceImpl.checkConsumerCompatibility."""


def connect(client: Client, sent: SchemaInfo | None, topic: TopicState) -> ConnectResult:
    """Return the broker's result for a client with the schema `sent`, None for a client without one.

    Type BYTES is "without", as clients send nothing for it; NONE is a NONE that is sent. AUTO_PUBLISH (Java's
    AUTO_PRODUCE_BYTES) and AUTO_CONSUME are the clients' settings. It never raises, whatever the schema.
    """
    decide = _producer if client is Client.PRODUCER else _consumer
    try:
        answer = decide(None if sent is None or sent.type is SchemaType.BYTES else sent, topic)
    except RefusedError as refused:
        answer = refused.refusal
    return replace(answer, upgrade_first=topic.strategy.upgrade_first)


def _producer(sent: SchemaInfo | None, topic: TopicState) -> ConnectResult:
    if sent is not None and sent.type is SchemaType.AUTO_PUBLISH:
        # The client fetches the topic's schema and sends it. For a NONE, as for BYTES, it sends nothing.
        latest = topic.versions[-1][1] if topic.versions else None
        sent = None if latest is None or latest.type is SchemaType.NONE else latest
    if sent is not None:
        if topic.allows_auto_update:
            validate(sent, topic.pulsar_version)
        return _added(sent, topic)
    if topic.versions and topic.enforces_validation:
        raise RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, broker_errors.WITHOUT_SCHEMA)
    return ConnectResult(ConnectOutcome.NO_VERSION)


def _consumer(sent: SchemaInfo | None, topic: TopicState) -> ConnectResult:
    if sent is None or sent.type is SchemaType.AUTO_CONSUME:
        return ConnectResult(ConnectOutcome.NO_VERSION)
    if not topic.versions and not topic.is_in_use:
        return _first(sent, topic)
    if topic.strategy is Strategy.ALWAYS_COMPATIBLE:
        return _subscribed(sent, topic, topic.versions[-1:], topic.strategy)
    if not topic.versions:
        raise RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, f"{broker_errors.EMPTY_BUT_ACTIVE} {sent.type}")
    strategy = _OF_CONSUMERS.get(topic.strategy, topic.strategy)
    considered = topic.versions[-1:] if strategy is Strategy.BACKWARD else topic.versions
    comparing.compare(sent, topic, considered, strategy)
    return _subscribed(sent, topic, considered, strategy)


def _first(sent: SchemaInfo, topic: TopicState) -> ConnectResult:
    """Return the result for a consumer of a topic that has neither a schema nor a client.

    Its schema is registered. The broker takes an invalid one for a schema that the storage has lost, and skips it
    (ServerCnx.handleSubscribe).
    """
    try:
        if topic.allows_auto_update:
            validate(sent, topic.pulsar_version)
    except RefusedError as refused:
        warnings = refused.refusal.incompatibilities
        if sent.type is SchemaType.AUTO_PUBLISH:  # no client sends it
            raise
        if refused.refusal.error is BrokerError.NO_ANSWER:
            raise RefusedError(BrokerError.UNKNOWN_ERROR, "", *warnings) from None
        return ConnectResult(ConnectOutcome.NO_VERSION, warnings=warnings)
    return _added(sent, topic)


def _subscribed(sent: SchemaInfo, topic: TopicState, considered: _Versions, strategy: Strategy) -> ConnectResult:
    return ConnectResult(ConnectOutcome.NO_VERSION, warnings=warning.of_compared(sent, topic, considered, strategy))


def _added(sent: SchemaInfo, topic: TopicState) -> ConnectResult:
    """Return the result of putSchemaIfAbsent for a valid schema, or only of its search if no schema may be added."""
    equal = _equal_version(sent, topic)
    if equal is not None:
        warnings = warning.of_equal(sent, equal, topic.pulsar_version)
        return ConnectResult(ConnectOutcome.USES_VERSION, schema_version=equal[0], warnings=warnings)
    if not topic.allows_auto_update:
        raise RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, broker_errors.NOT_FOUND)
    considered = topic.versions if topic.strategy.is_transitive else topic.versions[-1:]
    comparing.compare(sent, topic, considered, topic.strategy)
    warnings = (
        *warning.of_stored(sent, topic.pulsar_version),
        *warning.of_compared(sent, topic, considered, topic.strategy),
    )
    return ConnectResult(ConnectOutcome.REGISTERS_VERSION, schema_version=len(topic.history), warnings=warnings)


def _equal_version(sent: SchemaInfo, topic: TopicState) -> tuple[int, SchemaInfo] | None:
    """Return the oldest counting version that the broker takes for the same.

    Its search fails at a text that does not parse.
    """
    if not topic.versions:
        return None
    own = _identity(sent, topic.pulsar_version, None)
    for number, info in topic.versions:
        by_structure = {sent.type, info.type} <= AVRO_TEXTS
        other = _identity(info, topic.pulsar_version, number) if by_structure else Unparsed(info).fingerprint
        if info.type is sent.type and other == own:
            return number, info
    return None


def _identity(info: SchemaInfo, pulsar_version: PulsarVersion, number: int | None) -> str:
    if info.type not in AVRO_TEXTS:
        return Unparsed(info).fingerprint
    try:
        return read(info, pulsar_version, validate_defaults=True).fingerprint
    except InvalidSchemaError as invalid:
        raise RefusedError(BrokerError.UNKNOWN_ERROR, "", finding(invalid, number)) from None
