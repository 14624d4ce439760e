"""Positions of messages in a partition: ledgers of entries, and spans of them that are read at once. It has no I/O.

An entry is one send of a producer: a message, a batch of messages, or a chunk of a large one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self


class Position(NamedTuple):
    """Position of an entry. Later entries have greater positions."""

    ledger: int
    entry: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the position of `ledger:entry`. Raises ValueError if the text has another form."""
        ledger, _, entry = text.partition(":")
        return cls(int(ledger), int(entry))

    @property
    def following(self) -> "Position":
        """Position after this one in the same ledger."""
        return Position(self.ledger, self.entry + 1)

    def __str__(self) -> str:
        """Return `ledger:entry`, as Pulsar's own tools write it."""
        return f"{self.ledger}:{self.entry}"


@dataclass(frozen=True, slots=True)
class EntryRange:
    """Consecutive entries of one ledger."""

    ledger: int
    first: int
    entries: int

    @property
    def last(self) -> int:
        """Number of the last entry."""
        return self.first + self.entries - 1

    def cut(self, entries: int) -> "tuple[EntryRange, EntryRange]":
        """Return the first `entries` entries, and the rest."""
        rest = EntryRange(self.ledger, self.first + entries, self.entries - entries)
        return EntryRange(self.ledger, self.first, entries), rest


@dataclass(frozen=True, slots=True)
class Span:
    """Entries for one reader: one range or several, in order. `topic` is the full name of the partition.

    `messages_per_entry` is an estimate. `created` is the broker's creation time of the topic, which distinguishes it
    from a later topic of the same name, or "" if it is unknown.
    """

    topic: str
    partition: int
    entry_ranges: tuple[EntryRange, ...]
    messages_per_entry: float = 1.0
    created: str = ""

    @property
    def first(self) -> Position:
        """Position of the first entry."""
        return Position(self.entry_ranges[0].ledger, self.entry_ranges[0].first)

    @property
    def last(self) -> Position:
        """Position of the last entry."""
        return Position(self.entry_ranges[-1].ledger, self.entry_ranges[-1].last)

    @property
    def entries(self) -> int:
        """Number of entries."""
        return sum(each.entries for each in self.entry_ranges)

    @property
    def messages(self) -> int:
        """Approximate number of messages, at least 1."""
        return max(1, round(self.entries * self.messages_per_entry))

    def __str__(self) -> str:
        """Return the partition with the first and the last position, for messages to users."""
        return f"{self.topic}, {self.first} to {self.last}"


def entry_ranges(ledgers: Iterable[tuple[int, int]], last: Position) -> tuple[EntryRange, ...]:
    """Return the entries up to and including `last`, of ledgers by number and count in any order.

    The broker counts no entries of the ledger that it writes to. Their number is that of `last`.
    """
    ranges = []
    for number, count in sorted(ledgers):
        if number == last.ledger:
            ranges.append(EntryRange(number, 0, last.entry + 1))
        elif number < last.ledger:
            ranges.append(EntryRange(number, 0, count))
    return tuple(each for each in ranges if each.entries > 0)


def since(known: Iterable[EntryRange], first: Position) -> tuple[EntryRange, ...]:
    """Return the part of the ranges at or after `first`."""
    ranges = []
    for each in known:
        if each.ledger == first.ledger and first.entry > each.first:
            ranges.append(each.cut(min(first.entry - each.first, each.entries))[1])
        elif each.ledger >= first.ledger:
            ranges.append(each)
    return tuple(each for each in ranges if each.entries > 0)


def until(known: Iterable[EntryRange], end: Position) -> tuple[EntryRange, ...]:
    """Return the part of the ranges before `end`."""
    ranges = []
    for each in known:
        if each.ledger < end.ledger:
            ranges.append(each)
        elif each.ledger == end.ledger and each.first < end.entry:
            ranges.append(each.cut(min(end.entry - each.first, each.entries))[0])
    return tuple(ranges)


def before(known: Sequence[EntryRange], position: Position, entries: int) -> Position | None:
    """Return the position `entries` entries before `position`, or the first one. Return None if there is none."""
    earlier = [each for each in known if (each.ledger, each.first) < position]
    for each in reversed(earlier):
        last = each.last if each.ledger < position.ledger else min(each.last, position.entry - 1)
        count = last - each.first + 1
        if entries <= count:
            return Position(each.ledger, last - entries + 1)
        entries -= count
    return Position(earlier[0].ledger, earlier[0].first) if earlier else None


def cut(known: Sequence[EntryRange], entries: int) -> tuple[tuple[EntryRange, ...], ...]:
    """Return the ranges divided into pieces of that number of entries. The last piece may be smaller."""
    pieces: list[tuple[EntryRange, ...]] = []
    piece: list[EntryRange] = []
    space = entries
    for each in known:
        rest = each
        while rest.entries > space:
            head, rest = rest.cut(space)
            pieces.append((*piece, head) if head.entries else tuple(piece))
            piece, space = [], entries
        piece.append(rest)
        space -= rest.entries
    if piece:
        pieces.append(tuple(piece))
    return tuple(pieces)
