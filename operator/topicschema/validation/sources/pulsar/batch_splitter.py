"""Compiled loops that split entries into messages: a row of numbers for each message, and columns of bytes."""

# ruff: noqa: PLR2004  # the numbers are those of SingleMessageMetadata in PulsarApi.proto

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from topicschema.payload.columnar.column import unwritable
from topicschema.payload.columnar.compiled import cached, fast, mark
from topicschema.validation.sources.pulsar import compiled, frames
from topicschema.validation.sources.pulsar.compiled import Content, Table, four, member

ROW, BATCH_INDEX, AT, SIZE, IS_NULL, KEY_AT, KEY_SIZE, KEY_IS_BASE64, META_AT, META_SIZE, _WIDTH = range(11)
"""Columns of a message's row within its entry, and their number.

META_AT is the position of the metadata that a message of a batch has for itself. It is -1 if there is none.
"""


@fast
def _alone(entry: Any, one: Any) -> Any:
    """Write the row of a message that is its whole entry, or of an entry that cannot be split."""
    one[AT], one[SIZE], one[IS_NULL] = entry[frames.BODY_AT], entry[frames.BODY_SIZE], entry[frames.IS_NULL]
    one[KEY_AT], one[KEY_SIZE] = entry[frames.KEY_AT], entry[frames.KEY_SIZE]
    one[KEY_IS_BASE64] = entry[frames.KEY_IS_BASE64]
    one[META_AT] = -1


@fast
def _single(content: Any, at: Any, end: Any, one: Any) -> Any:
    """Write the row of a batch's next message. Return its end, or -1 if the batch is incomplete."""
    one[AT] = one[KEY_AT] = one[META_AT] = -1
    if at < 0 or end - at < 4 or four(content, at) > end - at - 4:
        return np.int64(-1)
    begin = at + 4
    body = begin + four(content, at)
    payload = np.int64(-1)
    while 0 <= begin < body:
        number, value, place, begin = member(content, begin, body)
        if number == 2:
            one[KEY_AT], one[KEY_SIZE] = place, value
        elif number == 3:
            payload = value
        elif number == 6:
            one[KEY_IS_BASE64] = value
        elif number == 9:
            one[IS_NULL] = value
    if begin < 0 or payload < 0 or payload > end - body:
        one[KEY_AT] = -1
        return np.int64(-1)
    one[AT], one[SIZE] = body, payload
    one[META_AT], one[META_SIZE] = at + 4, body - at - 4
    return body + payload


@fast
def _split(content: Any, table: Any, rows: Any) -> Any:
    count = np.int64(0)
    for row in range(len(table)):
        entry = table[row]
        at, end = entry[frames.BODY_AT], entry[frames.BODY_AT] + entry[frames.BODY_SIZE]
        is_split = entry[frames.COUNT] > 0 and entry[frames.IS_SEALED] == 0 and entry[frames.IS_BROKEN] == 0
        for index in range(max(1, entry[frames.COUNT])):
            one = rows[count]
            count += 1
            one[ROW], one[BATCH_INDEX] = row, index if entry[frames.COUNT] > 0 else -1
            if is_split:
                at = _single(content, at, end, one)
            else:
                _alone(entry, one)


def _marked(mark: int) -> Callable[[Any, Any, Any], int]:
    """Return the function to compile and cache: `_split`, with a number that changes with its source code."""

    def run(content: Any, table: Any, rows: Any) -> int:
        _split(content, table, rows)
        return mark

    return run


def _marked_gather(mark: int) -> Callable[[Any, Any, Any, Any, Any], int]:
    """Return the function to compile and cache: `_gather`, with that number."""

    def run(content: Any, places: Any, sizes: Any, offsets: Any, values: Any) -> int:
        _gather(content, places, sizes, offsets, values)
        return mark

    return run


@fast
def _gather(content: Any, places: Any, sizes: Any, offsets: Any, values: Any) -> Any:
    for number in range(len(places)):
        size = sizes[number]
        source = content[places[number] : places[number] + size]
        target = values[offsets[number] : offsets[number] + size]
        for byte in range(size):  # compiled to a copy: an index from 0 needs no check of its sign
            target[byte] = source[byte]


_MARK: Final = mark((compiled, frames, sys.modules[__name__]))
_RUN: Final = cached(_marked(_MARK))
_RUN_GATHER: Final = cached(_marked_gather(_MARK))


def split(content: Content, table: Table) -> Table:
    """Return a row for each message of the entries, which are unpacked in `content`.

    A message that its batch counts but does not contain has no bytes and the position -1.
    """
    total = int(np.maximum(1, table[:, frames.COUNT]).sum())
    rows = np.zeros((total, _WIDTH), np.int64)
    _RUN(unwritable(content), unwritable(table), rows)
    return rows


def gather(content: Content, places: Table, sizes: Table) -> tuple[Table, Content]:
    """Return offsets and values of a column with these pieces of the content, in this order."""
    offsets = np.zeros(len(places) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    values = np.zeros(int(offsets[-1]), np.uint8)
    _RUN_GATHER(unwritable(content), unwritable(places), unwritable(sizes), offsets, values)
    return offsets, values
