"""Reader of a batch: the messages that topics have when Spark plans the query."""

import time
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from typing_extensions import override

from topicschema.spark import planning
from topicschema.validation.run import spark_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from topicschema.spark.reading import RowSource


class BatchReader(DataSourceReader):
    """Reader of all messages that the options select."""

    def __init__(self, source: "RowSource") -> None:
        self._source = source

    @override
    def partitions(self) -> list[InputPartition]:
        """Return the tasks. A query of no messages has one without spans."""
        return planning.tasks(self._source, time.time_ns() // 1_000_000) or [InputPartition(())]

    @override
    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a task."""
        yield from self._source.rows(partition.value)
        spark_worker.settle()
