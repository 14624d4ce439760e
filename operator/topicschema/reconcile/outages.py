"""Who waits for a broker that is away, lane by lane: one looks early whether it is back, and then all are told.

Everybody else waits longer from time to time, for what they would find is known. Times are seconds.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Outages(Generic[K]):
    """Those whose passes ended while the broker of their lane was away; `is_away` tells whether it is."""

    def __init__(self, is_away: Callable[[str], bool]) -> None:
        self._is_away = is_away
        self._waiting: dict[str, dict[K, None]] = {}
        self._scouted: dict[str, float] = {}

    def delay(self, key: K, lane: str, now: float, soonest: float, usual: float) -> float:
        """When to try `key` again: `soonest` for one of those who wait in the lane, `usual` for the others."""
        if not self._is_away(lane):
            return usual
        self._waiting.setdefault(lane, {})[key] = None
        if now < self._scouted.get(lane, now):
            return usual
        delay = min(soonest, usual)
        self._scouted[lane] = now + delay
        return delay

    def end(self, lane: str) -> tuple[K, ...]:
        """A pass in the lane ended well: those who waited, if its broker is back."""
        if lane not in self._waiting or self._is_away(lane):
            return ()
        self._scouted.pop(lane, None)
        return tuple(self._waiting.pop(lane))
