"""Counts by key in bounded memory, that do not hang on the order in which they are taken.

Where there are too many keys, all become coarser by a step (hours become days, say). The step that a table ends on is
the first at which its keys are few enough, however it was put together: no part has more keys than the whole.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

Key = tuple[Any, ...]
Step = Callable[[Key], Key]
LIMIT: Final = 20_000
ANY: Final = -9
"""A partition or an hour that is told no more."""
DAY: Final = 24
MONTH: Final = 720
"""30 days, in hours."""


class Rollup:
    """The table. `steps` make a key coarser, each what the one before it left."""

    __slots__ = ("_limit", "_steps", "counts", "level")

    def __init__(self, steps: Sequence[Step], limit: int = LIMIT) -> None:
        self._steps = steps
        self._limit = limit
        self.counts: dict[Key, int] = {}
        self.level = 0

    def add(self, key: Key, count: int) -> None:
        """Count so many more of a key that is as fine as keys can be."""
        self._count(self._coarser(key, 0), count)
        self._fit()

    def merge(self, rows: Iterable[tuple[Key, int]], level: int) -> None:
        """Count all of another table of the same steps and limit."""
        while self.level < level:
            self._step()
        for key, count in rows:
            self._count(self._coarser(key, level), count)
        self._fit()

    def _coarser(self, key: Key, level: int) -> Key:
        for step in self._steps[level : self.level]:
            key = step(key)
        return key

    def _count(self, key: Key, count: int) -> None:
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


def hours_of(position: int, width: int) -> Step:
    """The step that takes hours together; those that are none stay."""
    return lambda key: _with(key, position, key[position] if key[position] < 0 else key[position] // width * width)


def dropped(position: int, instead: Any) -> Step:
    """The step that tells a member of the key no more."""
    return lambda key: _with(key, position, instead)


def _with(key: Key, position: int, value: Any) -> Key:
    return (*key[:position], value, *key[position + 1 :])
