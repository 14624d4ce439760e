"""The comparison of a client's schema with a topic's versions, with the results and errors of the broker's checkers.

The caller chooses the versions and uses the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from topicschema.core import broker_errors, compatibility, formats, jackson
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients.model import RefusedError, TopicState, Unparsed
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import avro
from topicschema.core.jackson import TextReading
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def compare(
    sent: SchemaInfo, topic: TopicState, considered: Sequence[tuple[int, SchemaInfo]], strategy: Strategy
) -> None:
    """Raise RefusedError if `sent` is incompatible with the considered versions."""
    if not considered or strategy is Strategy.ALWAYS_COMPATIBLE:
        return
    _, latest = considered[-1]
    is_latest_only = bool(strategy.directions) and not strategy.is_transitive
    if is_latest_only and (latest.type, latest.schema) == (sent.type, sent.schema):
        return
    is_json = latest.type is sent.type is SchemaType.JSON and sent.type not in topic.checkers
    if is_latest_only and is_json and _is_settled(considered[-1], sent, topic.pulsar_version):
        return
    offenders = [(number, info) for number, info in considered if info.type is not sent.type]  # first, of all versions
    is_read = not offenders and compatibility.is_payload_needed(strategy, sent.type, sent.type, topic.checkers)
    reader = _Reader(topic.pulsar_version, is_latest_only=is_latest_only)
    predecessors = [
        Predecessor(number, info.type, reader.read(info, number) if is_read else None)
        for number, info in offenders or considered
    ]
    candidate = reader.read(sent, None) if is_read else Unparsed(sent)
    findings = compatibility.check(candidate, predecessors, strategy, topic.checkers)
    if findings and not offenders and sent.type in topic.checkers:
        raise RefusedError(BrokerError.INCOMPATIBLE_SCHEMA, "", *findings)  # only that checker knows its message
    if findings:
        error, message = broker_errors.of_incompatible(sent.type, predecessors[0].type, strategy, findings)
        raise RefusedError(error, message, *findings)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader of schemas with the results and errors of the types' checkers."""

    pulsar_version: PulsarVersion
    is_latest_only: bool

    def read(self, info: SchemaInfo, number: int | None) -> Schema:
        try:
            return read(info, self.pulsar_version, validate_defaults=False)
        except InvalidSchemaError as invalid:
            error = broker_errors.of_unreadable(
                info.type, invalid, self.pulsar_version, is_latest_only=self.is_latest_only
            )
            raise RefusedError(error, "", finding(invalid, number)) from None


def _is_settled(latest: tuple[int, SchemaInfo], sent: SchemaInfo, pulsar_version: PulsarVersion) -> bool:
    """Return True if a JSON text that is no Avro schema may follow the other.

    Returns False if both are Avro schemas.
    """
    number, earlier = latest
    before, after = _reading(earlier, pulsar_version), _reading(sent, pulsar_version)
    met, culprit = (before[1], number) if after[1] is None else (after[1], None)
    if met is None:
        return False
    error = broker_errors.of_readings((before[0], earlier.schema), (after[0], sent.schema), pulsar_version)
    if error is not None:
        raise RefusedError(*error, finding(met, culprit))
    return True


def _reading(info: SchemaInfo, pulsar_version: PulsarVersion) -> tuple[TextReading, InvalidSchemaError | None]:
    try:
        read(info, pulsar_version, validate_defaults=False)
    except InvalidSchemaError as invalid:
        return jackson.reading(info.schema), invalid
    return TextReading.AVRO, None


def read(info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool) -> Schema:
    """Return the schema as Avro parses it. The rule that AVRO may not be a union applies only at upload."""
    if info.type is SchemaType.AVRO:
        as_written = replace(info, type=SchemaType.PROTOBUF)
        return replace(avro.FORMAT.parse(as_written, pulsar_version, validate_defaults=validate_defaults), info=info)
    return formats.parse(info, pulsar_version, validate_defaults=validate_defaults)


def finding(invalid: InvalidSchemaError, number: int | None = None) -> Incompatibility:
    """Return the reason for a text that cannot be read. `number` is its version's, None for the client's own."""
    place = invalid.place
    if number is not None:
        message = f"version {number} cannot be read, so nothing can be compared with it: {invalid.sentence}"
        return Incompatibility("INVALID_HISTORY", "$", message, None, number)
    where = "" if place.line is None else f"{place}: "
    return Incompatibility(invalid.rule, place.path, f"{where}{invalid.message}")
