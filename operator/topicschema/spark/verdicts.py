"""Data source `pulsar-verdicts`: what a consumer with a schema could not read of the retained messages of topics.

The messages are validated where they are read. Only counts reach Spark.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from typing_extensions import override

from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from topicschema.spark.columns import Columns
    from topicschema.spark.files import FileOptions
    from topicschema.spark.incompatibilities import ProposedStrategy
    from topicschema.spark.planning import TaskSpan
    from topicschema.spark.proposal import Proposal
    from topicschema.validation.sources.pulsar.admin import Admin

# ruff: noqa: PLC0415, TC003  # as in `messages`

COLUMNS: Final[dict[str, DataType]] = {
    "topic": StringType(),
    "partition": IntegerType(),
    "schema_version": LongType(),
    "hour": TimestampType(),
    "reason": StringType(),
    "path": StringType(),
    "tolerated": BooleanType(),
    "messages": LongType(),
    "bytes": LongType(),
    "examples": ArrayType(StringType()),
}
"""All columns of `pulsar-verdicts`, without those of a strategy. Each may be null."""
_MEMBERS: Final = [StructField(name, StringType()) for name in ("rule", "path", "direction", "message")]
STRATEGY_COLUMNS: Final[dict[str, DataType]] = {"incompatibilities": ArrayType(StructType(_MEMBERS))}
"""Columns that a strategy adds."""
_OPTIONS: Final = ("schema", "schemaType")


class PulsarVerdicts(DataSource):
    """Verdicts on retained messages. docs/spark.md describes the options and the columns."""

    @classmethod
    @override
    def name(cls) -> str:
        """Return the name of the format."""
        return "pulsar-verdicts"

    @override
    def schema(self) -> StructType:
        """Return the chosen columns, or all."""
        from topicschema.spark import columns

        if self._has_files:
            files = self._files()
            return columns.struct(files.columns, _columns(files.strategy))
        options, proposed = self._parsed()
        return columns.struct(options.columns, _columns(proposed.strategy))

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        from topicschema.spark import columns
        from topicschema.spark.batch import BatchReader

        if not self._has_files:
            return BatchReader(self._rows(schema))
        from topicschema.spark.files import FileReader

        files = self._files()
        return FileReader(files, columns.arrow(schema, _columns(files.strategy)))

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        from topicschema.spark.streaming import StreamReader

        if self._has_files:
            raise InvalidOptionError("option files: a stream reads topics. Use spark.read")
        return StreamReader(self._rows(schema))

    @property
    def _has_files(self) -> bool:
        return any(name.lower() == "files" for name in self.options)

    def _files(self) -> "FileOptions":
        from topicschema.spark.files import FileOptions

        return FileOptions.of(dict(self.options))

    def _rows(self, schema: StructType) -> "VerdictRowSource":
        from topicschema.spark import columns

        options, proposed = self._parsed()
        return VerdictRowSource(options, proposed, columns.arrow(schema, _columns(proposed.strategy)))

    def _parsed(self) -> "tuple[ReadOptions, Proposal]":
        from topicschema.spark.proposal import proposal

        options = {name.lower(): value for name, value in self.options.items()}
        own = [options.pop(name.lower(), None) for name in _OPTIONS]
        return ReadOptions.of(options, _OPTIONS), proposal(*own)


def _columns(strategy: "ProposedStrategy") -> "Columns":
    """Return all columns: those of the counts, and those of a strategy."""
    return COLUMNS if strategy.strategy is None else {**COLUMNS, **STRATEGY_COLUMNS}


@dataclass(frozen=True, slots=True)
class VerdictRowSource:
    """Rows of counts: the messages of one version and hour with the same verdict."""

    options: ReadOptions
    proposal: "Proposal"
    schema: "pa.Schema"

    def planned(self, admin: "Admin", spans: "Sequence[TaskSpan]") -> "Sequence[TaskSpan]":
        """Return the spans with the current schema version of their topics, if the messages are read with it.

        It is the same for all tasks, also if a client registers another version meanwhile.
        """
        if self.proposal.info is not None:
            return spans
        topics = {each.topic: each.parsed_topic for each in spans}
        current = {name: admin.schema(topic) for name, topic in topics.items()}
        numbers = {name: None if each is None else each.schema_version for name, each in current.items()}
        return [replace(each, reader_version=numbers[each.topic]) for each in spans]

    def rows(self, spans: "Iterable[TaskSpan]") -> "Iterator[pa.RecordBatch]":
        """Yield the rows of the spans' messages, as in RowSource."""
        from topicschema.spark import counting
        from topicschema.validation.sources.pulsar.admin import Admin

        with Admin(self.options.pulsar) as admin:
            for span in spans:
                for batch in counting.of_topic(admin, self.options, self.proposal, span):
                    yield batch.select(self.schema.names).cast(self.schema)
