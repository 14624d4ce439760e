"""How slow the machine is just now: a fixed piece of work, of the kind that reading and judging are, and its time.

A core that others share, or whose memory they fill, is slower for every program; its clock of CPU time does not tell.
"""

import gc
import time
from typing import Final

QUIET: Final = 0.028
"""Seconds that the work takes on the machine that the limits were set on, when it has nothing else to do."""

_NAMES: Final = 60_000
_HOLDS: Final = 1.0  # second of this process


class Anchor:
    """Measures the machine, anew after a second."""

    def __init__(self) -> None:
        self._measured_at = -_HOLDS
        self._slowness = 1.0

    def slowness(self) -> float:
        """How many times longer than there the work takes now; never less than once."""
        if time.process_time() - self._measured_at >= _HOLDS:
            gc.disable()  # it would look through all that the document has left
            self._slowness = max(1.0, min(_timed() for _ in range(2)) / QUIET)
            gc.enable()
            self._measured_at = time.process_time()
        return self._slowness


def _timed() -> float:
    began = time.process_time()
    found: dict[str, tuple[int, list[str]]] = {}
    for number in range(_NAMES):
        name = f"f{number}"
        found[name] = number, [name]
    total = 0
    for name, (number, held) in found.items():
        total += len(name) + number
        if held[0] != name:
            total += 1
    del found
    return time.process_time() - began
