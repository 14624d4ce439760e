"""Checkers that are plugged in, per schema type: what they are given and give, and what becomes of one that fails.

They stand for the classes that a broker names in `schemaRegistryCompatibilityCheckers`. A checker takes the place of
the built-in one for its type; everything around it stays: dedupe, the change of types, ALWAYS_COMPATIBLE and
ALWAYS_INCOMPATIBLE, and the risks. How checkers are found is not told here (docs/checkers.md).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Protocol

from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy

FAILED: Final = "CHECKER_FAILED"
_MOST: Final = 1_000
_LONGEST: Final = 1_000
_LONGEST_ERROR: Final = 200
_RULE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason of a checker's why a schema may not follow.

    `rule` is an id of the checker's own in capital letters (`NAME_TOO_LONG`), `path` a JSON path from `$` into the
    candidate's text. `direction` is None where it is neither or both. `earlier` is the index of the version that the
    candidate does not go with, in the sequence that the checker was given; None where it is none of them.
    """

    rule: str
    message: str
    path: str = "$"
    direction: Direction | None = None
    earlier: int | None = None


class Checker(Protocol):
    """What is plugged in: an object, or a class that is called without arguments to make one."""

    def incompatibilities(
        self, candidate: SchemaInfo, earlier: Sequence[SchemaInfo], strategy: Strategy
    ) -> Iterable[Finding]:
        """Every reason why `candidate` may not follow `earlier`, in the order in which they are to be told.

        All schemas are of the checker's type. `earlier` is what the strategy looks at, oldest first and never empty:
        the latest version, or all since the last deletion. `strategy` is one that has directions. It is called from
        several threads, and must answer the same whenever it is asked the same.
        """


@dataclass(frozen=True, slots=True)
class CustomChecker:
    """A checker with the name that messages have for it."""

    name: str
    checker: Checker

    def ask(self, candidate: SchemaInfo, earlier: Sequence[SchemaInfo], strategy: Strategy) -> list[Finding]:
        """The checker's findings; whatever it does instead of answering is one finding more, CHECKER_FAILED."""
        found: list[Finding] = []
        try:
            for each in islice(self.checker.incompatibilities(candidate, tuple(earlier), strategy), _MOST):
                found.append(self._sound(each, len(earlier)))  # noqa: PERF401  # what precedes a failure is told, too
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # not our code: whatever it raises, SystemExit too, means no
            found.append(self._failed(candidate.type, f"raised {_told(error)}"))
        return found

    def _sound(self, finding: Any, versions: int) -> Finding:
        """The finding in words that say whose it is; TypeError or ValueError where it is none."""
        if not isinstance(finding, Finding):
            raise TypeError(f"a Finding is wanted, not {type(finding).__name__}")
        texts = finding.rule, finding.message, finding.path
        if not all(isinstance(text, str) for text in texts) or not _RULE.fullmatch(finding.rule):
            raise ValueError("a Finding needs a rule in capital letters, a message and a path")
        if not finding.path.startswith("$"):
            raise ValueError("a Finding's path begins with $")
        if not isinstance(finding.direction, Direction | None):
            raise TypeError("a Finding's direction is a Direction or None")
        if not (finding.earlier is None or (type(finding.earlier) is int and 0 <= finding.earlier < versions)):
            raise ValueError(f"a Finding's earlier is None or an index into {versions} versions")
        message = f"{finding.message[:_LONGEST]} ({self.name})"
        return Finding(finding.rule, message, finding.path[:_LONGEST], finding.direction, finding.earlier)

    def _failed(self, kind: SchemaType, what: str) -> Finding:
        message = f"{self.name}, plugged in as the checker of {kind}, {what}; without its answer nothing is admitted"
        return Finding(FAILED, message)


Checkers = Mapping[SchemaType, CustomChecker]
"""By the type whose built-in checker each replaces."""
BUILT_IN: Final[Checkers] = MappingProxyType({})
"""Nothing is plugged in."""


def _told(error: BaseException) -> str:
    name = type(error).__name__[:_LONGEST_ERROR]
    try:
        text = str(error)[:_LONGEST_ERROR]
    except Exception:  # noqa: BLE001  # not our code either
        text = ""
    return f"{name}: {text}" if text else name
