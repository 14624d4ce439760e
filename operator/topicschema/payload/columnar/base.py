"""Shared validators: an examination of each message that is not known to fit, or none at all."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.column import Column, Flags, Offsets
from topicschema.payload.columnar.lists import InternTable, in_schema, paths
from topicschema.payload.columnar.verdicts import Loss, Validator, Verdicts
from topicschema.payload.finding import Finding

Reasons = Mapping[str, bool]
"""Reasons of a validator, and whether a Java consumer always tolerates them."""

Reasoned = NDArray[np.int16]
Placed = NDArray[np.int32]

UNKNOWN_REASON: Final = "CANNOT_READ"
_MOST_REASONS: Final = 1_000


class FirstFinding(NamedTuple):
    """The first fault of a payload."""

    reason: str
    path: str
    offset: int

    @classmethod
    def first(cls, findings: Sequence[Finding]) -> "FirstFinding | None":
        """Return the first of the findings, or None."""
        return cls(findings[0].rule, in_schema(findings[0].path), findings[0].offset) if findings else None


class VerdictBuilder:
    """Builder of the verdicts on a column. At first all messages fit."""

    __slots__ = ("_offsets", "_paths", "_reasons")

    def __init__(self, messages: int) -> None:
        self._reasons = np.zeros(messages, np.int16)
        self._paths = np.zeros(messages, np.int32)
        self._offsets = np.full(messages, -1, np.int64)

    def put(self, row: int | Offsets, reason: int | Reasoned, path: int | Placed, offset: int | Offsets) -> None:
        """Set the fault of one message, or of several."""
        self._reasons[row] = reason
        self._paths[row] = path
        self._offsets[row] = offset

    def put_all(self, rows: Offsets, verdicts: Verdicts) -> None:
        """Set the verdicts on the messages in `rows`."""
        self._reasons[rows] = verdicts.reasons
        self._paths[rows] = verdicts.paths
        self._offsets[rows] = verdicts.offsets

    def fits(self, rows: Offsets) -> Flags:
        """Return a flag for each message in `rows` that has no fault so far."""
        fitting: Flags = self._reasons[rows] == 0
        return fitting

    def verdicts(self, losses: Offsets | None = None) -> Verdicts:
        """Return the verdicts."""
        return Verdicts(self._reasons, self._paths, self._offsets, np.zeros(0, np.int64) if losses is None else losses)


class BaseValidator:
    """Lists of a validator: reasons, paths and losses."""

    def __init__(self, known: Reasons) -> None:
        self._reasons = InternTable(["", *known], UNKNOWN_REASON, _MOST_REASONS)
        self._paths = paths()
        self._losses: InternTable[Loss] = InternTable([], Loss("OTHER", "$"))
        self.tolerated = frozenset(reason for reason, is_tolerated in known.items() if is_tolerated)

    @property
    def reasons(self) -> Sequence[str]:
        """The reasons."""
        return self._reasons.listed

    @property
    def paths(self) -> Sequence[str]:
        """The paths."""
        return self._paths.listed

    @property
    def losses(self) -> Sequence[Loss]:
        """The losses."""
        return self._losses.listed

    def note(self, builder: VerdictBuilder, row: int, finding: FirstFinding | None) -> None:
        """Set a message's fault in the builder, if there is one."""
        if finding is not None:
            builder.put(row, self._reasons.number(finding.reason), self._paths.number(finding.path), finding.offset)


class PrefilteredValidator(BaseValidator):
    """Validator that marks messages which surely fit all at once, and examines each of the rest."""

    def __init__(
        self, known: Reasons, fitting: Callable[[Column], Flags], examine: Callable[[bytes], FirstFinding | None]
    ) -> None:
        super().__init__(known)
        self._fitting = fitting
        self._examine = examine

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts."""
        del keys
        builder = VerdictBuilder(len(payloads))
        for row in np.flatnonzero(~self._fitting(payloads)).tolist():
            self.note(builder, row, self._examine(payloads[row] or b""))
        return builder.verdicts()


class ConstantFailure(BaseValidator):
    """Validator with the same fault for every message."""

    def __init__(self, reason: str) -> None:
        super().__init__({reason: False})

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts."""
        del keys
        builder = VerdictBuilder(len(payloads))
        builder.put(np.arange(len(payloads)), 1, 0, 0)
        return builder.verdicts()


class NullPassThrough:
    """Validator of the messages that have a payload. A null is valid for every Java consumer and schema."""

    def __init__(self, inner: Validator) -> None:
        self._inner = inner

    @property
    def reasons(self) -> Sequence[str]:
        """The reasons."""
        return self._inner.reasons

    @property
    def paths(self) -> Sequence[str]:
        """The paths."""
        return self._inner.paths

    @property
    def losses(self) -> Sequence[Loss]:
        """The losses."""
        return self._inner.losses

    @property
    def tolerated(self) -> frozenset[str]:
        """The reasons that a Java consumer tolerates."""
        return self._inner.tolerated

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts."""
        if payloads.nulls is None:
            return self._inner.validate(payloads, keys)
        rows = np.flatnonzero(~payloads.nulls)
        verdicts = self._inner.validate(payloads.only(rows), keys)
        builder = VerdictBuilder(len(payloads))
        builder.put_all(rows, verdicts)
        return builder.verdicts(verdicts.losses)


def anything(payloads: Column) -> Flags:
    """Mark all payloads as fitting."""
    return np.ones(len(payloads), np.bool_)


def nothing(payloads: Column) -> Flags:
    """Mark no payload as fitting."""
    return np.zeros(len(payloads), np.bool_)
