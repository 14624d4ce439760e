"""The paths and losses that a program knows, as numbers: kept small, written out when somebody asks for them.

A path is a step from another one. Those of a body that is called from many places begin at the body: the calls that led
there are before them, and are put together when a message needs them, see `places`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

ROOT: Final = "$"
_MAX_STEPS: Final = 40
_MAX_LENGTH: Final = 400
_NONE: Final = -1
LOST: Final = ("FIELD_DROPPED", "PRECISION_LOST", "SYMBOL_REPLACED")
"""The kinds of losses."""


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """`steps[i]` leads from path `parents[i]` to path i; -1 is the root, or where a body begins.

    Losses are pairs of kind, a number of LOST, and path; the first `own` of them are outside of bodies.
    """

    steps: tuple[str, ...]
    parents: NDArray[np.int32]
    losses: NDArray[np.int32]
    own: int

    def steps_to(self, path: int) -> list[str]:
        """The steps from the root, or from where the body begins."""
        steps = []
        while path != _NONE:
            steps.append(self.steps[path])
            path = int(self.parents[path])
        return steps[::-1]


def written(steps: list[str]) -> str:
    """The path as people read it; a long one has `…` in its middle."""
    told = [step for step in steps if step]
    if len(told) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        return f"{ROOT}{''.join(told[:half])}…{''.join(told[-half:])}"[:_MAX_LENGTH]
    return (ROOT + "".join(told))[:_MAX_LENGTH]
