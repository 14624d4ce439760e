"""Counts by key in bounded memory, independent of the order of the messages.

If there are too many keys, all of them become coarser by one step, for example from hours to days. A table ends at the
first step with few enough keys, in any order of merging, because no part has more keys than the whole.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

CounterKey = tuple[Any, ...]
KeyStep = Callable[[CounterKey], CounterKey]
LIMIT: Final = 20_000
ANY: Final = -9
"""Value of a partition, a writer or an hour that the table no longer distinguishes."""
DAY: Final = 24
MONTH: Final = 720
"""30 days, in hours."""


class Rollup:
    """Table of counts. Each of the `steps` makes the keys of the previous one coarser."""

    __slots__ = ("_limit", "_steps", "counts", "level")

    def __init__(self, steps: Sequence[KeyStep], limit: int = LIMIT) -> None:
        self._steps = steps
        self._limit = limit
        self.counts: dict[CounterKey, int] = {}
        self.level = 0

    def add(self, key: CounterKey, count: int) -> None:
        """Add a count for a key of the finest level."""
        self._count(self._coarser(key, 0), count)
        self._fit()

    def merge(self, rows: Iterable[tuple[CounterKey, int]], level: int) -> None:
        """Add all counts of another table with the same steps and limit."""
        while self.level < level:
            self._step()
        for key, count in rows:
            self._count(self._coarser(key, level), count)
        self._fit()

    def _coarser(self, key: CounterKey, level: int) -> CounterKey:
        for step in self._steps[level : self.level]:
            key = step(key)
        return key

    def _count(self, key: CounterKey, count: int) -> None:
        self.counts[key] = self.counts.get(key, 0) + count

    def _fit(self) -> None:
        while len(self.counts) > self._limit and self.level < len(self._steps):
            self._step()

    def _step(self) -> None:
        finer, self.counts = self.counts, {}
        step = self._steps[self.level]
        self.level += 1
        for key, count in finer.items():
            self._count(step(key), count)


def hours_of(position: int, width: int) -> KeyStep:
    """Return the step that joins hours to periods of `width` hours. Negative hours stay."""
    return lambda key: _with(key, position, key[position] if key[position] < 0 else key[position] // width * width)


def dropped(position: int, instead: Any) -> KeyStep:
    """Return the step that replaces the part of the key at `position` by a constant."""
    return lambda key: _with(key, position, instead)


def _with(key: CounterKey, position: int, value: Any) -> CounterKey:
    return (*key[:position], value, *key[position + 1 :])
