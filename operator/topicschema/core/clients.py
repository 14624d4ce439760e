"""May a client with this schema connect to this topic, and what does its connecting change? As the broker answers it.

Producers, consumers and readers send the schema they work with when they connect; the broker answers with the version
to use, registers a new one, or refuses. Source: Pulsar's ServerCnx, AbstractTopic.addSchema,
PersistentTopic.addSchemaIfIdleOrCheckCompatible and SchemaRegistryServiceImpl (line 4.0). Unlike `verdict`, which says
what we admit, this is the broker's own behaviour, also where it hurts itself: that is told as a warning.
docs/clients.md has the two tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from topicschema.core import compatibility, formats, jackson, refusals
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import avro
from topicschema.core.jackson import Reading
from topicschema.core.refusals import BrokerError
from topicschema.core.schemas import AVRO_TEXTS, PulsarLine, Schema, SchemaInfo, SchemaType, fingerprint_of_bytes
from topicschema.core.strategies import Strategy, UpgradeFirst


class Client(StrEnum):
    """Who connects; to the broker a reader is a consumer."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    READER = "reader"


class Outcome(StrEnum):
    """What becomes of it. Of NO_VERSION a producer's messages carry none, and a consumer's schema is nowhere kept."""

    USES_VERSION = "UsesVersion"
    REGISTERS_VERSION = "RegistersVersion"
    NO_VERSION = "NoVersion"
    REFUSED = "Refused"


@dataclass(frozen=True, slots=True)
class TopicState:
    """All that the broker looks at but the client's schema.

    `history` is oldest first, None is a tombstone, the index is the version's number; KEY_VALUEs are the binary form.
    `strategy` is the one in force; UNDEFINED, which a broker resolves before, is answered as its checkers do.
    `is_in_use` says whether the topic has a producer, a consumer whose type is not AUTO_CONSUME, or stored messages.
    `checkers` stand for those of the broker that are not Pulsar's own.
    """

    history: tuple[SchemaInfo | None, ...] = ()
    strategy: Strategy = Strategy.FULL
    allows_auto_update: bool = True
    enforces_validation: bool = False
    is_in_use: bool = False
    line: PulsarLine = PulsarLine.V4_0
    checkers: Checkers = field(default_factory=lambda: BUILT_IN, hash=False)

    @property
    def versions(self) -> tuple[tuple[int, SchemaInfo], ...]:
        """What counts: number and schema of all after the newest tombstone."""
        last = max((number for number, info in enumerate(self.history) if info is None), default=-1)
        return tuple((number, info) for number, info in enumerate(self.history) if info is not None and number > last)


@dataclass(frozen=True, slots=True)
class Connection:
    """The answer. `schema_version` is the one used or registered; `upgrade_first` follows from the strategy.

    Of a refusal, `message` is how the broker's own text begins, empty where that varies, and `incompatibilities` are
    all reasons in our words, where schemas are the reason. `warnings` are told of what connects, and hurts later.
    """

    outcome: Outcome
    upgrade_first: UpgradeFirst = UpgradeFirst.NONE
    schema_version: int | None = None
    error: BrokerError | None = None
    message: str = ""
    incompatibilities: tuple[Incompatibility, ...] = ()
    warnings: tuple[Incompatibility, ...] = ()

    @property
    def may_connect(self) -> bool:
        """Whether the broker lets the client in."""
        return self.outcome is not Outcome.REFUSED


@dataclass(frozen=True, slots=True)
class _Unread:
    """A schema whose text nobody looks at."""

    info: SchemaInfo

    @property
    def fingerprint(self) -> str:
        return fingerprint_of_bytes(self.info.type, self.info.schema)


class _RefusedError(Exception):
    """The broker says no."""

    def __init__(self, error: BrokerError, message: str, *found: Incompatibility) -> None:
        super().__init__(message)
        self.refusal = Connection(Outcome.REFUSED, error=error, message=message, incompatibilities=found)


_OF_CONSUMERS: Final[Mapping[Strategy, Strategy]] = MappingProxyType(
    dict.fromkeys((Strategy.FORWARD, Strategy.FORWARD_TRANSITIVE, Strategy.FULL), Strategy.BACKWARD)
)
"""What a consumer is asked instead: SchemaRegistryServiceImpl.checkConsumerCompatibility."""


def connect(client: Client, sent: SchemaInfo | None, topic: TopicState) -> Connection:
    """What the broker answers to a client that works with the schema `sent`, None for one without.

    Type BYTES is "without", as clients send nothing for it; NONE is a NONE that really is on the wire. AUTO_PUBLISH
    (Java's AUTO_PRODUCE_BYTES) and AUTO_CONSUME are the clients' settings. Never raises for a schema of any kind.
    """
    ask = _producer if client is Client.PRODUCER else _consumer
    try:
        answer = ask(None if sent is None or sent.type is SchemaType.BYTES else sent, topic)
    except _RefusedError as refused:
        answer = refused.refusal
    return replace(answer, upgrade_first=topic.strategy.upgrade_first)


def _producer(sent: SchemaInfo | None, topic: TopicState) -> Connection:
    if sent is not None and sent.type is SchemaType.AUTO_PUBLISH:
        # The client fetches what the topic has, and sends that; of a NONE, as of BYTES, it sends nothing.
        latest = topic.versions[-1][1] if topic.versions else None
        sent = None if latest is None or latest.type is SchemaType.NONE else latest
    if sent is not None:
        return _added(sent, topic)
    if topic.versions and topic.enforces_validation:
        raise _RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, refusals.WITHOUT_SCHEMA)
    return Connection(Outcome.NO_VERSION)


def _consumer(sent: SchemaInfo | None, topic: TopicState) -> Connection:
    if sent is None or sent.type is SchemaType.AUTO_CONSUME:
        return Connection(Outcome.NO_VERSION)
    if not topic.versions and not topic.is_in_use:
        return _added(sent, topic)
    if topic.strategy is Strategy.ALWAYS_COMPATIBLE:
        return Connection(Outcome.NO_VERSION)
    if not topic.versions:
        raise _RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, f"{refusals.EMPTY_BUT_ACTIVE} {sent.type}")
    strategy = _OF_CONSUMERS.get(topic.strategy, topic.strategy)
    looks_at_latest = strategy in (Strategy.BACKWARD, Strategy.ALWAYS_INCOMPATIBLE)  # all say no alike to the second
    _compare(sent, topic, topic.versions[-1:] if looks_at_latest else topic.versions, strategy)
    return Connection(Outcome.NO_VERSION)


def _added(sent: SchemaInfo, topic: TopicState) -> Connection:
    """What putSchemaIfAbsent does or, where schemas may not come that way, the search for the schema alone."""
    if topic.allows_auto_update:
        _validate(sent, topic.line)
    equal = _equal_version(sent, topic)
    if equal is not None:
        return Connection(Outcome.USES_VERSION, schema_version=equal)
    if not topic.allows_auto_update:
        raise _RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, refusals.NOT_FOUND)
    _compare(sent, topic, topic.versions if topic.strategy.is_transitive else topic.versions[-1:], topic.strategy)
    number = len(topic.history)
    return Connection(Outcome.REGISTERS_VERSION, schema_version=number, warnings=_warnings(sent, topic.line))


def _validate(sent: SchemaInfo, line: PulsarLine) -> None:
    """The validation at upload: it leaves defaults unread, and before 4.2 takes a legacy JSON Schema for JSON."""
    if sent.type is SchemaType.NONE:
        return
    try:
        formats.parse(sent, line, validate_defaults=False)
    except InvalidSchemaError as invalid:
        error, message = refusals.of_invalid(sent.type, invalid.rule)
        if sent.type is SchemaType.JSON and refusals.asks_jackson(sent, line):
            reading = jackson.reading(sent.schema)
            if reading is Reading.JSON_SCHEMA:
                return
            error = BrokerError.NO_ANSWER if reading is Reading.FAILURE else error
        raise _RefusedError(error, "" if error is BrokerError.NO_ANSWER else message, _finding(invalid)) from None


def _equal_version(sent: SchemaInfo, topic: TopicState) -> int | None:
    """The oldest counting version that the broker takes for the same; its search stumbles over what does not parse."""
    if not topic.versions:
        return None
    own = _identity(sent, topic.line, None)
    for number, info in topic.versions:
        by_structure = {sent.type, info.type} <= AVRO_TEXTS
        other = _identity(info, topic.line, number) if by_structure else _Unread(info).fingerprint
        if info.type is sent.type and other == own:
            return number
    return None


def _identity(info: SchemaInfo, line: PulsarLine, number: int | None) -> str:
    if info.type not in AVRO_TEXTS:
        return _Unread(info).fingerprint
    try:
        return _read(info, line, validate_defaults=True).fingerprint
    except InvalidSchemaError as invalid:
        raise _RefusedError(BrokerError.UNKNOWN_ERROR, "", _finding(invalid, number)) from None


def _compare(
    sent: SchemaInfo, topic: TopicState, considered: Sequence[tuple[int, SchemaInfo]], strategy: Strategy
) -> None:
    """Nothing, where `sent` may follow what is considered; _RefusedError where it may not."""
    if not considered or strategy is Strategy.ALWAYS_COMPATIBLE:
        return
    _, latest = considered[-1]
    is_latest_only = bool(strategy.directions) and not strategy.is_transitive
    if is_latest_only and (latest.type, latest.schema) == (sent.type, sent.schema):
        return
    is_json = latest.type is sent.type is SchemaType.JSON and sent.type not in topic.checkers
    if is_latest_only and is_json and _is_settled(considered[-1], sent, topic.line):
        return
    offenders = [(number, info) for number, info in considered if info.type is not sent.type]  # asked of all, first
    is_read = not offenders and compatibility.is_payload_needed(strategy, sent.type, sent.type, topic.checkers)
    reader = _Reader(topic.line, is_latest_only=is_latest_only)
    predecessors = [
        Predecessor(number, info.type, reader.read(info, number) if is_read else None)
        for number, info in offenders or considered
    ]
    candidate = reader.read(sent, None) if is_read else _Unread(sent)
    found = compatibility.check(candidate, predecessors, strategy, topic.checkers)
    if found and not offenders and sent.type in topic.checkers:
        raise _RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, "", *found)  # in words that only that checker knows
    if found:
        error, message = refusals.of_incompatible(sent.type, predecessors[0].type, strategy, found)
        raise _RefusedError(error, message, *found)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads schemas as the types' checkers do, and fails as they do."""

    line: PulsarLine
    is_latest_only: bool

    def read(self, info: SchemaInfo, number: int | None) -> Schema:
        try:
            return _read(info, self.line, validate_defaults=False)
        except InvalidSchemaError as invalid:
            error = refusals.of_unreadable(info.type, invalid.rule, self.line, is_latest_only=self.is_latest_only)
            raise _RefusedError(error, "", _finding(invalid, number)) from None


def _is_settled(latest: tuple[int, SchemaInfo], sent: SchemaInfo, line: PulsarLine) -> bool:
    """Whether a JSON text that is no Avro schema may stand beside the other; False where both are Avro schemas."""
    number, earlier = latest
    before, after = _reading(earlier, line), _reading(sent, line)
    met, culprit = (before[1], number) if after[1] is None else (after[1], None)
    if met is None:
        return False
    error = refusals.of_readings((before[0], earlier.schema), (after[0], sent.schema), line)
    if error is not None:
        raise _RefusedError(*error, _finding(met, culprit))
    return True


def _reading(info: SchemaInfo, line: PulsarLine) -> tuple[Reading, InvalidSchemaError | None]:
    try:
        _read(info, line, validate_defaults=False)
    except InvalidSchemaError as invalid:
        return jackson.reading(info.schema), invalid
    return Reading.AVRO, None


def _read(info: SchemaInfo, line: PulsarLine, *, validate_defaults: bool) -> Schema:
    """The schema as Avro reads it; that AVRO may be no union is asked at upload alone."""
    if info.type is SchemaType.AVRO:
        as_written = replace(info, type=SchemaType.PROTOBUF)
        return replace(avro.FORMAT.parse(as_written, line, validate_defaults=validate_defaults), info=info)
    return formats.parse(info, line, validate_defaults=validate_defaults)


def _warnings(sent: SchemaInfo, line: PulsarLine) -> tuple[Incompatibility, ...]:
    if sent.type is SchemaType.NONE:
        return (Incompatibility("UNSUPPORTED_TYPE", "$", "a stored NONE refuses every other type on the topic"),)
    try:
        formats.parse(sent, line)
    except InvalidSchemaError as invalid:
        told = _finding(invalid)
        more = "" if told.rule == "LEGACY_JSON_SCHEMA" else "; the broker stores it, and then fails on every upload"
        return (replace(told, message=told.message + more),)
    return ()


def _finding(invalid: InvalidSchemaError, number: int | None = None) -> Incompatibility:
    place = invalid.place
    if number is not None:
        message = f"version {number} cannot be read, so nothing can be compared with it: {invalid.sentence}"
        return Incompatibility("INVALID_HISTORY", "$", message, None, number)
    where = "" if place.line is None else f"{place}: "
    return Incompatibility(invalid.rule, place.path, f"{where}{invalid.message}")
