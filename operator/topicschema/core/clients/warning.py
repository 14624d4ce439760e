"""What connects and hurts later: what the broker stores and then chokes on, and what consumers lose or misread."""

from collections.abc import Sequence
from dataclasses import replace

from topicschema.core import compatibility, formats
from topicschema.core.clients.comparing import finding, read
from topicschema.core.clients.model import TopicState, Unparsed
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def of_stored(sent: SchemaInfo, line: PulsarLine) -> tuple[Incompatibility, ...]:
    """What the broker stores as a first version, or a next one, and then chokes on."""
    if sent.type is SchemaType.NONE:
        return (Incompatibility("UNSUPPORTED_TYPE", "$", "a stored NONE refuses every other type on the topic"),)
    try:
        formats.parse(sent, line)
    except InvalidSchemaError as invalid:
        told = finding(invalid)
        more = "" if told.rule == "LEGACY_JSON_SCHEMA" else "; the broker stores it, and then fails on every upload"
        return (replace(told, message=told.message + more),)
    return ()


def of_equal(sent: SchemaInfo, version: tuple[int, SchemaInfo], line: PulsarLine) -> tuple[Incompatibility, ...]:
    """What is wrong with taking `sent` for that version, which the broker takes it for."""
    number, info = version
    candidate = _parsed(sent, line)
    if candidate is None:
        return ()
    return compatibility.risks_of_equal(candidate, Predecessor(number, info.type, _parsed(info, line)))


def of_compared(
    sent: SchemaInfo, topic: TopicState, considered: Sequence[tuple[int, SchemaInfo]], strategy: Strategy
) -> tuple[Incompatibility, ...]:
    """What the broker lets pass where it compares `sent` with what is considered, and consumers lose or misread.

    Of texts that cannot be read only a change of type is told.
    """
    candidate = _parsed(sent, topic.line)
    before = [
        Predecessor(number, info.type, None if candidate is None else _wanted(sent, info, strategy, topic))
        for number, info in considered
    ]
    return compatibility.risks(candidate or Unparsed(sent), before, strategy)


def _wanted(sent: SchemaInfo, info: SchemaInfo, strategy: Strategy, topic: TopicState) -> Schema | None:
    is_wanted = compatibility.is_payload_wanted(strategy, sent.type, info.type, topic.checkers)
    return _parsed(info, topic.line) if is_wanted else None


def _parsed(info: SchemaInfo, line: PulsarLine) -> Schema | None:
    try:
        return read(info, line, validate_defaults=False)
    except InvalidSchemaError:
        return None
