"""The progress of reading a span, over ledgers of which some are deleted."""

import numpy as np
import pytest

from topicschema.validation.sources.pulsar import frames
from topicschema.validation.sources.pulsar.compiled import Table
from topicschema.validation.sources.pulsar.progress import SpanProgress
from topicschema.validation.sources.pulsar.ranges import EntryRange, Position, Span

SPAN = Span("persistent://shop/live/orders", 0, (EntryRange(3, 5, 5), EntryRange(4, 0, 10), EntryRange(4, 10, 10)))
"""Ledger 3 from its entry 5 on, and 4 in two pieces."""


def rows(*places: tuple[int, int]) -> Table:
    table = np.zeros((len(places), frames.WIDTH), np.int64)
    table[:, [frames.LEDGER, frames.ENTRY]] = np.array(places, np.int64).reshape(-1, 2)
    return table


def read(*places: tuple[int, int]) -> SpanProgress:
    progress = SpanProgress(SPAN)
    progress.take(rows(*places))
    return progress


def test_only_rows_of_the_span_that_are_new_follow_and_one_behind_ends_it() -> None:
    progress = read((3, 5), (3, 6))
    new, end = progress.following(rows((3, 6), (3, 7), (4, 0)))
    assert (new[:, [frames.LEDGER, frames.ENTRY]].tolist(), end) == ([[3, 7], [4, 0]], (4, 0))
    assert progress.following(rows((3, 6)))[1] == (3, 6)
    assert progress.following(rows((4, 18), (4, 19)))[1] == SPAN.last
    assert progress.following(rows((5, 0)))[1] == SPAN.last


@pytest.mark.parametrize(
    ("shown", "end", "has_gap"),
    [
        ([(3, 7), (3, 8), (3, 9), (4, 0)], (4, 0), False),
        ([(3, 7), (3, 8), (4, 0)], (4, 0), True),
        ([(3, 7), (3, 8), (3, 9), *((4, entry) for entry in range(12))], (4, 11), False),
        ([(3, 7), (3, 8), (3, 9), *((4, entry) for entry in range(12) if entry != 9)], (4, 11), True),
        ([], (3, 6), False),
        ([], SPAN.last, True),
    ],
)
def test_a_gap_is_where_rows_are_fewer_than_entries(
    shown: list[tuple[int, int]], end: tuple[int, int], *, has_gap: bool
) -> None:
    assert read((3, 5), (3, 6)).has_gap(rows(*shown), Position(*end)) is has_gap


@pytest.mark.parametrize(
    ("mark", "ledgers", "is_skipped"),
    [
        ((4, 1), {3, 4}, True),
        ((3, 6), {3, 4}, False),  # as the reader began
        ((4, -1), {4}, False),  # ledger 3 was removed, and with it the mark moved
        ((3, 9), {4}, False),
        ((4, 0), {4}, True),
    ],
)
def test_entries_before_the_mark_were_skipped_if_their_ledger_exists(
    mark: tuple[int, int], ledgers: set[int], *, is_skipped: bool
) -> None:
    progress = read((3, 5), (3, 6))
    assert progress.is_skipped(rows((4, 2), (4, 3)), Position(*mark), ledgers) is is_skipped


def test_a_row_before_the_mark_was_not_skipped() -> None:
    assert not read((3, 5)).is_skipped(rows((3, 6), (3, 7), (4, 0)), Position(3, 7), {3, 4})


def test_if_the_last_message_is_missing_the_result_of_the_second_reader_counts() -> None:
    for progress, ledgers in ((SpanProgress(SPAN), {3, 4}), (read((3, 5), (3, 9)), {4})):
        results = [progress.is_skipped(rows((4, 2)), Position(4, 1), ledgers) for _ in range(3)]
        assert results == [True, False, False]
    held = read((3, 5), (3, 9))
    assert [held.is_skipped(rows((4, 2)), Position(4, 1), {3, 4}) for _ in range(3)] == [True] * 3


def test_a_reader_begins_with_the_last_received_message() -> None:
    assert SpanProgress(SPAN).resume_position == SPAN.first
    assert read((3, 5), (3, 6)).resume_position == (3, 6)
