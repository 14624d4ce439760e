"""The messages as sources hand them on: Arrow batches of one form."""

from typing import Final

import pyarrow as pa

NO_VERSION: Final = -1
"""The writer of a message that has no schema version."""
UNKNOWN_SCHEMA_VERSION: Final = -2
"""The writer of a message whose schema version is no number that a broker gives."""
ENCRYPTED: Final = -4
"""The writer of a message that cannot be read without a key, which a run has not."""
DAMAGED: Final = -5
"""The writer of a message whose bytes are not those that its producer sent, by their checksum."""
INVALID_KEY: Final = -6
"""The writer of a message whose key should be in base64, and is not."""
NO_TIME: Final = -1
"""The publish time of a message that has none."""
MAX_MESSAGES: Final = 25_000
MAX_BYTES: Final = 8 * 1024 * 1024
"""How large a batch should be at most; a larger message is a batch of its own."""

BATCH: Final = pa.schema(
    [
        pa.field("payload", pa.large_binary()),  # null: a null message
        pa.field("key", pa.large_binary()),  # null unless the pair is SEPARATED
        pa.field("writer", pa.int64(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),  # of files: the file's number, unless they tell it
        pa.field("ledger", pa.int64(), nullable=False),  # of files: the file's number
        pa.field("entry", pa.int64(), nullable=False),  # of files: the row, or the byte where a line or block begins
        pa.field("batch_index", pa.int32(), nullable=False),  # -1 where a message is no part of a batch or block
        pa.field("publish_time", pa.int64(), nullable=False),  # milliseconds since 1970
    ]
)
