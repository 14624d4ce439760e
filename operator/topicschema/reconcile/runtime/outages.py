"""Broker outages: of the keys that wait for a broker, one probes it often and wakes the others when it is back.

The others wait longer each time.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class BrokerOutages(Generic[K]):
    """Keys by the policy whose broker they wait for; `is_away` returns whether the broker of a policy is away.

    The first key of a policy probes the broker, until its reconcile ends otherwise; then the next one does.
    """

    def __init__(self, is_away: Callable[[str], bool]) -> None:
        self._is_away = is_away
        self._waiting: dict[str, dict[K, None]] = {}

    def delay(self, key: K, policy: str, soonest: float, usual: float) -> float | None:
        """Return when to try `key` again: `soonest` if it probes, else `usual`; None if the broker answers."""
        if not self._is_away(policy):
            return None
        waiting = self._waiting.setdefault(policy, {})
        waiting[key] = None
        return min(soonest, usual) if next(iter(waiting)) == key else usual

    def leave(self, key: K) -> tuple[K, ...]:
        """Forget `key`, which waits no more; return the keys that probe in its place."""
        probes = []
        for policy, waiting in tuple(self._waiting.items()):
            was_probe = next(iter(waiting)) == key
            waiting.pop(key, None)
            if not waiting:
                del self._waiting[policy]
            elif was_probe:
                probes.append(next(iter(waiting)))
        return tuple(probes)

    def end(self, policy: str) -> tuple[K, ...]:
        """Remove and return the keys that waited, if the broker of the policy is back."""
        return () if self._is_away(policy) else tuple(self._waiting.pop(policy, ()))
