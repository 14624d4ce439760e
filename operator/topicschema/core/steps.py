"""The work that one judgment may take, counted in steps and not by time, so that every machine gives the same answer.

A step is the work of comparing two fields of primitive types: some tenths of a microsecond. What allocates memory
counts as several steps, so that the limit bounds the memory, too.
"""

from typing import Final

MOST_STEPS: Final = 3_000_000
"""The steps for one candidate and all versions that it is compared with."""

PER_FINDING: Final = 20
"""The steps that one finding counts as, for its words."""

PER_TRY: Final = 2
"""The steps that it counts as to look at one branch of a union for a record."""

PER_PAIR: Final = 30
"""The steps that a pair of types counts as, for what is remembered of it."""


class TooComplexError(Exception):
    """The comparison needs more steps than are left."""


class Steps:
    """The steps that are left."""

    __slots__ = ("_left", "most", "readable_pairs", "union_records")

    def __init__(self, most: int = MOST_STEPS) -> None:
        self.most = most
        self.union_records: dict[object, object] = {}
        """The index of each union's records, for all comparisons that share these steps."""
        self.readable_pairs: set[tuple[bytes, object]] = set()
        """Writers' digests and the readers that can read them: in a long history the same two types meet often."""
        self._left = most

    def take(self, count: int = 1) -> None:
        """Take so many steps; TooComplexError if fewer are left, and then each time."""
        self._left -= count
        if self._left < 0:
            raise TooComplexError

    @property
    def taken(self) -> int:
        """The number of steps taken so far."""
        return self.most - self._left
