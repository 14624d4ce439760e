"""Shared parts of validators: lists of paths and losses, and validators that examine some messages, or none."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.column import Column, Flags, Offsets, RowSelection
from topicschema.payload.columnar.reasons import NUMBERS, Reasons
from topicschema.payload.columnar.verdicts import ELSEWHERE, MAX_PATHS, Loss, Validator, Verdicts
from topicschema.payload.finding import PayloadFinding

_NUMBERED: Final = re.compile(r"\[\d+\]|\{\d+\}")

Entry = TypeVar("Entry", bound=Hashable)


class InternTable(Generic[Entry]):
    """List that grows, whose entries retain their index. `beyond` represents all entries after the first `most`."""

    __slots__ = ("_beyond", "_most", "_numbers", "listed")

    def __init__(self, entries: Iterable[Entry], beyond: Entry, most: int = MAX_PATHS) -> None:
        self.listed = list(entries)
        self._numbers = {each: index for index, each in enumerate(self.listed)}
        self._beyond = beyond
        self._most = most

    def number(self, entry: Entry) -> int:
        """Return the entry's index. A new entry is added."""
        index = self._numbers.get(entry)
        if index is not None:
            return index
        if len(self.listed) >= self._most and entry != self._beyond:
            return self.number(self._beyond)
        self._numbers[entry] = len(self.listed)
        self.listed.append(entry)
        return len(self.listed) - 1


def in_schema(path: str) -> str:
    """Return a finding's path without indexes of items and entries: `$.lines[2].price` is `$.lines[].price`."""
    return _NUMBERED.sub(lambda match: match.group()[0] + match.group()[-1], path)


class FirstFinding(NamedTuple):
    """The first fault of a payload."""

    reason: str
    path: str
    offset: int

    @classmethod
    def first(cls, findings: Sequence[PayloadFinding]) -> "FirstFinding | None":
        """Return the first of the findings, or None."""
        return cls(findings[0].rule, in_schema(findings[0].path), findings[0].offset) if findings else None


class VerdictBuilder:
    """Builder of the verdicts on a column. At first all messages fit."""

    __slots__ = ("_offsets", "_paths", "_reasons")

    def __init__(self, messages: int) -> None:
        self._reasons = np.zeros(messages, np.int16)
        self._paths = np.zeros(messages, np.int32)
        self._offsets = np.full(messages, -1, np.int64)

    def put(
        self,
        row: int | RowSelection,
        reason: int | NDArray[np.int16],
        path: int | NDArray[np.int32],
        offset: int | Offsets,
    ) -> None:
        """Set the fault of one message, or of several."""
        self._reasons[row] = reason
        self._paths[row] = path
        self._offsets[row] = offset

    def fits(self, rows: Offsets) -> Flags:
        """Return a flag for each message in `rows` that has no fault so far."""
        fitting: Flags = self._reasons[rows] == 0
        return fitting

    def verdicts(self, losses: Offsets | None = None) -> Verdicts:
        """Return the verdicts."""
        return Verdicts(self._reasons, self._paths, self._offsets, np.zeros(0, np.int64) if losses is None else losses)


class BaseValidator(ABC):
    """Validator with lists of paths and losses. A null message is valid for every Java consumer and schema."""

    def __init__(self, reasons: Reasons) -> None:
        self.reasons = reasons
        self._paths = InternTable(["$"], ELSEWHERE)
        self._losses: InternTable[Loss] = InternTable([], Loss("OTHER", "$"))

    @property
    def paths(self) -> Sequence[str]:
        """The paths."""
        return self._paths.listed

    @property
    def losses(self) -> Sequence[Loss]:
        """The losses."""
        return self._losses.listed

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts."""
        del keys
        if payloads.nulls is None:
            return self._verdicts(payloads)
        rows = np.flatnonzero(~payloads.nulls)
        verdicts = self._verdicts(payloads.only(rows))
        builder = VerdictBuilder(len(payloads))
        builder.put(rows, verdicts.reasons, verdicts.paths, verdicts.offsets)
        return builder.verdicts(verdicts.losses)

    @abstractmethod
    def _verdicts(self, payloads: Column) -> Verdicts:
        """Return the verdicts on payloads of which none is null."""

    def _counted(self, losses: Counter[int]) -> Offsets:
        """Return the number of messages with each loss."""
        return np.array([losses[index] for index in range(len(self.losses))], np.int64)

    def _note(self, builder: VerdictBuilder, row: int, finding: FirstFinding | None) -> None:
        """Set a message's fault in the builder, if there is one."""
        if finding is not None:
            builder.put(row, NUMBERS[finding.reason], self._paths.number(finding.path), finding.offset)


class PrefilteredValidator(BaseValidator):
    """Validator that marks messages which surely fit all at once, and examines each of the rest."""

    def __init__(
        self, reasons: Reasons, fitting: Callable[[Column], Flags], examine: Callable[[bytes], FirstFinding | None]
    ) -> None:
        super().__init__(reasons)
        self._fitting = fitting
        self._examine = examine

    def _verdicts(self, payloads: Column) -> Verdicts:
        builder = VerdictBuilder(len(payloads))
        for row in np.flatnonzero(~self._fitting(payloads)).tolist():
            self._note(builder, row, self._examine(payloads[row] or b""))
        return builder.verdicts()


class ConstantFailure(BaseValidator):
    """Validator with the same fault for every message."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__({reason: False})
        self._number = NUMBERS[reason]
        self._offset = offset

    def _verdicts(self, payloads: Column) -> Verdicts:
        builder = VerdictBuilder(len(payloads))
        builder.put(slice(None), self._number, 0, self._offset)
        return builder.verdicts()


class SkippingValidator:
    """Validator of messages after bytes of another system. A null message has none before it."""

    def __init__(self, within: Validator, skipped: int) -> None:
        self._within = within
        self._skipped = skipped

    @property
    def reasons(self) -> Reasons:
        """The reasons."""
        return self._within.reasons

    @property
    def paths(self) -> Sequence[str]:
        """The paths."""
        return self._within.paths

    @property
    def losses(self) -> Sequence[Loss]:
        """The losses."""
        return self._within.losses

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts. Offsets are those of the payloads."""
        del keys
        nulls = np.zeros(len(payloads), np.bool_) if payloads.nulls is None else payloads.nulls
        is_short = ~nulls & (payloads.lengths < self._skipped)
        rows = np.flatnonzero(~is_short)
        starts = payloads.starts[rows] + np.where(nulls[rows], 0, self._skipped)
        verdicts = self._within.validate(Column(payloads.values, starts, payloads.ends[rows], nulls[rows]))
        builder = VerdictBuilder(len(payloads))
        builder.put(is_short, NUMBERS["TRUNCATED"], 0, payloads.lengths[is_short])
        offsets = np.where(verdicts.reasons != 0, verdicts.offsets + self._skipped, verdicts.offsets)
        builder.put(rows, verdicts.reasons, verdicts.paths, offsets)
        return builder.verdicts(verdicts.losses)


def anything(payloads: Column) -> Flags:
    """Mark all payloads as fitting."""
    return np.ones(len(payloads), np.bool_)
