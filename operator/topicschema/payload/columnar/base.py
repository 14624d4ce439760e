"""The ways of judging that several types share: a look at every message that is not known to fit, or none at all."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.column import Column, Flags, Offsets
from topicschema.payload.columnar.lists import InternTable, in_schema, paths
from topicschema.payload.columnar.verdicts import Loss, Validator, Verdicts
from topicschema.payload.finding import Finding

Reasons = Mapping[str, bool]
"""What may be wrong, and whether a Java consumer always reads on over it."""

Reasoned = NDArray[np.int16]
Placed = NDArray[np.int32]

UNKNOWN_REASON: Final = "CANNOT_READ"
_MOST_REASONS: Final = 1_000


class FirstFinding(NamedTuple):
    """The first thing that is wrong with a payload."""

    reason: str
    path: str
    offset: int

    @classmethod
    def first(cls, found: Sequence[Finding]) -> "FirstFinding | None":
        """That of what a reading found; None where it found nothing."""
        return cls(found[0].rule, in_schema(found[0].path), found[0].offset) if found else None


class VerdictBuilder:
    """The verdicts on a column while they are found: at first all fit."""

    __slots__ = ("_offsets", "_paths", "_reasons")

    def __init__(self, messages: int) -> None:
        self._reasons = np.zeros(messages, np.int16)
        self._paths = np.zeros(messages, np.int32)
        self._offsets = np.full(messages, -1, np.int64)

    def put(self, row: int | Offsets, reason: int | Reasoned, path: int | Placed, offset: int | Offsets) -> None:
        """What is wrong with a message, or with several."""
        self._reasons[row] = reason
        self._paths[row] = path
        self._offsets[row] = offset

    def put_all(self, rows: Offsets, verdicts: Verdicts) -> None:
        """The verdicts on the messages in `rows`."""
        self._reasons[rows] = verdicts.reasons
        self._paths[rows] = verdicts.paths
        self._offsets[rows] = verdicts.offsets

    def fits(self, rows: Offsets) -> Flags:
        """Which of the messages in `rows` have nothing wrong so far."""
        fitting: Flags = self._reasons[rows] == 0
        return fitting

    def verdicts(self, losses: Offsets | None = None) -> Verdicts:
        """What it holds, as verdicts."""
        return Verdicts(self._reasons, self._paths, self._offsets, np.zeros(0, np.int64) if losses is None else losses)


class BaseValidator:
    """A validator's three lists."""

    def __init__(self, known: Reasons) -> None:
        self._reasons = InternTable(["", *known], UNKNOWN_REASON, _MOST_REASONS)
        self._paths = paths()
        self._losses: InternTable[Loss] = InternTable([], Loss("OTHER", "$"))
        self.tolerated = frozenset(reason for reason, is_tolerated in known.items() if is_tolerated)

    @property
    def reasons(self) -> Sequence[str]:
        """What may be wrong."""
        return self._reasons.listed

    @property
    def paths(self) -> Sequence[str]:
        """Where."""
        return self._paths.listed

    @property
    def losses(self) -> Sequence[Loss]:
        """What may get lost."""
        return self._losses.listed

    def note(self, builder: VerdictBuilder, row: int, seen: FirstFinding | None) -> None:
        """Puts what was seen in a message on the builder."""
        if seen is not None:
            builder.put(row, self._reasons.number(seen.reason), self._paths.number(seen.path), seen.offset)


class PrefilteredValidator(BaseValidator):
    """Judges by what surely fits, told for all at once, and by a look at each of the rest."""

    def __init__(
        self, known: Reasons, fitting: Callable[[Column], Flags], look: Callable[[bytes], FirstFinding | None]
    ) -> None:
        super().__init__(known)
        self._fitting = fitting
        self._look = look

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """The verdicts."""
        del keys
        builder = VerdictBuilder(len(payloads))
        for row in np.flatnonzero(~self._fitting(payloads)).tolist():
            self.note(builder, row, self._look(payloads[row] or b""))
        return builder.verdicts()


class ConstantFailure(BaseValidator):
    """Says one thing of every message, whatever is in it."""

    def __init__(self, reason: str) -> None:
        super().__init__({reason: False})

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """The verdicts."""
        del keys
        builder = VerdictBuilder(len(payloads))
        builder.put(np.arange(len(payloads)), 1, 0, 0)
        return builder.verdicts()


class NullPassThrough:
    """Judges the messages that have a payload; what is null is null to every Java consumer, whatever the schema."""

    def __init__(self, inner: Validator) -> None:
        self._inner = inner

    @property
    def reasons(self) -> Sequence[str]:
        """What may be wrong."""
        return self._inner.reasons

    @property
    def paths(self) -> Sequence[str]:
        """Where."""
        return self._inner.paths

    @property
    def losses(self) -> Sequence[Loss]:
        """What may get lost."""
        return self._inner.losses

    @property
    def tolerated(self) -> frozenset[str]:
        """The reasons over which a Java consumer reads on."""
        return self._inner.tolerated

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """The verdicts."""
        if payloads.nulls is None:
            return self._inner.validate(payloads, keys)
        rows = np.flatnonzero(~payloads.nulls)
        verdicts = self._inner.validate(payloads.only(rows), keys)
        builder = VerdictBuilder(len(payloads))
        builder.put_all(rows, verdicts)
        return builder.verdicts(verdicts.losses)


def anything(payloads: Column) -> Flags:
    """That all fit."""
    return np.ones(len(payloads), np.bool_)


def nothing(payloads: Column) -> Flags:
    """That none is known to fit."""
    return np.zeros(len(payloads), np.bool_)
