"""Who waits for a broker that is away, or lets them in no more: one looks early whether it is back, and tells all.

Everybody else waits longer from time to time, for what they would find is known. Times are seconds.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

WaitingRoom = tuple[str, str]
"""The lane of a broker, and the Kubernetes namespace whose policies ask there."""


class Outages(Generic[K]):
    """Those whose passes ended while their broker was away; `is_away` tells whether it is, to those who wait there."""

    def __init__(self, is_away: Callable[[WaitingRoom], bool]) -> None:
        self._is_away = is_away
        self._waiting: dict[WaitingRoom, dict[K, None]] = {}
        self._scouted: dict[WaitingRoom, float] = {}

    def delay(self, key: K, room: WaitingRoom, now: float, soonest: float, usual: float) -> float:
        """When to try `key` again: `soonest` for one of those who wait in the room, `usual` for the others."""
        if not self._is_away(room):
            return usual
        self._waiting.setdefault(room, {})[key] = None
        if now < self._scouted.get(room, now):
            return usual
        delay = min(soonest, usual)
        self._scouted[room] = now + delay
        return delay

    def forget(self, key: K) -> None:
        """The object is gone; a room that nobody waits in is none."""
        for room, waiting in tuple(self._waiting.items()):
            waiting.pop(key, None)
            if not waiting:
                del self._waiting[room]
                self._scouted.pop(room, None)

    def end(self, room: WaitingRoom) -> tuple[K, ...]:
        """A pass of those who ask there ended well: those who waited, if the broker is back."""
        if room not in self._waiting or self._is_away(room):
            return ()
        self._scouted.pop(room, None)
        return tuple(self._waiting.pop(room))
