"""Tables of an audit: their columns with their meanings. `derivation` makes them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

VERSION: Final = 1
"""Version of the tables. It increases if a column goes or changes its type."""
EXAMPLES: Final = 10
"""Maximum number of examples of a finding."""
DAY: Final = "day"


class TableColumn(NamedTuple):
    """A column: its type, and what its values are, with their unit."""

    type: DataType
    meaning: str


_TOPIC: Final = TableColumn(StringType(), "full name of the topic, without a partition, or the file")
_VERSION: Final = TableColumn(
    LongType(), "version that wrote the messages. Null if they have none, or if it cannot be read"
)
_DAY: Final = TableColumn(DateType(), "day of the publish time in UTC, by which the table is partitioned")
_FIRST: Final = TableColumn(TimestampType(), "earliest publish time. Null without one")
_LAST: Final = TableColumn(TimestampType(), "latest publish time. Null without one")
_REASON: Final = TableColumn(StringType(), "reason of the first fault of a message")
_PATH: Final = TableColumn(StringType(), "path of the fault in the schema")
_TOLERATED: Final = TableColumn(BooleanType(), "true if a Java consumer reads the message in spite of the fault")
TABLES: Final[Mapping[str, Mapping[str, TableColumn]]] = {
    "messages_by_version": {
        "topic": _TOPIC,
        "schema_version": _VERSION,
        "hour": TableColumn(TimestampType(), "hour of the publish time, in UTC. Null without one"),
        "messages": TableColumn(LongType(), "number of messages"),
        "bytes": TableColumn(LongType(), "bytes of their payloads, uncompressed"),
        "first": _FIRST,
        "last": _LAST,
        DAY: _DAY,
    },
    "findings": {
        "topic": _TOPIC,
        "schema_version": _VERSION,
        "rule": TableColumn(
            StringType(), "rule by which the current schema is incompatible with the version. Null for a reason"
        ),
        "reason": TableColumn(StringType(), "reason of the first fault of the messages. Null for a rule"),
        "path": TableColumn(StringType(), "path in the current schema"),
        "direction": TableColumn(
            StringType(), "`BACKWARD` or `FORWARD` for a rule of one direction. Null for both, and for a reason"
        ),
        "tolerated": TableColumn(
            BooleanType(), "true if a Java consumer reads the messages in spite of the fault. Null for a rule"
        ),
        "messages": TableColumn(
            LongType(), "number of messages with the reason, or of all messages of the version for a rule"
        ),
        "first": _FIRST,
        "last": _LAST,
        "examples": TableColumn(
            ArrayType(StringType()),
            "positions of at most 10 of the messages: `ledger:entry`, or `ledger:entry:index` in a batch. Of a file: "
            "the row or the byte. Null for a rule",
        ),
        "message": TableColumn(StringType(), "what the rule found, in words. Null for a reason"),
    },
    "bad_messages": {
        "topic": _TOPIC,
        "partition": TableColumn(IntegerType(), "number of the partition. Null for a topic without partitions"),
        "ledger": TableColumn(LongType(), "ledger of the message. Null for a file"),
        "entry": TableColumn(LongType(), "entry in the ledger. Of a file: the row or the byte"),
        "batch_index": TableColumn(IntegerType(), "index of the message in its entry. Null if the entry is no batch"),
        "publish_time": TableColumn(TimestampType(), "publish time. Null without one"),
        "schema_version": _VERSION,
        "reason": _REASON,
        "path": _PATH,
        "tolerated": _TOLERATED,
        "bytes": TableColumn(LongType(), "bytes of the payload, uncompressed"),
        DAY: _DAY,
    },
    "verdicts": {
        "topic": _TOPIC,
        "proposed_version": TableColumn(LongType(), "version of the schema that judged. Null if the topic has none"),
        "proposed_hash": TableColumn(StringType(), "content hash of that schema: `sha256:` and 64 digits, or null"),
        "readable": TableColumn(LongType(), "number of messages without a fault"),
        "losses": TableColumn(LongType(), "number of messages with a fault in spite of which a Java consumer reads"),
        "unreadable": TableColumn(LongType(), "number of other messages"),
    },
    "topics": {
        "topic": _TOPIC,
        "error": TableColumn(
            StringType(), "why the topic could not be read. Null if it was. All figures are then null"
        ),
        "version_in_use": TableColumn(LongType(), "newest schema version. Null if the topic has no schema"),
        "oldest_version": TableColumn(LongType(), "oldest version that wrote retained messages. Null if none did"),
        "forgettable_versions": TableColumn(
            ArrayType(LongType()),
            "versions before the newest that no retained message needs. Null if that is not known",
        ),
        "messages": TableColumn(LongType(), "number of retained messages"),
        "bytes": TableColumn(LongType(), "bytes of their payloads, uncompressed"),
        "messages_without_version": TableColumn(LongType(), "number of messages without a schema version"),
        "unknown_versions": TableColumn(
            ArrayType(LongType()), "versions of messages that the broker does not know. Empty if there are none"
        ),
        "messages_of_unknown_versions": TableColumn(LongType(), "number of these messages"),
        "removed_messages": TableColumn(
            LongType(), "number of messages that an earlier audit counted and that the broker has removed since"
        ),
        "lost_entries": TableColumn(
            LongType(), "number of entries that the broker removed while an audit was about to read them"
        ),
    },
}
"""All tables with their columns, in order. docs/audit.md lists them."""


def struct_of(name: str) -> StructType:
    """Return the schema of a table. Each column may be null."""
    return StructType([StructField(column, each.type) for column, each in TABLES[name].items()])
