"""Rows of `pulsar-messages` from a reader's batches."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from support.pulsar.fake_reader_broker import message, single
from support.pulsar.wire import Members, encode_members
from topicschema.spark import columns
from topicschema.spark.columns import COLUMNS, Rows
from topicschema.spark.errors import InvalidOptionError
from topicschema.validation.sources.pulsar import frames
from topicschema.validation.sources.pulsar.batch_decoder import BatchDecoder
from topicschema.validation.sources.pulsar.chunks import Chunks
from topicschema.validation.sources.pulsar.ranges import Position

ORDERS = "persistent://shop/live/orders"


def rows(sent: bytes, *names: str, is_partitioned: bool = True) -> list[dict[str, Any]]:
    schema = columns.arrow(columns.struct(names or None, COLUMNS), COLUMNS)
    content = np.frombuffer(sent, np.uint8)
    table, _ = frames.scan(content)
    decoder = BatchDecoder(4, Chunks(Position(0, 0)), has_keys=True, has_details=True)
    convert = Rows(schema, ORDERS, is_partitioned=is_partitioned)
    return [row for batch in decoder.batches(content, table) for row in convert.of(batch).to_pylist()]


def test_a_message_has_all_columns() -> None:
    metadata: Members = {6: b"k", 12: 1_769_860_800_000, 16: (7).to_bytes(8, "big"), 18: b"o"}
    (row,) = rows(message(5, b"payload", metadata))
    assert row == {
        "topic": ORDERS,
        "partition": 4,
        "ledger": 3,
        "entry": 5,
        "batch_index": None,
        "publish_time": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "event_time": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "producer": "p",
        "sequence_id": 1,
        "key": b"k",
        "ordering_key": b"o",
        "properties": [],
        "schema_version": 7,
        "payload": b"payload",
        "error": None,
    }


def test_a_topic_without_partitions_has_no_number_and_a_batch_has_indexes() -> None:
    pair = rows(message(0, single(b"a") + single(b"b"), {11: 2}), "partition", "batch_index", is_partitioned=False)
    assert [tuple(row.values()) for row in pair] == [(None, 0), (None, 1)]


@pytest.mark.parametrize("milliseconds", [1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_time_that_no_timestamp_holds_is_null(milliseconds: int) -> None:
    (row,) = rows(message(0, b"x", {3: milliseconds, 12: milliseconds}), "publish_time", "event_time")
    assert row == {"publish_time": None, "event_time": None}


@pytest.mark.parametrize(
    ("sent", "error", "payload"),
    [
        (message(0, b"x", {13: encode_members({1: b"key", 2: b"x"})}), "ENCRYPTED", None),
        (message(0, b"x")[:-1] + b"y", "CHECKSUM_MISMATCH", None),
        (message(0, b"x", {6: b"!", 17: 1}), "INVALID_BASE64", b"x"),
        (message(0, b"x", {16: b"??"}), "UNKNOWN_WRITER_VERSION", b"x"),
        (message(0, b"x", {25: 1}), None, None),
    ],
)
def test_a_message_that_cannot_be_read_says_why(sent: bytes, error: str | None, payload: bytes | None) -> None:
    (row,) = rows(sent, "error", "payload", "schema_version")
    assert row == {"error": error, "payload": payload, "schema_version": None}


def test_a_wrong_type_names_the_right_one() -> None:
    with pytest.raises(InvalidOptionError, match="column ledger has the type bigint, not string"):
        columns.arrow(StructType([StructField("ledger", StringType())]), COLUMNS)
