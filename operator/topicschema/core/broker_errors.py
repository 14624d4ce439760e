"""Which error a client gets of the broker that refuses it, and how the broker's words begin. Nothing is judged here.

Source: the classes named in `clients` and Pulsar's schema validators and checkers (texts as in 4.0.7 and 4.2.4).
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
from topicschema.core.jackson import Reading
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


class BrokerError(StrEnum):
    """What the client gets, by Pulsar's names; with NO_ANSWER it runs into its own timeout."""

    INCOMPATIBLE_SCHEMA = "IncompatibleSchema"
    UNKNOWN_ERROR = "UnknownError"
    NO_ANSWER = "NoAnswer"


NOT_FOUND: Final = "Schema not found and schema auto updating is disabled."
WITHOUT_SCHEMA: Final = "Producers cannot connect or send message without a schema to topics with a schema"
EMPTY_BUT_ACTIVE: Final = "Failed to add schema to an active topic with empty(BYTES) schema: new schema type"

_ENDLESS: Final = "CIRCULAR_IMPORT"
_NEVER_ANSWERED: Final = frozenset({"KEY_VALUE_PAYLOAD", "UNKNOWN_PART_TYPE", "PART_PROPERTIES", _ENDLESS})
"""Pairs that cannot be taken apart, files that import each other: what the broker throws ends its work on a request."""
_UNFORESEEN: Final = frozenset({"DUPLICATE_BRANCH", "DUPLICATE_FIELD", "INVALID_DEFAULT", "NESTED_UNION"})
"""What Avro's parser refuses with another exception than the one for texts that it does not parse."""
_UNDEFINED: Final = frozenset({"UNKNOWN_TYPE", "UNDEFINED_NAME", "LEGACY_JSON_SCHEMA"})
_OVERFLOWS: Final = frozenset({"INFINITE_RECORD", "RECURSIVE_DEFAULT"})
_FORESEEN_IN_RENAMING: Final = "DOLLAR_IN_NAME"
_RENAMING: Final = frozenset({"INVALID_WRITER_DEFAULT", "ALIAS_CONFLICT", _FORESEEN_IN_RENAMING})
_OF_DEFAULTS: Final = frozenset({"INVALID_DEFAULT", "RECURSIVE_DEFAULT"})
_OF_GRAMMAR: Final = frozenset({"INFINITE_RECORD", "RECURSIVE_RECORD_CRASHES_AVRO"})
_THROWS: Final = _RENAMING | _OF_DEFAULTS | _OF_GRAMMAR
"""What is no SchemaValidationException in the broker; a check against all versions wraps all but what overflows."""
_FIELD: Final = re.compile(r"\.fields\[\d+\]\Z")
"""How the path of a finding ends that is about a reader's own field, and not about a record."""
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
    """The error, and how its text begins (empty where that varies), for a text that the validation at upload refuses.

    `rule` is that of the InvalidSchemaError.
    """
    if rule in _NEVER_ANSWERED:
        return BrokerError.NO_ANSWER, ""
    if rule == "UNION_AT_TOP" and kind is SchemaType.AVRO:
        return BrokerError.INCOMPATIBLE_SCHEMA, "Avro schema typed [UNION] is not supported"
    return BrokerError.INCOMPATIBLE_SCHEMA, _INVALID.get(kind, "Invalid schema definition data for primitive schemas")


def of_incompatible(
    kind: SchemaType, earlier: SchemaType, strategy: Strategy, found: Sequence[Incompatibility]
) -> tuple[BrokerError, str]:
    """The error, and how its text begins (empty where that varies), for a schema that may not follow.

    `kind` is its type, `earlier` that of the oldest version at fault, `found` what `compatibility.check` answered.
    """
    if kind is not earlier:
        message = f"Incompatible schema: exists schema type {earlier}, new schema type {kind}"
        return BrokerError.INCOMPATIBLE_SCHEMA, message
    if broker_would_throw(strategy, found) is not None:
        return BrokerError.UNKNOWN_ERROR, ""
    return BrokerError.INCOMPATIBLE_SCHEMA, _words_of_checker(kind, strategy, found[0].rule)


def broker_would_throw(strategy: Strategy, found: Sequence[Incompatibility]) -> Incompatibility | None:
    """The finding with which the broker's comparison ends in an exception instead of a verdict, if one does.

    `found` is what `compatibility.check` answered, of Pulsar's own checkers. A check against all versions wraps every
    exception but a stack's overflow, so that it is a verdict again.
    """
    escaping = _OVERFLOWS if strategy.is_transitive else _THROWS
    first = _first_thrown(_read_first(found))
    return first if first is not None and first.rule in escaping else None


def _read_first(found: Sequence[Incompatibility]) -> Sequence[Incompatibility]:
    """What stands in the way of the reading that comes first: one of two schemas, in one direction; no other follows.

    Of a pair the parts' types are compared first, then the keys, in all directions, then the values.
    """
    found = [each for each in found if each.rule != MORE]
    turn = min(map(_turn, found), default=0)
    left = [each for each in found if _turn(each) == turn]
    return [
        each for each in left if (each.schema_version, each.direction) == (left[0].schema_version, left[0].direction)
    ]


def _turn(finding: Incompatibility) -> int:
    if finding.rule == "PART_TYPE_CHANGED":
        return 0
    return 2 if _IN_VALUE.match(finding.path) else 1


def _first_thrown(found: Sequence[Incompatibility]) -> Incompatibility | None:
    """The finding that is an exception in the broker, if it comes so far.

    What the aliases rename is asked before all else. Then Avro resolves all records, one within the other, each with
    every record that it may have to read; it leaves two at their first field without default, with the defaults behind
    it unread. Of those that were not left it then makes a grammar, which does not end where they do not.
    (Rarely it fails on two that it left, half made, where they come back to themselves: that is not told.)
    """
    renaming = next((each for each in found if each.rule in _RENAMING), None)
    if renaming is not None:
        return None if renaming.rule == _FORESEEN_IN_RENAMING else renaming
    left: set[tuple[str, str]] = set()
    for each in found:
        records = _FIELD.sub("", each.path), _FIELD.sub("", each.earlier_path)
        if each.rule in _OF_DEFAULTS and records not in left:
            return each
        if each.rule == "FIELD_WITHOUT_DEFAULT":
            left.add(records)
    passed = tuple(path for path, _ in left)
    return next((each for each in found if each.rule in _OF_GRAMMAR and not each.path.startswith(passed)), None)


def asks_jackson(sent: SchemaInfo, line: PulsarLine) -> bool:
    """Whether the broker goes on to ask Jackson about a text of type JSON that Avro does not parse."""
    try:
        formats.parse(replace(sent, type=SchemaType.PROTOBUF), line, validate_defaults=False)
    except InvalidSchemaError as invalid:  # Avro's own reason, without the one that is ours: LEGACY_JSON_SCHEMA
        return line is not PulsarLine.V4_2 and _is_foreseen(invalid, line)
    return False


def _is_foreseen(invalid: InvalidSchemaError, line: PulsarLine) -> bool:
    """Whether Avro's exception for a text that it does not parse is the SchemaParseException that brokers expect.

    Avro 1.12 throws others for names that nothing defines (AvroTypeException; NullPointerException at the top).
    """
    escapes = invalid.escapes or invalid.rule in _UNFORESEEN
    return not escapes and (line is PulsarLine.V4_0 or invalid.rule not in _UNDEFINED)


def of_unreadable(
    kind: SchemaType, invalid: InvalidSchemaError, line: PulsarLine, *, is_latest_only: bool
) -> BrokerError:
    """The error for a text, of whichever side, that a checker cannot read."""
    throws = kind is SchemaType.PROTOBUF_NATIVE or invalid.rule in _NEVER_ANSWERED or not _is_foreseen(invalid, line)
    escapes = throws and (is_latest_only or invalid.rule == _ENDLESS)
    return BrokerError.UNKNOWN_ERROR if escapes else BrokerError.INCOMPATIBLE_SCHEMA


def of_readings(
    before: tuple[Reading, bytes], after: tuple[Reading, bytes], line: PulsarLine
) -> tuple[BrokerError, str] | None:
    """The error, and how its text begins, for two texts of type JSON, not both Avro schemas; None where they pass.

    Line 4.2 knows no JSON Schemas (PIP-464), unless it is told otherwise.
    """
    if line is PulsarLine.V4_2:
        missed = "expected Avro schema" if before[0] is Reading.AVRO else "existing schema is not in valid Avro"
        return BrokerError.INCOMPATIBLE_SCHEMA, f"Incompatible schema: {missed} format for SchemaType.JSON"
    if before[0] is Reading.NEITHER:
        return None
    if Reading.FAILURE in (before[0], after[0]):
        return BrokerError.UNKNOWN_ERROR, ""
    if after[0] is Reading.NEITHER:
        return BrokerError.INCOMPATIBLE_SCHEMA, "Unknown schema format"
    return None if before[0] is not after[0] else _of_json_schemas(before[1], after[1])


def _of_json_schemas(before: bytes, after: bytes) -> tuple[BrokerError, str] | None:
    wanted = jackson.id_of(before)
    if wanted is None or jackson.is_null(after):
        return BrokerError.UNKNOWN_ERROR, ""
    return None if wanted == jackson.id_of(after) else (BrokerError.INCOMPATIBLE_SCHEMA, "Incompatible Schema from ")


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
