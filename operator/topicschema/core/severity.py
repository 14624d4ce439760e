"""The severity of each risk, in one table by rule. The formats define the risks.

The table also has rules by which the broker refuses, if they are risks for types that the broker does not check.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Severity(StrEnum):
    """The first thing to break, the worst at the top. What breaks on the wire breaks in JSON and in code, too."""

    WIRE = "WIRE"
    JSON = "JSON"
    CODE = "CODE"

    @property
    def meaning(self) -> str:
        """The severity in words."""
        return _MEANINGS[self]


_MEANINGS: Final[Mapping[Severity, str]] = MappingProxyType(
    {
        Severity.WIRE: "messages are lost or misread",
        Severity.JSON: "the JSON form of messages changes",
        Severity.CODE: "generated code changes",
    }
)
_PROTOBUF_NATIVE: Final[Mapping[Severity, tuple[str, ...]]] = MappingProxyType(
    {
        Severity.WIRE: (
            "FIELD_NUMBER_REUSED",
            "FIELD_RENUMBERED",
            "FIELD_TYPE_CHANGED",
            "FIELD_TYPE_NARROWED",
            "FIELD_ENCODING_CHANGED",
            "UTF8_CHECKED",
            "REPEATED_READ_AS_SINGULAR",
            "REPEATED_READ_AS_MAP",
            "REQUIRED_NOT_WRITTEN",
            "DEFAULT_CHANGED",
            "ONEOF_MERGED",
            "MESSAGE_SET_CHANGED",
            "EXTENSION_RANGE_REMOVED",
            "ENUM_VALUE_UNKNOWN",
            "ENUM_VALUE_RENUMBERED",
            "ENUM_DEFAULT_CHANGED",
            "ENUM_CLOSED",
            # These alone lose nothing, but a later change may.
            "FIELD_NUMBER_NOT_RESERVED",
            "ENUM_NUMBER_NOT_RESERVED",
            "RESERVED_NUMBER_REMOVED",
        ),
        Severity.JSON: (
            "FIELD_RENAMED",
            "JSON_NAME_CHANGED",
            "FIELD_TYPE_CHANGED_IN_JSON",
            "SINGULAR_READ_AS_REPEATED",
            "MAP_READ_AS_REPEATED",
            "ENUM_VALUE_RENAMED",
            "ENUM_VALUE_REMOVED",
            "FIELD_NAME_NOT_RESERVED",
            "RESERVED_NAME_REMOVED",
        ),
        Severity.CODE: (
            "FIELD_RENAMED_IN_CODE",
            "FIELD_TYPE_CHANGED_IN_CODE",
            "FIELD_TYPE_RENAMED",
            "PRESENCE_CHANGED",
            "ONEOF_CHANGED",
            "ENUM_ALIAS_REMOVED",
        ),
    }
)
_SEVERITIES: Final[Mapping[str, Severity]] = MappingProxyType(
    {
        **{rule: severity for severity, rules in _PROTOBUF_NATIVE.items() for rule in rules},
        **dict.fromkeys(
            (
                "TYPE_CHANGED",
                "PART_TYPE_CHANGED",
                "PART_TYPE_MISSING",
                "ENCODING_CHANGED",
                "UNKNOWN_ENCODING",
                "UNCHECKED_CHANGE",
                "CHARSET_CHANGED",
                "ENUM_SYMBOL_UNKNOWN",
                "ENUM_SYMBOL_REPLACED",
                "RECORD_RENAMED",
                "UNION_BRANCH_BY_STRUCTURE",
                "LOGICAL_TYPE_CHANGED",
                "DECIMAL_SCALE_CHANGED",
                "DECIMAL_PRECISION_REDUCED",
                "NUMBER_ROUNDED",
                "BYTES_AS_TEXT",
                # AVRO's checker refuses these; the broker does not check them for PROTOBUF.
                "TYPE_MISMATCH",
                "NAME_MISMATCH",
                "FIXED_SIZE",
                "FIELD_WITHOUT_DEFAULT",
                "INVALID_DEFAULT",
                "RECURSIVE_DEFAULT",
                "NO_UNION_BRANCH",
                "UNION_BRANCH_UNREADABLE",
                "INFINITE_RECORD",
                "RECURSIVE_RECORD_CRASHES_AVRO",
                "ALIAS_CONFLICT",
                "INVALID_WRITER_DEFAULT",
                "DOLLAR_IN_NAME",
            ),
            Severity.WIRE,
        ),
        "ALIAS_IN_JSON": Severity.JSON,
        "LOGICAL_TYPE_ONE_SIDED": Severity.JSON,
        "CLASS_RENAMED": Severity.CODE,
    }
)


def severity_of(rule: str) -> Severity | None:
    """Return the severity of the rule, or None if it is never a risk."""
    return _SEVERITIES.get(rule)
