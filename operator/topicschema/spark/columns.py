"""Columns of `pulsar-messages`, and their values from the batches of a reader."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from topicschema.spark.errors import InvalidOptionError
from topicschema.validation.run.batches import DAMAGED, ENCRYPTED, UNKNOWN_SCHEMA_VERSION, UNREADABLE

Columns = Mapping[str, DataType]
"""Types of columns by name, in order."""
COLUMNS: Final[Columns] = {
    "topic": StringType(),
    "partition": IntegerType(),
    "ledger": LongType(),
    "entry": LongType(),
    "batch_index": IntegerType(),
    "publish_time": TimestampType(),
    "event_time": TimestampType(),
    "producer": StringType(),
    "sequence_id": LongType(),
    "key": BinaryType(),
    "ordering_key": BinaryType(),
    "properties": MapType(StringType(), StringType()),
    "schema_version": LongType(),
    "payload": BinaryType(),
    "error": StringType(),
}
"""All columns of `pulsar-messages`. Each may be null."""
DETAILS: Final = frozenset({"event_time", "producer", "sequence_id", "ordering_key", "properties"})
"""Columns that a reader decodes only if one of them is read."""
_ERRORS: Final = {**UNREADABLE, UNKNOWN_SCHEMA_VERSION: "UNKNOWN_WRITER_VERSION"}
MAX_MILLISECONDS: Final = (2**63 - 1) // 1000
"""Greatest time that a timestamp of Spark holds, in milliseconds since 1970."""


def struct(names: Sequence[str] | None, known: Columns) -> StructType:
    """Return the columns of these names, or all. Raises InvalidOptionError for an unknown name."""
    chosen = tuple(known) if names is None else names
    for name in chosen:
        if name not in known:
            raise InvalidOptionError(f"column {name!r} does not exist. The columns are {', '.join(known)}")
    return StructType([StructField(name, known[name]) for name in chosen])


def arrow(schema: StructType, known: Columns) -> pa.Schema:
    """Return the Arrow schema of the columns that a user chose among the known ones.

    Raises InvalidOptionError for an unknown name or another type.
    """
    for field in schema.fields:
        expected = struct([field.name], known).fields[0].dataType
        if field.dataType != expected:
            raise InvalidOptionError(
                f"column {field.name} has the type {expected.simpleString()}, not {field.dataType.simpleString()}"
            )
    converted: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return converted


class Rows:
    """Conversion of a reader's batches of one topic to rows with the columns of `schema`."""

    def __init__(self, schema: pa.Schema, topic: str, *, is_partitioned: bool) -> None:
        self._schema = schema
        self._topic = topic
        self._is_partitioned = is_partitioned
        self._make: Mapping[str, Callable[[pa.RecordBatch], pa.Array]] = {
            "topic": lambda batch: pa.repeat(pa.scalar(self._topic), len(batch)),
            "partition": self._partition,
            "batch_index": lambda batch: _unless_negative(batch.column("batch_index")),
            "publish_time": lambda batch: _time(batch.column("publish_time")),
            "event_time": lambda batch: _time(batch.column("event_time")),
            "schema_version": lambda batch: _unless_negative(batch.column("writer")),
            "payload": _payload,
            "error": _error,
        }

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of the batch."""
        arrays = [self._column(batch, field) for field in self._schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        make = self._make.get(field.name)
        array = batch.column(field.name) if make is None else make(batch)
        return array.cast(field.type)

    def _partition(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column("partition") if self._is_partitioned else pa.nulls(len(batch), pa.int32())


def _unless_negative(array: pa.Array) -> pa.Array:
    values = array.to_numpy()
    return pa.array(values, mask=values < 0)


def _time(array: pa.Array) -> pa.Array:
    """Return milliseconds as timestamps. A number that no timestamp of Spark holds becomes null."""
    milliseconds = array.fill_null(-1).to_numpy()
    is_outside = (milliseconds < 0) | (milliseconds > MAX_MILLISECONDS)
    microseconds: Any = np.where(is_outside, 0, milliseconds) * 1000
    return pa.array(microseconds, pa.timestamp("us", tz="UTC"), mask=is_outside)


def _payload(batch: pa.RecordBatch) -> pa.Array:
    """Return the payloads, null where bytes cannot be read at all."""
    unread = np.isin(batch.column("writer").to_numpy(), (ENCRYPTED, DAMAGED))
    payloads = batch.column("payload")
    return pa.compute.if_else(pa.array(unread), pa.scalar(None, payloads.type), payloads) if unread.any() else payloads


def _error(batch: pa.RecordBatch) -> pa.Array:
    writers = batch.column("writer").to_numpy()
    if (writers >= UNKNOWN_SCHEMA_VERSION + 1).all():
        return pa.nulls(len(batch), pa.string())
    return pa.array([_ERRORS.get(each) for each in writers.tolist()], pa.string())
