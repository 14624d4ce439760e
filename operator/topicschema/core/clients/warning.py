"""Warnings about clients that connect: the broker fails later, or consumers lose or misread messages."""

from collections.abc import Sequence
from dataclasses import replace

from topicschema.core import compatibility, formats
from topicschema.core.clients.comparing import finding, read
from topicschema.core.clients.model import TopicState, Unparsed
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def of_stored(sent: SchemaInfo, pulsar_version: PulsarVersion) -> tuple[Incompatibility, ...]:
    """Return warnings about a schema that the broker stores as a first or next version and then fails on."""
    if sent.type is SchemaType.NONE:
        return (Incompatibility("UNSUPPORTED_TYPE", "$", "a stored NONE refuses every other type on the topic"),)
    try:
        formats.parse(sent, pulsar_version)
    except InvalidSchemaError as invalid:
        warning = finding(invalid)
        more = "" if warning.rule == "LEGACY_JSON_SCHEMA" else "; the broker stores it, and then fails on every upload"
        return (replace(warning, message=warning.message + more),)
    return ()


def of_equal(
    sent: SchemaInfo, version: tuple[int, SchemaInfo], pulsar_version: PulsarVersion
) -> tuple[Incompatibility, ...]:
    """Return what is wrong with using that version for `sent`, as the broker does."""
    number, info = version
    candidate = _parsed(sent, pulsar_version)
    if candidate is None:
        return ()
    return compatibility.risks_of_equal(candidate, Predecessor(number, info.type, _parsed(info, pulsar_version)))


def of_compared(
    sent: SchemaInfo, topic: TopicState, considered: Sequence[tuple[int, SchemaInfo]], strategy: Strategy
) -> tuple[Incompatibility, ...]:
    """Return what the broker accepts in its comparison of `sent`, and consumers lose or misread.

    For texts that cannot be read, only a change of type is reported.
    """
    candidate = _parsed(sent, topic.pulsar_version)
    before = [
        Predecessor(number, info.type, None if candidate is None else _schema_for_risks(sent, info, strategy, topic))
        for number, info in considered
    ]
    return compatibility.risks(candidate or Unparsed(sent), before, strategy)


def _schema_for_risks(sent: SchemaInfo, info: SchemaInfo, strategy: Strategy, topic: TopicState) -> Schema | None:
    is_used = compatibility.is_payload_used(strategy, sent.type, info.type, topic.checkers)
    return _parsed(info, topic.pulsar_version) if is_used else None


def _parsed(info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema | None:
    try:
        return read(info, pulsar_version, validate_defaults=False)
    except InvalidSchemaError:
        return None
