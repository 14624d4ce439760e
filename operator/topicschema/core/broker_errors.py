"""The error that a client gets if the broker refuses it, and the beginning of its message. Nothing is judged here.

Source: the classes named in `clients` and Pulsar's schema validators and checkers (texts as in 4.0.7, 4.2.4, 5.0.0-M1).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from topicschema.core import formats, jackson
from topicschema.core.compatibility import MORE, Incompatibility
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.jackson import TextReading
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


class BrokerError(StrEnum):
    """The error that the client gets, by Pulsar's names. With NO_ANSWER, the client's own timeout expires."""

    INCOMPATIBLE_SCHEMA = "IncompatibleSchema"
    UNKNOWN_ERROR = "UnknownError"
    NO_ANSWER = "NoAnswer"


NOT_FOUND: Final = "Schema not found and schema auto updating is disabled."
WITHOUT_SCHEMA: Final = "Producers cannot connect or send message without a schema to topics with a schema"
EMPTY_BUT_ACTIVE: Final = "Failed to add schema to an active topic with empty(BYTES) schema: new schema type"

_ENDLESS: Final = "CIRCULAR_IMPORT"
_NEVER_ANSWERED: Final = frozenset({"KEY_VALUE_PAYLOAD", "UNKNOWN_PART_TYPE", "PART_PROPERTIES", _ENDLESS})
"""Rules of pairs that cannot be split, and of files that import each other. The broker's exception ends the request."""
_UNFORESEEN: Final = frozenset({"DUPLICATE_BRANCH", "DUPLICATE_FIELD", "INVALID_DEFAULT", "NESTED_UNION"})
"""Rules for which Avro's parser throws another exception than the one for texts that do not parse."""
_UNDEFINED: Final = frozenset({"UNKNOWN_TYPE", "UNDEFINED_NAME", "LEGACY_JSON_SCHEMA"})
_OVERFLOWS: Final = frozenset({"INFINITE_RECORD", "RECURSIVE_DEFAULT"})
_FORESEEN_IN_RENAMING: Final = "DOLLAR_IN_NAME"
_RENAMING: Final = frozenset({"INVALID_WRITER_DEFAULT", "ALIAS_CONFLICT", _FORESEEN_IN_RENAMING})
_OF_DEFAULTS: Final = frozenset({"INVALID_DEFAULT", "RECURSIVE_DEFAULT"})
_OF_GRAMMAR: Final = frozenset({"INFINITE_RECORD", "RECURSIVE_RECORD_CRASHES_AVRO"})
_THROWS: Final = _RENAMING | _OF_DEFAULTS | _OF_GRAMMAR
"""Rules of exceptions other than SchemaValidationException.

A check against all versions wraps them in it, except for those of a stack overflow.
"""
_WITH_JSON_SCHEMAS: Final = frozenset({PulsarVersion.V4_0, PulsarVersion.V4_1})
"""Pulsar versions that read a text of type JSON with Jackson where Avro cannot."""
_FIELD: Final = re.compile(r"\.fields\[\d+\]\Z")
"""The end of a finding's path if it concerns a reader's own field and not a record."""
_IN_VALUE: Final = re.compile(r"\$\.value(\.|\[|$)")
_INVALID: Final[Mapping[SchemaType, str]] = MappingProxyType(
    {
        SchemaType.AUTO_CONSUME: "Schema AUTO_CONSUME is a client-side schema type",
        SchemaType.AUTO_PUBLISH: "Schema AUTO_PUBLISH is a client-side schema type",
        SchemaType.KEY_VALUE: "",
        SchemaType.PROTOBUF_NATIVE: "deserialize ProtobufNative Schema failed",
        SchemaType.STRING: "Invalid schema definition data for string schema",
        **{
            kind: f"Invalid schema definition data for {kind} schema"
            for kind in (SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)
        },
    }
)


def of_invalid(kind: SchemaType, rule: str) -> tuple[BrokerError, str]:
    """Return the error for a text that the validation at upload refuses, and the beginning of its message.

    The beginning is empty if it varies. `rule` is that of the InvalidSchemaError.
    """
    if rule in _NEVER_ANSWERED:
        return BrokerError.NO_ANSWER, ""
    if rule == "UNION_AT_TOP" and kind is SchemaType.AVRO:
        return BrokerError.INCOMPATIBLE_SCHEMA, "Avro schema typed [UNION] is not supported"
    return BrokerError.INCOMPATIBLE_SCHEMA, _INVALID.get(kind, "Invalid schema definition data for primitive schemas")


def of_incompatible(
    kind: SchemaType, earlier: SchemaType, strategy: Strategy, findings: Sequence[Incompatibility]
) -> tuple[BrokerError, str]:
    """Return the error for a schema that is incompatible, and the beginning of its message.

    The beginning is empty if it varies. `kind` is its type, `earlier` that of the oldest incompatible version, and
    `findings` the result of `compatibility.check`.
    """
    if kind is not earlier:
        message = f"Incompatible schema: exists schema type {earlier}, new schema type {kind}"
        return BrokerError.INCOMPATIBLE_SCHEMA, message
    if broker_would_throw(strategy, findings) is not None:
        return BrokerError.UNKNOWN_ERROR, ""
    return BrokerError.INCOMPATIBLE_SCHEMA, _words_of_checker(kind, strategy, findings[0].rule)


def broker_would_throw(strategy: Strategy, findings: Sequence[Incompatibility]) -> Incompatibility | None:
    """Return the finding with which the broker's comparison ends in an exception instead of a verdict, or None.

    `findings` is the result of `compatibility.check` with Pulsar's own checkers. A check against all versions wraps
    every exception except a stack overflow, so that it is a verdict again.
    """
    escaping = _OVERFLOWS if strategy.is_transitive else _THROWS
    first = _first_thrown(_read_first(findings))
    return first if first is not None and first.rule in escaping else None


def _read_first(findings: Sequence[Incompatibility]) -> Sequence[Incompatibility]:
    """Return the findings of the first comparison that fails: one pair of schemas in one direction.

    The broker stops there.

    For a pair, the broker compares the parts' types first, then the keys in all directions, then the values.
    """
    findings = [each for each in findings if each.rule != MORE]
    turn = min(map(_check_order, findings), default=0)
    left = [each for each in findings if _check_order(each) == turn]
    return [
        each for each in left if (each.schema_version, each.direction) == (left[0].schema_version, left[0].direction)
    ]


def _check_order(finding: Incompatibility) -> int:
    if finding.rule == "PART_TYPE_CHANGED":
        return 0
    return 2 if _IN_VALUE.match(finding.path) else 1


def _first_thrown(findings: Sequence[Incompatibility]) -> Incompatibility | None:
    """Return the finding that is an exception in the broker, if the broker reaches it.

    The broker renames by aliases first. Then Avro resolves all nested records, each with every record that it may have
    to read. At the first field without a default it stops with that pair of records and leaves later defaults unread.
    From the other pairs it makes a grammar, which is endless if they are.
    (Rarely it fails on a pair that it left incomplete and that is recursive: that is not reported.)
    """
    renaming = next((each for each in findings if each.rule in _RENAMING), None)
    if renaming is not None:
        return None if renaming.rule == _FORESEEN_IN_RENAMING else renaming
    left: set[tuple[str, str]] = set()
    for each in findings:
        records = _FIELD.sub("", each.path), _FIELD.sub("", each.earlier_path)
        if each.rule in _OF_DEFAULTS and records not in left:
            return each
        if each.rule == "FIELD_WITHOUT_DEFAULT":
            left.add(records)
    passed = tuple(path for path, _ in left)
    return next((each for each in findings if each.rule in _OF_GRAMMAR and not each.path.startswith(passed)), None)


def falls_back_to_jackson(sent: SchemaInfo, pulsar_version: PulsarVersion) -> bool:
    """Return True if the broker reads a text of type JSON with Jackson after Avro fails to parse it."""
    try:
        formats.parse(replace(sent, type=SchemaType.PROTOBUF), pulsar_version, validate_defaults=False)
    except InvalidSchemaError as invalid:  # Avro's own reason, without the operator's own LEGACY_JSON_SCHEMA
        return pulsar_version in _WITH_JSON_SCHEMAS and _is_foreseen(invalid, pulsar_version)
    return False


def _is_foreseen(invalid: InvalidSchemaError, pulsar_version: PulsarVersion) -> bool:
    """Return True if Avro throws the SchemaParseException that brokers expect for a text that it does not parse.

    Avro 1.12 throws others for undefined names (AvroTypeException; NullPointerException at the top).
    """
    escapes = invalid.escapes or invalid.rule in _UNFORESEEN
    return not escapes and (pulsar_version is PulsarVersion.V4_0 or invalid.rule not in _UNDEFINED)


def of_unreadable(
    kind: SchemaType, invalid: InvalidSchemaError, pulsar_version: PulsarVersion, *, is_latest_only: bool
) -> BrokerError:
    """Return the error for a text of either side that a checker cannot read."""
    throws = (
        kind is SchemaType.PROTOBUF_NATIVE
        or invalid.rule in _NEVER_ANSWERED
        or not _is_foreseen(invalid, pulsar_version)
    )
    escapes = throws and (is_latest_only or invalid.rule == _ENDLESS)
    return BrokerError.UNKNOWN_ERROR if escapes else BrokerError.INCOMPATIBLE_SCHEMA


def of_readings(
    before: tuple[TextReading, bytes], after: tuple[TextReading, bytes], pulsar_version: PulsarVersion
) -> tuple[BrokerError, str] | None:
    """Return the error and the beginning of its message for two texts of type JSON that are not both Avro schemas.

    Returns None if the broker accepts them. Since 4.2 Pulsar has no JSON Schemas (PIP-464), unless they are configured.
    """
    if pulsar_version not in _WITH_JSON_SCHEMAS:
        missed = "expected Avro schema" if before[0] is TextReading.AVRO else "existing schema is not in valid Avro"
        return BrokerError.INCOMPATIBLE_SCHEMA, f"Incompatible schema: {missed} format for SchemaType.JSON"
    if before[0] is TextReading.NEITHER:
        return None
    if TextReading.FAILURE in (before[0], after[0]):
        return BrokerError.UNKNOWN_ERROR, ""
    if after[0] is TextReading.NEITHER:
        return BrokerError.INCOMPATIBLE_SCHEMA, "Unknown schema format"
    return None if before[0] is not after[0] else _of_json_schemas(before[1], after[1])


def _of_json_schemas(before: bytes, after: bytes) -> tuple[BrokerError, str] | None:
    expected = jackson.id_of(before)
    if expected is None or jackson.is_null(after):
        return BrokerError.UNKNOWN_ERROR, ""
    return None if expected == jackson.id_of(after) else (BrokerError.INCOMPATIBLE_SCHEMA, "Incompatible Schema from ")


def _words_of_checker(kind: SchemaType, strategy: Strategy, rule: str) -> str:
    if kind in (SchemaType.AVRO, SchemaType.JSON):
        return f"Error during schema compatibility check with strategy {strategy}: "
    if kind is SchemaType.KEY_VALUE:
        return "Key schemas or Value schemas are different schema type" if rule == "PART_TYPE_CHANGED" else ""
    if kind is not SchemaType.PROTOBUF_NATIVE:
        return f"Schema compatibility strategy is {strategy}"
    if rule == "ROOT_MESSAGE_CHANGED":
        return f"Protobuf root message change is not allowed under the '{strategy}' strategy."
    return "Unknown SchemaCompatibilityStrategy."
