"""Where messages lie in a partition: ledgers of entries, and how they are cut into spans that are read at once. Pure.

An entry is what a producer sent at once: a message, a batch of messages, or a chunk of a large one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Position(NamedTuple):
    """An entry. In order: what is stored later has a greater one."""

    ledger: int
    entry: int

    def __str__(self) -> str:
        """`ledger:entry`, as Pulsar's own tools write it."""
        return f"{self.ledger}:{self.entry}"


@dataclass(frozen=True, slots=True)
class EntryRange:
    """Entries of one ledger, one after the other."""

    ledger: int
    first: int
    entries: int

    @property
    def last(self) -> int:
        """The number of its last entry."""
        return self.first + self.entries - 1

    def cut(self, entries: int) -> "tuple[EntryRange, EntryRange]":
        """Its first so many entries, and the rest."""
        rest = EntryRange(self.ledger, self.first + entries, self.entries - entries)
        return EntryRange(self.ledger, self.first, entries), rest


@dataclass(frozen=True, slots=True)
class Span:
    """What one reader reads: one entry range or several, in order. `topic` is the full name of the partition.

    `messages_per_entry` is about what is to be expected. `created` is when the topic was made, in the broker's words: a
    topic of the same name that was made later is another one.
    """

    topic: str
    partition: int
    entry_ranges: tuple[EntryRange, ...]
    messages_per_entry: float = 1.0
    created: str = ""

    @property
    def first(self) -> Position:
        """Its first entry."""
        return Position(self.entry_ranges[0].ledger, self.entry_ranges[0].first)

    @property
    def last(self) -> Position:
        """Its last entry."""
        return Position(self.entry_ranges[-1].ledger, self.entry_ranges[-1].last)

    @property
    def entries(self) -> int:
        """How many entries it has."""
        return sum(each.entries for each in self.entry_ranges)

    @property
    def messages(self) -> int:
        """About how many messages it has."""
        return max(1, round(self.entries * self.messages_per_entry))

    def __str__(self) -> str:
        """For people: the partition and the entries, first and last."""
        return f"{self.topic}, {self.first} to {self.last}"


def entry_ranges(ledgers: Iterable[tuple[int, int]], last: Position) -> tuple[EntryRange, ...]:
    """The entries up to and with `last`, of ledgers given by number and count, in any order.

    The ledger that is being written counts none yet: what it has is told by `last`.
    """
    found = []
    for number, count in sorted(ledgers):
        if number == last.ledger:
            found.append(EntryRange(number, 0, last.entry + 1))
        elif number < last.ledger:
            found.append(EntryRange(number, 0, count))
    return tuple(each for each in found if each.entries > 0)


def since(known: Iterable[EntryRange], first: Position) -> tuple[EntryRange, ...]:
    """What of them comes at or after `first`."""
    found = []
    for each in known:
        if each.ledger == first.ledger and first.entry > each.first:
            found.append(each.cut(min(first.entry - each.first, each.entries))[1])
        elif each.ledger >= first.ledger:
            found.append(each)
    return tuple(each for each in found if each.entries > 0)


def until(known: Iterable[EntryRange], end: Position) -> tuple[EntryRange, ...]:
    """What of them comes before `end`."""
    found = []
    for each in known:
        if each.ledger < end.ledger:
            found.append(each)
        elif each.ledger == end.ledger and each.first < end.entry:
            found.append(each.cut(min(end.entry - each.first, each.entries))[0])
    return tuple(found)


def before(known: Sequence[EntryRange], position: Position, entries: int) -> Position | None:
    """The entry that many before `position`, or the first one; None where none comes before it."""
    earlier = [each for each in known if (each.ledger, each.first) < position]
    for each in reversed(earlier):
        last = each.last if each.ledger < position.ledger else min(each.last, position.entry - 1)
        count = last - each.first + 1
        if entries <= count:
            return Position(each.ledger, last - entries + 1)
        entries -= count
    return Position(earlier[0].ledger, earlier[0].first) if earlier else None


def cut(known: Sequence[EntryRange], entries: int) -> tuple[tuple[EntryRange, ...], ...]:
    """Pieces of that many entries, the last one of at most so many; each entry is in one of them."""
    pieces: list[tuple[EntryRange, ...]] = []
    piece: list[EntryRange] = []
    room = entries
    for each in known:
        rest = each
        while rest.entries > room:
            head, rest = rest.cut(room)
            pieces.append((*piece, head) if head.entries else tuple(piece))
            piece, room = [], entries
        piece.append(rest)
        room -= rest.entries
    if piece:
        pieces.append(tuple(piece))
    return tuple(pieces)
