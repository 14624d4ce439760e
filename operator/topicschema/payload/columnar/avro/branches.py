"""Paths and losses of a program, stored compactly as numbers and rendered on demand.

A path is a step from another one. The paths of a body that is called from many places begin at the body. `places`
prepends the calls that led there, if a message needs them.
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
"""Kinds of losses."""


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Table of paths: `steps[i]` leads from path `parents[i]` to path i. Path -1 is the root, or the start of a body.

    Losses are pairs of kind, a number of LOST, and path. The first `own` of them are outside of bodies.
    """

    steps: tuple[str, ...]
    parents: NDArray[np.int32]
    losses: NDArray[np.int32]
    own: int

    def steps_to(self, path: int) -> list[str]:
        """Return the steps from the root, or from the start of the body."""
        steps = []
        while path != _NONE:
            steps.append(self.steps[path])
            path = int(self.parents[path])
        return steps[::-1]


def written(steps: list[str]) -> str:
    """Return the path for people. A long one has `…` in its middle."""
    named = [step for step in steps if step]
    if len(named) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        return f"{ROOT}{''.join(named[:half])}…{''.join(named[-half:])}"[:_MAX_LENGTH]
    return (ROOT + "".join(named))[:_MAX_LENGTH]
