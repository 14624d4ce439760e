"""The work that one judgment may take, counted in steps and not by time, so that every machine gives the same answer.

A step is the work of comparing two fields of primitive types: some tenths of a microsecond. What allocates memory
counts as several steps, so that the limit bounds the memory, too. What is found is listed up to a limit.
"""

from collections.abc import Iterable
from typing import Final, Generic, Protocol, TypeVar

MOST_STEPS: Final = 2_500_000
"""The steps for one candidate and all versions that it is compared with."""

PER_FINDING: Final = 20
"""The steps that one finding counts as, for its words."""

PER_TRY: Final = 2
"""The steps that it counts as to look at one branch of a union for a record."""

PER_PAIR: Final = 30
"""The steps that a pair of types counts as, for what is remembered of it."""

PER_DEFAULT: Final = 5
"""The steps that a default counts as that is no leaf, and a record that a reader skips."""

MOST_FINDINGS: Final = 1_000
"""The reasons that one judgment lists, and the risks: more than anybody is shown."""


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


class _Finding(Protocol):
    @property
    def rule(self) -> str: ...


F = TypeVar("F", bound=_Finding)


class Listing(Generic[F]):
    """Findings in order; beyond MOST_FINDINGS only the first of each rule, the others are counted."""

    def __init__(self, found: Iterable[F] = ()) -> None:
        self.listed: list[F] = []
        self.left_out = 0
        self._rules: set[str] = set()
        self += found

    def __iadd__(self, found: "Iterable[F] | Listing[F]") -> "Listing[F]":
        """Add what is found."""
        if isinstance(found, Listing):
            self.left_out += found.left_out
            found = found.listed
        for each in found:
            if len(self.listed) < MOST_FINDINGS or each.rule not in self._rules:
                self.listed.append(each)
                self._rules.add(each.rule)
            else:
                self.left_out += 1
        return self
