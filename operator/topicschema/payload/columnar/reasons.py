"""Reasons of all validators and runs. Loops, verdicts and tallies have their numbers, reports their names.

The names are the rules of `payload` if it has one. The reasons of incompatible versions are distinguished here. Those
from TRUNCATED to SCHEMA_TOO_COMPLEX are the reasons of Avro.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

(
    FITS,
    TRUNCATED,
    TRAILING_BYTES,
    INVALID_UTF8,
    OUT_OF_RANGE,
    INVALID_BOOLEAN,
    NEGATIVE_LENGTH,
    VARINT_TOO_LONG,
    TOO_MANY_VALUES,
    TOO_DEEP,
    UNKNOWN_SYMBOL,
    UNION_INDEX,
    ENUM_INDEX,
    BLOCK_SIZE,
    CANNOT_READ,
    NULL_NOT_ALLOWED,
    MISSING_DEFAULT,
    SKIPPED_SYMBOL,
    SKIPPED_CORRUPT,
    SCHEMA_TOO_COMPLEX,
    INVALID_FIELD_NUMBER,
    INVALID_WIRE_TYPE,
    UNMATCHED_GROUP,
    UNKNOWN_FIELD,
    WRONG_WIRE_TYPE,
    MISSING_FIELD,
    SYNTAX,
    WRONG_TYPE,
    INVALID_BASE64,
    NO_BRANCH,
    DUPLICATE_FIELD,
    UNEXPECTED_NULL,
    INVALID_TEXT,
    TYPE_CHANGED,
    ENCODING_CHANGED,
    UNKNOWN_WRITER_VERSION,
    INVALID_WRITER_SCHEMA,
    ENCRYPTED,
    CHECKSUM_MISMATCH,
    ENUM_AS_NUMBER,
    INVALID_FOR_CLASS,
    INVALID_FOR_COLUMN,
) = range(42)

NUMBERS: Final = MappingProxyType({name: each for name, each in vars().items() if name.isupper()})
"""The number of each reason."""
REASONS: Final = ("", *(name for name in NUMBERS if name != "FITS"))
"""The name of each reason, "" for a message that fits."""

Reasons = Mapping[str, bool]
"""Reasons of a validator, and whether a Java consumer always tolerates them."""
