"""The limit of the work of one judgment, counted in steps and not in time, so that every machine has the same result.

A step is the comparison of two fields of primitive types: some tenths of a microsecond. What allocates memory counts as
several steps, so that the limit bounds the memory, too. Findings are listed up to a limit.
"""

from collections.abc import Iterable
from typing import Final, Generic, Protocol, TypeVar

MOST_STEPS: Final = 2_500_000
"""The steps for one candidate and all versions that it is compared with."""

PER_FINDING: Final = 20
"""The steps of one finding, for its text."""

PER_TRY: Final = 2
"""The steps of trying one branch of a union for a record."""

PER_PAIR: Final = 30
"""The steps of a pair of types, for what is cached about it."""

PER_DEFAULT: Final = 5
"""The steps of a default that is no leaf, and of a record that a reader skips."""

MOST_FINDINGS: Final = 1_000
"""The maximum number of reasons that one judgment lists, and of risks: more than any client displays."""


class TooComplexError(Exception):
    """The comparison needs more steps than are left."""


class Steps:
    """The remaining steps."""

    __slots__ = ("_left", "most", "union_records")

    def __init__(self, most: int = MOST_STEPS) -> None:
        self.most = most
        self.union_records: dict[object, object] = {}
        """The index of each union's records, for all comparisons that share these steps."""
        self._left = most

    def take(self, count: int = 1) -> None:
        """Take `count` steps. Raises TooComplexError if fewer are left, and at each later call."""
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
    """Findings in order. Beyond MOST_FINDINGS, it lists only the first of each rule and counts the others."""

    def __init__(self, findings: Iterable[F] = ()) -> None:
        self.listed: list[F] = []
        self.left_out = 0
        self._rules: set[str] = set()
        self += findings

    def __iadd__(self, findings: "Iterable[F] | Listing[F]") -> "Listing[F]":
        """Add the findings."""
        if isinstance(findings, Listing):
            self.left_out += findings.left_out
            findings = findings.listed
        for each in findings:
            if len(self.listed) < MOST_FINDINGS or each.rule not in self._rules:
                self.listed.append(each)
                self._rules.add(each.rule)
            else:
                self.left_out += 1
        return self
