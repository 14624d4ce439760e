"""Plugged-in checkers of schema types: their interface, and the result if one fails.

They stand for the classes that a broker names in `schemaRegistryCompatibilityCheckers`. A checker replaces the built-in
one of its type. Dedupe, the change of types, ALWAYS_COMPATIBLE, ALWAYS_INCOMPATIBLE and the risks stay the same.
`docs/checkers.md` describes how checkers are loaded.
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
    """One reason of a checker for which a schema is incompatible.

    `rule` is the checker's own id in capital letters (`NAME_TOO_LONG`), `path` a JSON path from `$` into the
    candidate's text. `direction` is None for neither direction or both. `earlier` is the index of the incompatible
    version in the checker's sequence, or None.
    """

    rule: str
    message: str
    path: str = "$"
    direction: Direction | None = None
    earlier: int | None = None


class Checker(Protocol):
    """A checker that is plugged in: an object, or a class that is called without arguments to make one."""

    def incompatibilities(
        self, candidate: SchemaInfo, earlier: Sequence[SchemaInfo], strategy: Strategy
    ) -> Iterable[Finding]:
        """Return every reason why `candidate` is incompatible with `earlier`, in the order in which they are reported.

        All schemas are of the checker's type. `earlier` is what the strategy compares, oldest first and never empty:
        the latest version, or all since the last deletion. `strategy` is one with directions. Several threads call this
        method, and it must be deterministic.
        """


@dataclass(frozen=True, slots=True)
class CustomChecker:
    """A checker and its name in messages."""

    name: str
    checker: Checker

    def check(self, candidate: SchemaInfo, earlier: Sequence[SchemaInfo], strategy: Strategy) -> list[Finding]:
        """Return the checker's findings.

        If the checker raises or returns anything else, the last finding is CHECKER_FAILED.
        """
        findings: list[Finding] = []
        try:
            for each in islice(self.checker.incompatibilities(candidate, tuple(earlier), strategy), _MOST):
                findings.append(self._sound(each, len(earlier)))  # noqa: PERF401  # findings before a failure count
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # not our code: any exception, SystemExit too, means no
            findings.append(self._failed(candidate.type, f"raised {_described(error)}"))
        return findings

    def _sound(self, finding: Any, versions: int) -> Finding:
        """Return the finding with the checker's name in its message.

        Raises TypeError or ValueError if it is not a finding.
        """
        if not isinstance(finding, Finding):
            raise TypeError(f"a Finding is expected, not {type(finding).__name__}")
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
"""Each checker by the type whose built-in checker it replaces."""
BUILT_IN: Final[Checkers] = MappingProxyType({})
"""No plugged-in checkers."""


def _described(error: BaseException) -> str:
    name = type(error).__name__[:_LONGEST_ERROR]
    try:
        text = str(error)[:_LONGEST_ERROR]
    except Exception:  # noqa: BLE001  # not our code either
        text = ""
    return f"{name}: {text}" if text else name
