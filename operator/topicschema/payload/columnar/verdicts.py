"""Verdicts on a column of payloads, and the interface of validators."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import Reasons

MAX_PATHS: Final = 1_000
"""Maximum number of paths that a validator distinguishes. Later ones are `ELSEWHERE`."""

ELSEWHERE: Final = "$…"


class Loss(NamedTuple):
    """A part of a message that a reader does not get, though it can read the message.

    `kind` is FIELD_DROPPED, PRECISION_LOST, SYMBOL_REPLACED or another one of docs/validation-reasons.md.
    """

    kind: str
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """The first fault of each payload of a column, in the order of reading, tolerated or not.

    `reasons` are numbers of `columnar.reasons`, 0 if the payload fits. `paths` index its paths, 0 (`$`) if it fits.
    `offsets` are bytes of the payload, from 0, or -1 if it fits.

    `losses` counts, for each of the validator's losses, the fitting messages that have it (of a KEY_VALUE, those whose
    part fits).
    """

    reasons: NDArray[np.int16]
    paths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    losses: NDArray[np.int64]


class Validator(Protocol):
    """Validator of the payloads of one writer for one reader, for many columns in one thread.

    `paths[0]` is `$`. A path leads through the schema's fields, `$.lines[].price`, without the number of an array's
    item or a map's entry (`{}`), because figures are counted by path. Paths and losses may grow during a validation
    (never beyond MAX_PATHS). Read them after it; an entry retains its index.

    A reason that a Java consumer always tolerates is a finding all the same.
    """

    @property
    def reasons(self) -> Reasons:
        """The possible reasons, rules of docs/validation-reasons.md, and whether a Java consumer tolerates them."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths."""

    @property
    def losses(self) -> Sequence[Loss]:
        """The losses."""

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts, for any bytes. `keys` are those of a SEPARATED KEY_VALUE."""
