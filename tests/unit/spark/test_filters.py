"""Filters that a query pushes: they leave out only what Spark would leave out, too."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from topicschema.spark.filters import RowFilters

ORDERS = "persistent://shop/live/orders"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOON_MS = 1_769_860_800_000


@pytest.mark.parametrize(
    ("filters", "taken"),
    [
        ([], True),
        ([EqualTo(("topic",), ORDERS)], True),
        ([EqualTo(("topic",), "persistent://shop/live/returns")], False),
        ([In(("topic",), ("x", ORDERS))], True),
        ([EqualTo(("partition",), 1)], True),
        ([GreaterThan(("partition",), 1)], False),
        ([LessThan(("partition",), 2), In(("partition",), (0, 2))], False),
        ([datasource.IsNull(("partition",))], False),
        ([datasource.IsNotNull(("partition",))], True),
        ([EqualTo(("producer",), "x"), datasource.Not(EqualTo(("topic",), ORDERS))], True),  # Spark applies these
    ],
)
def test_partitions_without_matching_rows_are_left_out(filters: list[Filter], taken: object) -> None:
    assert RowFilters.of(filters).takes(ORDERS, 1) is taken


def test_a_topic_without_partitions_matches_no_number() -> None:
    assert not RowFilters.of([EqualTo(("partition",), 0)]).takes(ORDERS, None)
    assert RowFilters.of([datasource.IsNull(("partition",))]).takes(ORDERS, None)


@pytest.mark.parametrize(
    ("filters", "since", "until"),
    [
        ([], None, None),
        ([GreaterThanOrEqual(("publish_time",), NOON)], NOON_MS, None),
        ([GreaterThan(("publish_time",), NOON), GreaterThan(("publish_time",), NOON.replace(hour=1))], NOON_MS, None),
        ([LessThan(("publish_time",), NOON)], None, NOON_MS + 1),
        ([LessThanOrEqual(("publish_time",), NOON.replace(microsecond=1_500))], None, NOON_MS + 2),
        ([EqualTo(("publish_time",), NOON)], NOON_MS, NOON_MS + 1),
        ([In(("publish_time",), (NOON,))], None, None),
    ],
)
def test_filters_on_the_publish_time_limit_the_read(
    filters: list[Filter], since: int | None, until: int | None
) -> None:
    chosen = RowFilters.of(filters)
    assert (chosen.since, chosen.until) == (since, until)


@pytest.mark.parametrize(
    ("filters", "versions"),
    [
        ([EqualTo(("schema_version",), 1)], [1]),
        ([In(("schema_version",), (0, 2, None))], [0, 2]),
        ([GreaterThan(("schema_version",), 0), LessThan(("schema_version",), 2)], [1]),
        ([datasource.IsNull(("schema_version",))], [-1]),
        ([datasource.IsNotNull(("schema_version",))], [0, 1, 2]),
        ([EqualTo(("payload",), b"x")], [0, 1, 2, -1]),
    ],
)
def test_messages_of_other_schema_versions_are_left_out(filters: list[Filter], versions: list[Any]) -> None:
    batch = pa.RecordBatch.from_pydict({"writer": pa.array([0, 1, 2, -1], pa.int64())})
    assert RowFilters.of(filters).rows(batch).column("writer").to_pylist() == versions
