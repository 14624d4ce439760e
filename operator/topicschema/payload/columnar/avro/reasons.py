"""Reasons of a verdict program, by number, and those that a Java consumer tolerates.

The words are those of payload/avro if it has one. Here the reasons of incompatible versions are distinguished.
"""

from typing import Final

REASONS: Final = (
    "",
    "TRUNCATED",
    "TRAILING_BYTES",
    "INVALID_UTF8",
    "OUT_OF_RANGE",
    "INVALID_BOOLEAN",
    "NEGATIVE_LENGTH",
    "VARINT_TOO_LONG",
    "UNION_INDEX",
    "ENUM_INDEX",
    "BLOCK_SIZE",
    "TOO_MANY_VALUES",
    "TOO_DEEP",
    "CANNOT_READ",
    "NULL_NOT_ALLOWED",
    "MISSING_DEFAULT",
    "UNKNOWN_SYMBOL",
    "SKIPPED_SYMBOL",
    "SKIPPED_CORRUPT",
    "SCHEMA_TOO_COMPLEX",
)
"""Reasons. SKIPPED_SYMBOL is an unknown index of an enum, in a field that the reader drops; Java ignores it."""

TOLERATED: Final = frozenset({"TRAILING_BYTES", "INVALID_UTF8", "INVALID_BOOLEAN", "BLOCK_SIZE", "SKIPPED_SYMBOL"})
"""Reasons that Java always tolerates.

OUT_OF_RANGE is none, because Java tolerates it for values, but not for lengths.
"""

(
    FITS,
    TRUNCATED,
    TRAILING_BYTES,
    INVALID_UTF8,
    OUT_OF_RANGE,
    INVALID_BOOLEAN,
    NEGATIVE_LENGTH,
    VARINT_TOO_LONG,
    UNION_INDEX,
    ENUM_INDEX,
    BLOCK_SIZE,
    TOO_MANY_VALUES,
    TOO_DEEP,
    CANNOT_READ,
    NULL_NOT_ALLOWED,
    MISSING_DEFAULT,
    UNKNOWN_SYMBOL,
    SKIPPED_SYMBOL,
    SKIPPED_CORRUPT,
    SCHEMA_TOO_COMPLEX,
) = range(len(REASONS))
