"""Readers of a batch: the messages that topics have when Spark plans the query."""

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from typing_extensions import override

from topicschema.spark import planning
from topicschema.spark.filters import RowFilters

if TYPE_CHECKING:
    import pyarrow as pa

    from topicschema.spark.reading import RowSource


class BatchReader(DataSourceReader):
    """Reader of all messages that the options select."""

    def __init__(self, source: "RowSource") -> None:
        self._source = source
        self._filters = RowFilters()

    @override
    def partitions(self) -> list[InputPartition]:
        """Return the tasks. A query of no messages has one without spans."""
        return planning.tasks(self._source, self._filters, time.time_ns() // 1_000_000) or [InputPartition(())]

    @override
    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a task."""
        return self._source.rows(partition.value, self._filters)


class FilteringReader(BatchReader):
    """Reader that leaves out what a query's filters exclude, in a session that pushes filters to Python."""

    @override
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Use the filters, and return all of them: Spark applies them again."""
        self._filters = RowFilters.of(filters)
        return filters


def reader(source: "RowSource") -> BatchReader:
    """Return the reader. One with `pushFilters` fails in a session that does not push filters to Python."""
    return FilteringReader(source) if source.options.pushes_filters else BatchReader(source)
