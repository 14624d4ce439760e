"""The spans of entries: each entry is in exactly one, whatever their size."""

from hypothesis import given
from hypothesis import strategies as st

from topicschema.validation.sources.pulsar.ranges import EntryRange, Position, before, cut, entry_ranges, since, until

LEDGERS = st.dictionaries(st.integers(0, 50), st.integers(0, 9), min_size=1, max_size=6)


def _entries(known: tuple[EntryRange, ...]) -> list[Position]:
    return [Position(each.ledger, each.first + number) for each in known for number in range(each.entries)]


@given(LEDGERS, st.integers(1, 12))
def test_every_entry_is_in_one_piece_and_all_pieces_but_the_last_are_of_one_size(
    ledgers: dict[int, int], size: int
) -> None:
    known = entry_ranges(ledgers.items(), Position(max(ledgers), ledgers[max(ledgers)] - 1))
    pieces = cut(known, size)
    assert [each for piece in pieces for each in _entries(piece)] == _entries(known)
    assert all(len(_entries(piece)) == size for piece in pieces[:-1])
    assert all(entry_range.entries > 0 for piece in pieces for entry_range in piece)


@given(LEDGERS, st.integers(0, 50), st.integers(0, 9))
def test_a_position_splits_the_entries_in_two(ledgers: dict[int, int], ledger: int, entry: int) -> None:
    known = entry_ranges(ledgers.items(), Position(max(ledgers), ledgers[max(ledgers)] - 1))
    at = Position(ledger, entry)
    assert _entries(until(known, at)) == [each for each in _entries(known) if each < at]
    assert _entries(since(known, at)) == [each for each in _entries(known) if each >= at]


@given(LEDGERS, st.integers(1, 12), st.integers(0, 40))
def test_a_number_of_entries_before_a_position_is_counted_over_ledgers(
    ledgers: dict[int, int], back: int, number: int
) -> None:
    known = entry_ranges(ledgers.items(), Position(max(ledgers), ledgers[max(ledgers)] - 1))
    entries = _entries(known)
    if not entries:
        return
    at = number % len(entries)
    start = before(known, entries[at], back)
    assert start == (entries[max(0, at - back)] if at else None)


def test_the_ledger_that_is_being_written_ends_with_the_last_confirmed_entry() -> None:
    assert entry_ranges([(7, 0), (3, 5), (9, 0)], Position(7, 2)) == (EntryRange(3, 0, 5), EntryRange(7, 0, 3))
    assert entry_ranges([(3, 0)], Position(3, -1)) == ()
