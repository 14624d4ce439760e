"""Anchor: a fixed piece of work, like reading and judging. Its time shows how slow the machine is at the moment.

A core that others share, or whose memory they fill, is slower for every program. Its clock of CPU time hides that.
"""

import gc
import time
from typing import Final

QUIET: Final = 0.028
"""Seconds that the work takes on the idle machine on which the limits were set."""

_NAMES: Final = 60_000
_HOLDS: Final = 1.0  # second of this process


class Anchor:
    """The speed of the machine, measured again after a second."""

    def __init__(self) -> None:
        self._measured_at = -_HOLDS
        self._slowness = 1.0

    def slowness(self) -> float:
        """Return how many times longer the work takes now than on that machine, at least 1."""
        if time.process_time() - self._measured_at >= _HOLDS:
            gc.disable()  # it would go through all that the document has left
            self._slowness = max(1.0, min(_time() for _ in range(2)) / QUIET)
            gc.enable()
            self._measured_at = time.process_time()
        return self._slowness


def _time() -> float:
    began = time.process_time()
    rows: dict[str, tuple[int, list[str]]] = {}
    for number in range(_NAMES):
        name = f"f{number}"
        rows[name] = number, [name]
    total = 0
    for name, (number, names) in rows.items():
        total += len(name) + number
        if names[0] != name:
            total += 1
    del rows
    return time.process_time() - began
