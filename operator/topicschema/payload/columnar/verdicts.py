"""What a validator says of a column of payloads, and what a validator is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.column import Column

MAX_PATHS: Final = 1_000
"""How many paths a validator tells apart that finds them while it validators; what comes after them is `ELSEWHERE`."""

ELSEWHERE: Final = "$…"


class Loss(NamedTuple):
    """What a reader does not get of what a message has, though it can read it.

    `kind` is FIELD_DROPPED, PRECISION_LOST, SYMBOL_REPLACED or another one of docs/validation-reasons.md.
    """

    kind: str
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """The first error of each payload of a column, in the order of reading, tolerated or not.

    `reasons` index the validator's reasons, 0 where the payload fits; `paths` its paths, 0 (`$`) where it fits;
    `offsets` are bytes of the payload, from 0, -1 where it fits. `losses` counts for each of the validator's losses
    the messages that have it, of those alone that fit (of a KEY_VALUE, whose part fits).
    """

    reasons: NDArray[np.int16]
    paths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    losses: NDArray[np.int64]


class Validator(Protocol):
    """Judges the payloads of one writer by one reader; for many columns, and one thread at a time.

    `reasons[0]` is "" and `paths[0]` is `$`. A path leads through the schema's fields, `$.lines[].price`: of an array's
    item or a map's entry (`{}`) its number is not told, as figures are counted by path. The three lists may grow while
    a column is judged (never beyond MAX_PATHS), so they are read after it; what they held keeps its index.
    `tolerated` are the reasons over which a Java consumer always reads on, and findings all the same.
    """

    @property
    def reasons(self) -> Sequence[str]:
        """What may be wrong: rules of docs/validation-reasons.md."""

    @property
    def paths(self) -> Sequence[str]:
        """Where."""

    @property
    def losses(self) -> Sequence[Loss]:
        """What may get lost."""

    @property
    def tolerated(self) -> frozenset[str]:
        """The reasons over which a Java consumer reads on."""

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """The verdicts; for any bytes there are some. `keys` are those of a KEY_VALUE that is SEPARATED."""
