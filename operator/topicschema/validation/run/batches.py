"""Arrow batches in which sources return messages."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

NO_VERSION: Final = -1
"""Writer of a message without a schema version."""
UNKNOWN_SCHEMA_VERSION: Final = -2
"""Writer of a message whose schema version is not a number from a broker."""
ENCRYPTED: Final = -4
"""Writer of a message that is encrypted. A run has no keys."""
DAMAGED: Final = -5
"""Writer of a message whose bytes do not match its producer's checksum."""
INVALID_KEY: Final = -6
"""Writer of a message whose key should be base64 and is not."""
UNREADABLE: Final[Mapping[int, str]] = {
    ENCRYPTED: "ENCRYPTED",
    DAMAGED: "CHECKSUM_MISMATCH",
    INVALID_KEY: "INVALID_BASE64",
}
"""Reasons of messages that cannot be read, or only with a key, by their writers."""
NO_TIME: Final = -1
"""Publish time of a message without one."""
MAX_MESSAGES: Final = 25_000
MAX_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of a batch. A larger message is a batch of its own."""

BATCH: Final = pa.schema(
    [
        pa.field("payload", pa.large_binary()),  # null: a null message
        pa.field("key", pa.large_binary()),  # null unless the encoding is SEPARATED
        pa.field("writer", pa.int64(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),  # of files: the file's number, unless a column has it
        pa.field("ledger", pa.int64(), nullable=False),  # of files: the file's number
        pa.field("entry", pa.int64(), nullable=False),  # of files: the row, or the byte at which a line or block begins
        pa.field("batch_index", pa.int32(), nullable=False),  # -1 if a message is not in a batch or block
        pa.field("publish_time", pa.int64(), nullable=False),  # milliseconds since 1970
    ]
)
