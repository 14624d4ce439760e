"""Counts of verdicts: sums over any values are those of a loop over the rows."""

from collections import Counter

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from topicschema.spark import counting

NUMBERS = st.integers(-9, 9) | st.integers(-(1 << 62), 1 << 62)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(0, 5 << 20)), max_size=40))
@example([])
@example([(0, -1, 1 << 62, 3), (0, -1, -1, 4)])
def test_sums_of_rows_with_equal_values(rows: list[tuple[int, ...]]) -> None:
    columns = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
    messages: Counter[tuple[int, ...]] = Counter()
    sizes: Counter[tuple[int, ...]] = Counter()
    for *key, size in rows:
        messages[tuple(key)] += 1
        sizes[tuple(key)] += size
    sums = list(counting.sums(columns, np.array([row[3] for row in rows], np.int64)))
    assert {key: count for key, count, _ in sums} == messages
    assert {key: size for key, _, size in sums} == dict(sizes)
