"""What a verdict program can say of a message, by number, and which of it a Java consumer reads on over.

The words are those of payload/avro where there is one; what of two versions does not go together is told apart here.
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
"""SKIPPED_SYMBOL: an index that an enum has not, in a field that the reader drops; Java does not look at it.

SKIPPED_CORRUPT: a length or a block's size that cannot be, or anything in a block whose size is told, in such a field;
Java passes over it, or goes astray. SCHEMA_TOO_COMPLEX: so many ways to read the one with the other are not looked at.
"""

TOLERATED: Final = frozenset({"TRAILING_BYTES", "INVALID_UTF8", "INVALID_BOOLEAN", "BLOCK_SIZE", "SKIPPED_SYMBOL"})
"""What Java always reads on over. OUT_OF_RANGE is none: it reads on over a value, not over a length."""

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
