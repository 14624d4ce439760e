"""Columns of a message's metadata that a validation does not need: producer, numbers, ordering key, properties.

A message of a batch has metadata of its own. What it lacks comes from its entry, as in Java's client (MessageImpl).
"""

# ruff: noqa: PLR2004  # the numbers are those of MessageMetadata and SingleMessageMetadata in PulsarApi.proto

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from topicschema.payload.columnar.column import unwritable
from topicschema.payload.columnar.compiled import cached, fast, mark
from topicschema.validation.sources.pulsar import batch_splitter, compiled, frames
from topicschema.validation.sources.pulsar.compiled import Content, Table, member

DETAILS: Final = pa.schema(
    [
        pa.field("event_time", pa.int64()),  # milliseconds since 1970
        pa.field("producer", pa.string()),
        pa.field("sequence_id", pa.int64()),
        pa.field("ordering_key", pa.large_binary()),
        pa.field("properties", pa.map_(pa.string(), pa.string())),
    ]
)
"""Columns that follow those of `batches.BATCH`. Missing values are null."""

_EVENT_TIME, _PRODUCER_AT, _PRODUCER_SIZE, _SEQUENCE, _HAS_SEQUENCE, _ORDER_AT, _ORDER_SIZE, _COUNT, _WIDTH = range(9)
_KEY_AT, _KEY_SIZE, _VALUE_AT, _VALUE_SIZE, _PAIR_WIDTH = range(5)


@fast
def _of_entry(content: Any, at: Any, end: Any, one: Any) -> Any:
    """Write the details in the metadata of an entry."""
    while 0 <= at < end:
        number, value, begin, at = member(content, at, end)
        if at < 0:
            return
        if number == 1:
            one[_PRODUCER_AT], one[_PRODUCER_SIZE] = begin, value
        elif number == 2:
            one[_SEQUENCE], one[_HAS_SEQUENCE] = value, 1
        elif number == 4:
            one[_COUNT] += 1
        elif number == 12:
            one[_EVENT_TIME] = value
        elif number == 18:
            one[_ORDER_AT], one[_ORDER_SIZE] = begin, value


@fast
def _of_single(content: Any, at: Any, end: Any, one: Any) -> Any:
    """Write the details in the own metadata of a message of a batch."""
    one[_ORDER_AT], one[_ORDER_SIZE], one[_COUNT] = -1, 0, 0
    while 0 <= at < end:
        number, value, begin, at = member(content, at, end)
        if at < 0:
            return
        if number == 1:
            one[_COUNT] += 1
        elif number == 5:
            one[_EVENT_TIME] = value
        elif number == 7:
            one[_ORDER_AT], one[_ORDER_SIZE] = begin, value
        elif number == 8:
            one[_SEQUENCE], one[_HAS_SEQUENCE] = value, 1


@fast
def _pair(content: Any, at: Any, end: Any, pair: Any) -> Any:
    while 0 <= at < end:
        number, value, begin, at = member(content, at, end)
        if number == 1:
            pair[_KEY_AT], pair[_KEY_SIZE] = begin, value
        elif number == 2:
            pair[_VALUE_AT], pair[_VALUE_SIZE] = begin, value


@fast
def _read(content: Any, table: Any, rows: Any, details: Any, entry: Any) -> Any:
    """Fill the details of all messages. Return the number of properties. `entry` holds those of the last entry."""
    last, total = np.int64(-1), np.int64(0)
    for index in range(len(rows)):
        row, one = rows[index], details[index]
        if row[batch_splitter.ROW] != last:
            last = row[batch_splitter.ROW]
            for column in range(_WIDTH):
                entry[column] = 0
            entry[_PRODUCER_AT] = entry[_ORDER_AT] = -1
            begin = table[last, frames.META_AT]
            _of_entry(content, begin, begin + table[last, frames.META_SIZE], entry)
        for column in range(_WIDTH):
            one[column] = entry[column]
        begin = row[batch_splitter.META_AT]
        if begin >= 0:
            _of_single(content, begin, begin + row[batch_splitter.META_SIZE], one)
        total += one[_COUNT]
    return total


@fast
def _fill(content: Any, table: Any, rows: Any, pairs: Any) -> Any:
    """Fill the positions of all properties, in the order of the messages."""
    count = np.int64(0)
    for index in range(len(rows)):
        row = rows[index]
        at, size, field = row[batch_splitter.META_AT], row[batch_splitter.META_SIZE], 1
        if at < 0:
            entry = table[row[batch_splitter.ROW]]
            at, size, field = entry[frames.META_AT], entry[frames.META_SIZE], 4
        end = at + size
        while 0 <= at < end:
            number, value, begin, at = member(content, at, end)
            if at >= 0 and number == field:
                pairs[count, _KEY_AT] = pairs[count, _VALUE_AT] = 0
                _pair(content, begin, begin + value, pairs[count])
                count += 1


def _marked_read(mark: int) -> Callable[[Any, Any, Any, Any], tuple[int, int]]:
    """Return the function to compile and cache: `_read`, with a number that changes with its source code."""

    def run(content: Any, table: Any, rows: Any, details: Any) -> tuple[int, int]:
        return _read(content, table, rows, details, np.zeros(_WIDTH, np.int64)), mark

    return run


def _marked_fill(mark: int) -> Callable[[Any, Any, Any, Any], int]:
    """Return the function to compile and cache: `_fill`, with a number that changes with its source code."""

    def run(content: Any, table: Any, rows: Any, pairs: Any) -> int:
        _fill(content, table, rows, pairs)
        return mark

    return run


_MARK: Final = mark((compiled, frames, batch_splitter, sys.modules[__name__]))
_RUN_READ: Final = cached(_marked_read(_MARK))
_RUN_FILL: Final = cached(_marked_fill(_MARK))


def columns(content: Content, table: Table, rows: Table) -> list[pa.Array]:
    """Return the columns of DETAILS for the rows of `batch_splitter.split`."""
    details = np.zeros((len(rows), _WIDTH), np.int64)
    total, _ = _RUN_READ(unwritable(content), unwritable(table), unwritable(rows), details)
    event_time, sequence = details[:, _EVENT_TIME], details[:, _SEQUENCE]
    return [
        pa.array(event_time, mask=event_time == 0),  # 0 is no event time
        _text(_pieces(content, details[:, _PRODUCER_AT], details[:, _PRODUCER_SIZE])),
        pa.array(sequence, mask=details[:, _HAS_SEQUENCE] == 0),
        _pieces(content, details[:, _ORDER_AT], details[:, _ORDER_SIZE]),
        _properties(content, table, rows, (details[:, _COUNT], int(total))),
    ]


def _properties(content: Content, table: Table, rows: Table, counts: tuple[Table, int]) -> pa.Array:
    per_message, total = counts
    pairs = np.zeros((total, _PAIR_WIDTH), np.int64)
    _RUN_FILL(unwritable(content), unwritable(table), unwritable(rows), pairs)
    keys = _text(_pieces(content, pairs[:, _KEY_AT], pairs[:, _KEY_SIZE]))
    values = _text(_pieces(content, pairs[:, _VALUE_AT], pairs[:, _VALUE_SIZE]))
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(per_message, out=offsets[1:])
    if total and (per_message > 1).any():
        keys, values, offsets = _last_of_each_name(keys, values, offsets)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, values)


def _last_of_each_name(keys: pa.Array, values: pa.Array, offsets: Any) -> tuple[pa.Array, pa.Array, Any]:
    """Return the properties with one value for each name of a message: the last one, as in Java's client."""
    names = compute.dictionary_encode(keys)
    message = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    pairs = message * (len(names.dictionary) + 1) + names.indices.to_numpy()
    _, first_from_end = np.unique(pairs[::-1], return_index=True)
    if len(first_from_end) == len(pairs):
        return keys, values, offsets
    chosen = np.sort(len(pairs) - 1 - first_from_end)
    counts = np.bincount(message[chosen], minlength=len(offsets) - 1)
    return keys.take(pa.array(chosen)), values.take(pa.array(chosen)), np.append(0, np.cumsum(counts)).astype(np.int32)


def _pieces(content: Content, places: Any, sizes: Any) -> pa.Array:
    """Return the pieces of the content as a large_binary array, null where a place is negative."""
    is_null = places < 0
    offsets, values = batch_splitter.gather(content, np.maximum(places, 0), np.where(is_null, 0, sizes))
    valid = pa.py_buffer(np.packbits(~is_null, bitorder="little")) if is_null.any() else None
    return pa.Array.from_buffers(pa.large_binary(), len(places), [valid, pa.py_buffer(offsets), pa.py_buffer(values)])


def _text(pieces: pa.Array) -> pa.Array:
    """Return the pieces as strings. A byte that is not UTF-8 becomes U+FFFD."""
    try:
        return pieces.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if each is None else each.decode(errors="replace") for each in pieces.to_pylist()]
        return pa.array(texts, pa.string())
