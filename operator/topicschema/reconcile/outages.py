"""Resources that wait for a broker that answers their policy no more: one looks at each probe, and wakes the others.

The others wait longer each time, for what they would find is known.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Outages(Generic[K]):
    """Keys by the policy whose broker they wait for; `is_away` returns whether the broker of a policy is away.

    The first key of a policy is its scout, until its pass ends otherwise: then the next one is.
    """

    def __init__(self, is_away: Callable[[str], bool]) -> None:
        self._is_away = is_away
        self._waiting: dict[str, dict[K, None]] = {}

    def delay(self, key: K, policy: str, soonest: float, usual: float) -> float | None:
        """Return when to try `key` again: `soonest` if it is the scout, else `usual`; None if the broker answers."""
        if not self._is_away(policy):
            return None
        waiting = self._waiting.setdefault(policy, {})
        waiting[key] = None
        return min(soonest, usual) if next(iter(waiting)) == key else usual

    def leave(self, key: K) -> tuple[K, ...]:
        """Forget `key`, which waits no more; return who is to look in its place."""
        scouts = []
        for policy, waiting in tuple(self._waiting.items()):
            was_scout = next(iter(waiting)) == key
            waiting.pop(key, None)
            if not waiting:
                del self._waiting[policy]
            elif was_scout:
                scouts.append(next(iter(waiting)))
        return tuple(scouts)

    def end(self, policy: str) -> tuple[K, ...]:
        """Return the keys that waited, if the broker of the policy is back; nobody waits for it then."""
        return () if self._is_away(policy) else tuple(self._waiting.pop(policy, ()))
