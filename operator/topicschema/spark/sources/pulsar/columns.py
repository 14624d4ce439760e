"""Entries as Arrow batches. What all messages of an entry share is written once for each entry, not for each one."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from topicschema.spark.batches import BATCH, MAX_BYTES, MAX_MESSAGES
from topicschema.spark.sources.pulsar.messages import ALONE, Entry

_MOST_BYTES: Final = MAX_BYTES // 2  # an entry more, and it is still about as much as it may be


class Columns:
    """The batches of one partition, filled entry by entry."""

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._entries: list[Entry] = []
        self._messages = 0
        self._bytes = 0

    def batches(self, entries: Iterable[Entry]) -> Iterator[pa.RecordBatch]:
        """All of them, in order."""
        for entry in entries:
            if self._messages + len(entry.payloads) > MAX_MESSAGES:
                yield from self._taken()
            self._entries.append(entry)
            self._messages += len(entry.payloads)
            self._bytes += sum(map(len, filter(None, entry.payloads)))
            if self._bytes >= _MOST_BYTES:
                yield from self._taken()
        yield from self._taken()

    def _taken(self) -> Iterator[pa.RecordBatch]:
        """What is there, as one batch, or as several where one entry has more messages than a batch may."""
        entries, self._entries, self._messages, self._bytes = self._entries, [], 0, 0
        if entries:
            whole = _batch(entries, self._partition)
            for start in range(0, len(whole), MAX_MESSAGES):
                yield whole.slice(start, MAX_MESSAGES)


def _batch(entries: list[Entry], partition: int) -> pa.RecordBatch:
    counts = np.fromiter((len(each.payloads) for each in entries), np.int64, len(entries))
    total = int(counts.sum())

    def spread(values: Iterable[int]) -> Any:
        return np.repeat(np.fromiter(values, np.int64, len(entries)), counts)

    begins = spread(np.cumsum(counts) - counts)
    first = spread(each.index for each in entries)
    index = np.where(first == ALONE, ALONE, first + np.arange(total) - begins)
    columns = [
        pa.array([payload for each in entries for payload in each.payloads], pa.large_binary()),
        _keys(entries, total),
        pa.array(spread(each.writer for each in entries)),
        pa.array(np.full(total, partition, np.int32)),
        pa.array(spread(each.position.ledger for each in entries)),
        pa.array(spread(each.position.entry for each in entries)),
        pa.array(index.astype(np.int32)),
        pa.array(spread(each.publish_time for each in entries)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=BATCH)


def _keys(entries: list[Entry], total: int) -> pa.Array:
    if all(each.keys is None for each in entries):
        return pa.nulls(total, pa.large_binary())
    keys = [key for each in entries for key in (each.keys or [None] * len(each.payloads))]
    return pa.array(keys, pa.large_binary())
