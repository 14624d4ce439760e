"""Progress in a span, and its entries that the broker skipped.

If messages are skipped for all subscriptions (by a TTL, or a cleared backlog), the mark-delete position of a reader's
cursor moves, too. Nothing else moves it past a received message, because a reader acknowledges nothing. The broker
itself acknowledges entries without messages: those at the start of a reader move the position as if they were skipped.
"""

from bisect import bisect_right
from collections.abc import Set as AbstractSet
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from topicschema.validation.sources.pulsar import frames
from topicschema.validation.sources.pulsar.compiled import Table
from topicschema.validation.sources.pulsar.ranges import Position, Span, since, until


class SpanProgress:
    """Progress in a span, read up to `at`. `entries` counts the entries with messages of each ledger."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._begins = [Position(each.ledger, each.first) for each in span.entry_ranges]
        self._before = [0, *accumulate(each.entries for each in span.entry_ranges)]
        self._shown_mark: Position | None = None
        self.at = Position(span.first.ledger, span.first.entry - 1)
        self.entries: dict[int, int] = {}

    @property
    def resume_position(self) -> Position:
        """Position at which a reader begins: the last received message, which fixes its mark, or the first entry."""
        return self.at if self.entries else self.at.following

    @property
    def missing(self) -> int:
        """Number of the span's entries with messages that are not read yet, at most."""
        return self._before[-1] - sum(self.entries.values())

    def following(self, table: Table) -> tuple[Table, Position]:
        """Return the new rows of the span, and the position up to which it is read with them."""
        is_inside = _is_up_to(table, self._span.last)
        table = table[is_inside & ~_is_up_to(table, self.at)]
        end = place(table[-1]) if len(table) else self.at
        return table, end if is_inside.all() else self._span.last

    def take(self, table: Table) -> None:
        """Record that the rows, which are the next ones, are read."""
        self.at = place(table[-1])
        for number, count in zip(*np.unique(table[:, frames.LEDGER], return_counts=True), strict=True):
            self.entries[int(number)] = self.entries.get(int(number), 0) + int(count)

    def has_gap(self, table: Table, end: Position) -> bool:
        """Return True if the rows, which are the next ones, are fewer than the entries up to and including `end`."""
        return self._number(end) - self._number(self.at) > len(table)

    def is_skipped(self, table: Table, mark: Position, ledgers: AbstractSet[int]) -> bool:
        """Return True if entries up to the mark are missing in the rows, which are the next ones.

        Entries of removed ledgers do not count. If no message of an existing ledger was received and a second reader
        has the same mark, these entries have no messages. The result is then False.
        """
        if mark <= self.at:
            return False
        entry_ranges = until(since(self._span.entry_ranges, self.at.following), mark.following)
        came = np.isin(table[:, frames.LEDGER], list(ledgers)) & _is_up_to(table, mark)
        if sum(each.entries for each in entry_ranges if each.ledger in ledgers) <= came.sum():
            return False
        is_held = bool(came.any()) or (bool(self.entries) and self.at.ledger in ledgers)
        is_believed = not is_held and self._shown_mark == mark
        self._shown_mark = mark
        return not is_believed

    def _number(self, position: Position) -> int:
        """Return the number of the span's entries up to and including the position."""
        index = bisect_right(self._begins, position) - 1
        if index < 0:
            return 0
        each = self._span.entry_ranges[index]
        is_inside = each.ledger == position.ledger and position.entry < each.last
        return self._before[index] + (position.entry - each.first + 1 if is_inside else each.entries)


def place(row: Table) -> Position:
    """Return the position of the row's entry."""
    return Position(int(row[frames.LEDGER]), int(row[frames.ENTRY]))


def _is_up_to(table: Table, end: Position) -> NDArray[np.bool_]:
    ledger, entry = table[:, frames.LEDGER], table[:, frames.ENTRY]
    is_within: NDArray[np.bool_] = (ledger < end.ledger) | ((ledger == end.ledger) & (entry <= end.entry))
    return is_within
