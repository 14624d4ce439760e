"""Parquet. Each row is a message, and a piece is some row groups. Only the required columns are read."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from topicschema.validation.errors import SourceError
from topicschema.validation.request import Columns
from topicschema.validation.run.batches import BATCH, NO_TIME, NO_VERSION, UNKNOWN_SCHEMA_VERSION
from topicschema.validation.sources.files.opened import Piece, SourceFile
from topicschema.validation.sources.files.parquet_steps import DecodingSteps, gathered, portions, steps

_VERSION_BYTES: Final = 8
_AHEAD: Final = 64 * 1024 * 1024
"""Maximum bytes of a piece that are fetched at once. Larger pieces are fetched in parts."""
_PART: Final = 8 * 1024 * 1024


def pieces(file: SourceFile, size: int, demanded: Sequence[str]) -> Sequence[Piece]:
    """Return the row groups, joined to equal pieces of at most about `size` bytes. A row group is never divided.

    Raises SourceError if a demanded column is missing.
    """
    with file.opened() as stream:
        metadata = parquet.read_metadata(stream)
        _demand(metadata.schema.to_arrow_schema(), demanded, file)
        total = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
        size = total // max(1, ceil(total / size))
        ranges: list[Piece] = []
        first = before = rows = held = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            rows += group.num_rows
            held += group.total_byte_size
            if held >= size or number + 1 == metadata.num_row_groups:
                ranges.append(Piece(first, number + 1, rows, before))
                first, before, rows, held = number + 1, before + rows, 0, 0
        return [each for each in ranges if each.messages]


def read(file: SourceFile, piece: Piece, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the rows as messages."""
    with file.opened() as stream:
        metadata = parquet.read_metadata(stream)
        names = _present(metadata.schema.to_arrow_schema(), columns, file)
        step = steps(stream, metadata, piece, names)
        batches = _opened(stream, metadata, step).iter_batches(
            step.rows, row_groups=range(piece.first, piece.last), columns=names, use_threads=False
        )
        row = piece.before
        for batch in gathered(batches):
            for portion in portions(batch, file, row):
                with file.failing(f"rows from {row}"):
                    yield _messages(portion, columns, file, row)
                row += len(portion)


def _opened(stream: Any, metadata: Any, step: DecodingSteps) -> Any:
    is_ahead = step.stored <= _AHEAD
    options = {"pre_buffer": is_ahead, "buffer_size": 0 if is_ahead else _PART}
    return parquet.ParquetFile(stream, metadata=metadata, **options)


def _demand(schema: Any, names: Sequence[str], file: SourceFile) -> None:
    for name in names:
        if name not in schema.names:
            there = ", ".join(schema.names[:20])
            raise SourceError(f"it has no column {name!r}; its columns are: {there}", file.uri)


def _present(schema: Any, columns: Columns, file: SourceFile) -> list[str]:
    if not columns.payload:
        raise SourceError("a column must hold the payload; only a line of JSON can be one itself", file.uri)
    _demand(schema, [columns.payload], file)
    names = (columns.payload, columns.key, columns.schema_version, columns.publish_time, columns.partition)
    present = [name for name in dict.fromkeys(names) if name in schema.names]
    for name in present:
        if pa.types.is_nested(schema.field(name).type):
            raise SourceError(f"its column {name!r} holds lists, maps or structures", file.uri)
    return present


def _messages(batch: pa.RecordBatch, columns: Columns, file: SourceFile, row: int) -> pa.RecordBatch:
    rows = len(batch)

    def column(name: str) -> Any:
        return batch.column(name) if name and name in batch.schema.names else None

    arrays = {
        "payload": _content(column(columns.payload), rows),
        "key": _content(column(columns.key), rows),
        "writer": _writers(column(columns.schema_version), rows),
        "partition": _numbers(column(columns.partition), file.number, rows, pa.int32()),
        "ledger": _numbers(None, file.number, rows),
        "entry": pa.array(np.arange(row, row + rows, dtype=np.int64)),
        "batch_index": _numbers(None, -1, rows, pa.int32()),
        "publish_time": _times(column(columns.publish_time), rows),
    }
    return pa.record_batch([arrays[name] for name in BATCH.names], schema=BATCH)


def _content(array: Any, rows: int) -> pa.Array:
    return pa.nulls(rows, pa.large_binary()) if array is None else array.cast(pa.large_binary())


def _numbers(array: Any, instead: int, rows: int, kind: Any = None) -> pa.Array:
    kind = kind or pa.int64()
    if array is None:
        return pa.repeat(pa.scalar(instead, kind), rows)
    return compute.fill_null(array.cast(kind), instead)


def _writers(array: Any, rows: int) -> pa.Array:
    """Return the schema versions from numbers, or from the eight bytes of a broker."""
    if array is not None and (pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)):
        return pa.array([version_of(each) for each in array.to_pylist()], pa.int64())
    numbers = _numbers(array, NO_VERSION, rows)
    if array is None:
        return numbers
    is_unknown = compute.and_(compute.less(numbers, 0), compute.is_valid(array))
    return compute.if_else(is_unknown, UNKNOWN_SCHEMA_VERSION, numbers)


def version_of(version: bytes | None) -> int:
    """Return the number of a message's schema version.

    It is NO_VERSION for none, and UNKNOWN_SCHEMA_VERSION for bytes that are not a broker's.
    """
    if not version:
        return NO_VERSION
    number = int.from_bytes(version, "big", signed=True)
    return number if len(version) == _VERSION_BYTES and number >= 0 else UNKNOWN_SCHEMA_VERSION


def _times(array: Any, rows: int) -> pa.Array:
    if array is not None and pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("ms", array.type.tz), safe=False).cast(pa.int64())
    return _numbers(array, NO_TIME, rows)
