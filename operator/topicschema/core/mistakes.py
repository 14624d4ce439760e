"""Mistakes in a schema: the same finding in comparison with any number of versions, with the remedy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.strategies import Direction

_RUN: Final = 3
"""Minimum number of consecutive versions that are written as a range."""
_OWNER: Final = "ask the owner of the policy"
_REMEDIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "TYPE_CHANGED": "keep the type, or use another topic",
        "PART_TYPE_CHANGED": "keep the type, or use another topic",
        "ROOT_MESSAGE_CHANGED": "keep the message's name and its package, or use another topic",
        "TYPE_MISMATCH": "keep the earlier type, or put the new one into a field of another name with a default",
        "FIXED_SIZE": "keep the size, or put the new one into a field of another name with a default",
        "NO_UNION_BRANCH": "keep that branch in the union",
        "UNION_BRANCH_UNREADABLE": "keep a union that has that branch",
        "INVALID_DEFAULT": "make the default fit, or remove it",
        "RECURSIVE_DEFAULT": "start the union with null",
        "INVALID_WRITER_DEFAULT": "remove the aliases",
        "REQUIRED_NOT_WRITTEN": "add no required field, and keep one until no reader requires it",
        "ONEOF_CHANGED": "keep the oneofs, and put only new fields into new ones",
        "ALWAYS_INCOMPATIBLE": f"keep the schema, or {_OWNER} for another strategy",
        "TYPE_NOT_ALLOWED": f"use an allowed type, or {_OWNER}",
        "STRATEGY_NOT_ALLOWED": f"remove it, or {_OWNER}",
        "DELETION_POLICY_NOT_ALLOWED": f"remove it, or {_OWNER}",
        "VALIDATION_MODE_RELAXED": f"remove it, or {_OWNER}",
        "VALIDATION_TOLERANCE_RELAXED": f"remove it, or {_OWNER}",
        "VALIDATION_SAMPLE_RELAXED": f"remove it, or {_OWNER}",
        "SCHEMA_TOO_LARGE": f"make it smaller, or {_OWNER}",
        "PROPERTY_MISSING": "add it",
    }
)
"""Remedies for rules whose messages have none."""
_REMEDIES_OF_WRITERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "NO_UNION_BRANCH": "use only types that this union has",
        "UNION_BRANCH_UNREADABLE": "leave that branch out of the union",
    }
)
"""Remedies if an earlier version reads messages of the candidate, where they differ."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Findings that differ only in the version. `newest` is the one about the newest version.

    `versions` are all these versions, oldest first. None is an accepted edit that is not registered, or no version.
    """

    newest: Incompatibility
    versions: tuple[int | None, ...]

    @property
    def registered(self) -> list[int]:
        """The numbers of the registered versions."""
        return [each for each in self.versions if each is not None]

    @property
    def remedy(self) -> str:
        """The remedy, or "" if the message has it, as those of a webhook do."""
        remedy = _REMEDIES.get(self.newest.rule, "")
        to_writers = _REMEDIES_OF_WRITERS.get(self.newest.rule, remedy)
        if remedy in self.newest.message or to_writers in self.newest.message:
            return ""
        return to_writers if self.newest.direction is Direction.FORWARD else remedy


def mistakes_of(newest_first: Iterable[Incompatibility]) -> list[Mistake]:
    """Return the mistakes, in the order of their first findings."""
    groups: dict[Incompatibility, list[Incompatibility]] = {}
    for each in newest_first:
        text = each.message.replace(Predecessor.name_of(each.schema_version), "")
        groups.setdefault(replace(each, message=text, schema_version=None), []).append(each)
    return [Mistake(group[0], _oldest_first(each.schema_version for each in group)) for group in groups.values()]


def _oldest_first(versions: Iterable[int | None]) -> tuple[int | None, ...]:
    return tuple(sorted(set(versions), key=lambda each: (each is None, each or 0)))


def versions_in_words(numbers: Sequence[int]) -> str:
    """Return `version 3`, `versions 0 and 2`, or `versions 0 to 4 and 6`. The numbers ascend."""
    if len(numbers) == 1:
        return f"version {numbers[0]}"
    runs: list[list[int]] = []
    for each in numbers:
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) >= _RUN else map(str, run)
    *others, last = parts
    return f"versions {', '.join(others)} and {last}" if others else f"versions {last}"
