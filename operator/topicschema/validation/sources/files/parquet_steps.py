"""Number of Parquet rows that are decoded at once, so that the decoded values are bounded, not only their bytes.

A few bytes of a file may stand for any number of values. A repeated value is stored once (dictionaries), or as a prefix
of the previous one (DELTA_BYTE_ARRAY). In other encodings, rows are not larger than their column's chunk. Source:
Apache Parquet, "Encodings".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from topicschema.validation.errors import SourceError
from topicschema.validation.run.batches import MAX_BYTES, MAX_MESSAGES
from topicschema.validation.sources.files.opened import MAX_MESSAGE, Piece, SourceFile

_MAX_PLAIN: Final = 256 * 1024 * 1024
"""Maximum bytes of a step's values that are stored one by one, for any distribution of their sizes."""
_MAX_REPEATED: Final = 16 * 1024 * 1024
"""Maximum bytes of a step's values that are stored once for any number of values."""
_FEW: Final = 32
"""Rows of a step if a chunk is larger than `_MAX_PLAIN`. These fit messages of 8 MiB."""
_READ_BYTES: Final = 1024 * 1024
_SHARED: Final = "DELTA_BYTE_ARRAY"
_DICTIONARIES: Final = frozenset({"RLE_DICTIONARY", "PLAIN_DICTIONARY"})


@dataclass(frozen=True, slots=True)
class DecodingSteps:
    """Decoding of a piece: the number of rows at once, and the bytes of its columns in the file (`stored`)."""

    rows: int
    stored: int


def steps(stream: Any, metadata: Any, piece: Piece, columns: Sequence[str]) -> DecodingSteps:
    """Return the steps for these columns of a piece, whose row groups are in an open file."""
    rows, stored = MAX_MESSAGES, 0
    for number in range(metadata.num_columns):
        column = metadata.schema.column(number)
        if column.path in columns:
            for group in range(piece.first, piece.last):
                chunk = metadata.row_group(group).column(number)
                stored += chunk.total_compressed_size
                rows = min(rows, _rows(chunk, column.length or 0))
                if _has_dictionary(chunk):
                    rows = min(rows, _MAX_REPEATED // _longest(stream, metadata, group, column.path))
    return DecodingSteps(max(1, rows), stored)


def _rows(chunk: Any, length: int) -> int:
    """Return the number of rows at once. `length` is the length of each value of a fixed-length type."""
    if chunk.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return MAX_BYTES // max(1, length)
    if chunk.physical_type != "BYTE_ARRAY":
        return MAX_MESSAGES
    size = max(1, int(chunk.total_uncompressed_size))
    if _SHARED in chunk.encodings:
        return _MAX_REPEATED // size
    return min(MAX_BYTES * max(1, int(chunk.num_values)) // size, MAX_MESSAGES if size <= _MAX_PLAIN else _FEW)


def _has_dictionary(chunk: Any) -> bool:
    return (
        chunk.physical_type == "BYTE_ARRAY"
        and _SHARED not in chunk.encodings
        and not _DICTIONARIES.isdisjoint(chunk.encodings)
    )


def _longest(stream: Any, metadata: Any, group: int, name: str) -> int:
    """Return the size of the longest value in a chunk's dictionary, which is decoded whole with the first row."""
    options = {"read_dictionary": [name], "buffer_size": _READ_BYTES, "pre_buffer": False}
    opened = parquet.ParquetFile(stream, metadata=metadata, **options)
    first = next(opened.iter_batches(1, row_groups=[group], columns=[name], use_threads=False), None)
    lengths = None if first is None else compute.max(_lengths_of(first.column(0).dictionary)).as_py()
    return max(1, lengths or 0)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows, with small batches joined."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + len(batch) > MAX_MESSAGES or size + batch.nbytes > MAX_BYTES):
            yield _joined(held)
            rows = size = 0
        held.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
    if held:
        yield _joined(held)


def _joined(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return all batches as one, and release them."""
    joined = held[0] if len(held) == 1 else pa.concat_batches(held)
    held.clear()
    return joined


def portions(batch: pa.RecordBatch, file: SourceFile, row: int) -> Iterator[pa.RecordBatch]:
    """Yield the decoded rows of a step in portions of about MAX_BYTES. `row` is the number of the first row.

    Raises SourceError if a row is larger than MAX_MESSAGE.
    """
    ends = _ends(batch)
    first = before = 0
    while first < len(batch):
        last = max(first + 1, int(np.searchsorted(ends, before + MAX_BYTES, "right")))
        if last == first + 1 and int(ends[first]) - before > MAX_MESSAGE:
            raise SourceError("its message is larger than 32 MiB", file.place(f"row {row + first}"))
        yield _decoded(batch.slice(first, last - first))
        first, before = last, int(ends[last - 1])


def _ends(batch: pa.RecordBatch) -> Any:
    """Return the total bytes of the text and binary columns up to the end of each row."""
    sizes = np.zeros(len(batch), np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            sizes += _lengths(_lengths_of(column.dictionary).take(column.indices))
        elif _has_bytes(column.type):
            sizes += _lengths(_lengths_of(column))
    return np.cumsum(sizes)


def _lengths_of(values: Any) -> Any:
    if not _has_bytes(values.type):
        return pa.nulls(len(values), pa.int64())
    return compute.binary_length(values).cast(pa.int64())


def _lengths(lengths: Any) -> Any:
    return compute.fill_null(lengths, 0).to_numpy(zero_copy_only=False)


def _has_bytes(kind: Any) -> bool:
    return any(is_such(kind) for is_such in _BYTES)


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [each.dictionary_decode() if pa.types.is_dictionary(each.type) else each for each in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


_BYTES: Final = (
    pa.types.is_binary,
    pa.types.is_string,
    pa.types.is_large_binary,
    pa.types.is_large_string,
    pa.types.is_fixed_size_binary,
)
