"""Data source `pulsar-messages`: the retained messages of topics as rows, in a batch or as a stream."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType
from typing_extensions import override

from topicschema.core.formats.key_value import has_keys_apart
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from topicschema.core.schemas import SchemaInfo
    from topicschema.spark.columns import Columns
    from topicschema.spark.planning import TaskSpan
    from topicschema.spark.typed import Mode
    from topicschema.validation.sources.pulsar.admin import Admin

# Spark imports this module in each session that looks for data sources: what reads messages is imported when it reads.
# ruff: noqa: PLC0415, TC003


_TYPED: Final = ("readerSchema", "readerSchemaType", "mode")
"""Options of typed columns."""


class PulsarMessages(DataSource):
    """Retained messages of Pulsar topics. docs/spark.md describes the options and the columns."""

    @classmethod
    @override
    def name(cls) -> str:
        """Return the name of the format."""
        return "pulsar-messages"

    @override
    def schema(self) -> StructType:
        """Return the chosen columns, or all."""
        from topicschema.spark import columns

        options, typing = self._parsed()
        return columns.struct(options.columns, _columns(typing))

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        from topicschema.spark.batch import BatchReader

        return BatchReader(self._rows(schema))

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        from topicschema.spark.streaming import StreamReader

        return StreamReader(self._rows(schema))

    def _rows(self, schema: StructType) -> "MessageRowSource":
        from topicschema.spark import columns

        options, typing = self._parsed()
        return MessageRowSource(options, columns.arrow(schema, _columns(typing)), typing)

    def _parsed(self) -> "tuple[ReadOptions, Typing | None]":
        """Return the options, and those of typed columns."""
        options = {name.lower(): value for name, value in self.options.items()}
        reader_schema, schema_type, mode = (options.pop(name.lower(), None) for name in _TYPED)
        parsed = ReadOptions.of(options, _TYPED)
        if reader_schema is None:
            if schema_type is not None or mode is not None:
                raise InvalidOptionError("option readerSchema is missing: readerSchemaType and mode belong to it")
            return parsed, None
        from topicschema.spark import typed
        from topicschema.spark.proposal import proposal_of

        info = proposal_of(("readerSchema", "readerSchemaType"), reader_schema, schema_type).info
        return parsed, Typing(info or _current(parsed), typed.mode_of(mode))


def _columns(typing: "Typing | None") -> "Columns":
    """Return all columns: those of the messages, and those of the reader's schema."""
    from topicschema.spark import columns, typed

    return columns.COLUMNS if typing is None else {**columns.COLUMNS, **typed.columns(typing.reader, typing.mode)}


def _current(options: ReadOptions) -> "SchemaInfo":
    """Return the newest version of the only selected topic."""
    from topicschema.validation.sources.pulsar.admin import Admin

    if len(options.selection.topics) != 1:
        raise InvalidOptionError("option readerSchema: current needs exactly one topic in the option topics")
    (topic,) = options.selection.topics
    with Admin(options.pulsar) as admin:
        version = admin.schema(topic)
    if version is None:
        raise InvalidOptionError(f"option readerSchema: persistent://{topic} has no schema")
    return version.info


@dataclass(frozen=True, slots=True)
class Typing:
    """Schema of the column `value`, and what happens to messages that it cannot read."""

    reader: "SchemaInfo"
    mode: "Mode"


@dataclass(frozen=True, slots=True)
class MessageRowSource:
    """Rows with the columns of `schema`, one for each message."""

    options: ReadOptions
    schema: "pa.Schema"
    typing: Typing | None = None

    def planned(self, admin: "Admin", spans: "Sequence[TaskSpan]") -> "Sequence[TaskSpan]":
        """Return the spans."""
        del admin
        return spans

    def rows(self, spans: "Iterable[TaskSpan]") -> "Iterator[pa.RecordBatch]":
        """Yield the rows of the spans' messages, as in RowSource."""
        from topicschema.spark import reading
        from topicschema.spark.columns import DETAILS, Rows
        from topicschema.validation.sources.pulsar.admin import Admin

        names = set(self.schema.names)
        has_keys = "key" in names or (self.typing is not None and has_keys_apart(self.typing.reader))
        parts = {"has_keys": has_keys, "has_details": not names.isdisjoint(DETAILS)}
        with Admin(self.options.pulsar) as admin:
            for span in spans:
                convert = Rows(self.schema, span.topic, is_partitioned=span.is_partitioned)
                for batch in self._typed(admin, span, reading.batches(admin, self.options, span, **parts)):
                    yield convert.of(batch)

    def _typed(
        self, admin: "Admin", span: "TaskSpan", batches: "Iterator[pa.RecordBatch]"
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the batches with the values of their messages, if there is a reader's schema."""
        if self.typing is None:
            yield from batches
            return
        from topicschema.spark.typed import TypedValues
        from topicschema.spark.versions import held

        reader, mode = self.typing.reader, self.typing.mode
        what = ("values", reader.content_hash)
        values = held(admin, self.options, span, what, lambda versions: TypedValues(reader, versions))
        for batch in batches:
            yield values.add(admin, batch, mode, span.topic)
