"""Who is due when, and in which lane: values that are told the time. What works by them is `work_queue`'s matter.

Passes that reach one broker share a lane of so many at once; those that reach none have one of their own. So passes
that hang on a broker that fell silent take the places of nobody but those who would hang there, too.

A key is never worked on twice at once: a key that is added while it is worked on is due again afterwards.
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from contextvars import ContextVar
from typing import Generic, TypeVar

from topicschema.core.errors import WaitingError
from topicschema.reconcile.outages import Outages

K = TypeVar("K", bound=Hashable)

_LANE: ContextVar[str | None] = ContextVar("lane", default=None)
_POLICY: ContextVar[str] = ContextVar("policy", default="")


class ElsewhereError(WaitingError):
    """A pass is to be begun again in another lane: it is going to reach the broker whose lane that is."""

    def __init__(self, lane: str) -> None:
        super().__init__("rescheduled", "it is looked at again among the others of its broker", after=0.0)
        self.lane = lane


def begin_in(lane: str) -> None:
    """Begin a pass: the task that calls this works in that lane from now on."""
    _LANE.set(lane)
    _POLICY.set("")


def keep_to(lane: str, policy: str = "") -> None:
    """Go on in that lane only, for the policy of that uid: ElsewhereError where this pass was begun in another one."""
    if _LANE.get() not in (None, lane):
        raise ElsewhereError(lane)
    _POLICY.set(policy)


def policy_asked() -> str:
    """Return the uid of the policy whose broker this pass came to; "" if it came to none."""
    return _POLICY.get()


class Lanes(Generic[K]):
    """In which lane each key is looked at: where it went last; else where its peers go; else "".

    `peers` returns keys that probably reach the same broker, `is_away` whether a policy's broker is away;
    `outages` keeps who waits for it.
    """

    def __init__(
        self,
        peers: Callable[[K], Iterable[K]] = lambda _: (),
        is_away: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.outages = Outages[K](is_away)
        self._peers = peers
        self._known: dict[K, str] = {}

    def of(self, key: K) -> str:
        """The lane of `key`, so far as is known: a wrong guess costs a pass that is begun twice, never more."""
        known = self._known.get(key)
        if known is not None or not self._known:
            return known or ""
        near = {self._known.get(peer, "") for peer in self._peers(key)}
        return near.pop() if len(near) == 1 else ""

    def moved(self, key: K, lane: str) -> None:
        """A pass over `key` belongs there."""
        self._known[key] = lane

    def forget(self, key: K) -> None:
        """The object is gone."""
        self._known.pop(key, None)


class Schedule(Generic[K]):
    """Keys with the time that each is due, earliest first; a later time never replaces an earlier one.

    `width` is how many keys of one lane are busy at most; a lane that is full holds up no other.
    """

    def __init__(self, lane_of: Callable[[K], str] = lambda _: "", width: int = 1) -> None:
        self.width = width
        self._lane_of = lane_of
        self._due: dict[K, tuple[float, str]] = {}
        self._heaps: dict[str, list[tuple[float, int, K]]] = {}
        self._count = itertools.count()
        self._busy: dict[K, tuple[str, float]] = {}
        self._busy_in: Counter[str] = Counter()
        self._added_while_busy: dict[K, float] = {}

    def add(self, key: K, due: float) -> None:
        """Have `key` looked at by `due`, in the lane that it belongs to now."""
        if key in self._busy:
            self._added_while_busy[key] = min(due, self._added_while_busy.get(key, due))
            return
        lane, known = self._lane_of(key), self._due.get(key)
        wanted = (due if known is None else min(due, known[0]), lane)
        if wanted != known:
            self._due[key] = wanted
            heapq.heappush(self._heaps.setdefault(lane, []), (wanted[0], next(self._count), key))

    def get(self, now: float) -> K | None:
        """The key that has been due longest where there is room, or None; it is busy until `done`."""
        lane = self._first_lane()
        if lane is None or self._heaps[lane][0][0] > now:
            return None
        due, _, key = heapq.heappop(self._heaps[lane])
        del self._due[key]
        self._busy[key] = (lane, due)
        self._busy_in[lane] += 1
        return key

    def done(self, key: K) -> None:
        """End the work on `key`; it is due again if it was added meanwhile."""
        lane, _ = self._busy.pop(key)
        self._busy_in[lane] -= 1
        if not self._busy_in[lane]:
            del self._busy_in[lane]
        due = self._added_while_busy.pop(key, None)
        if due is not None:
            self.add(key, due)

    def taken(self, key: K) -> tuple[str, float]:
        """The lane in which `key` is being looked at, and when it was due."""
        return self._busy[key]

    @property
    def next_due(self) -> float | None:
        """When the next key is due for which there is room."""
        lane = self._first_lane()
        return None if lane is None else self._heaps[lane][0][0]

    def waiting(self, now: float) -> int:
        """How many keys are due and not yet looked at."""
        return sum(due <= now for due, _ in self._due.values())

    def _first_lane(self) -> str | None:
        """The lane with room whose first key is due longest."""
        for lane in tuple(self._heaps):
            self._drop_replaced(lane)
        heads = ((heap[0][:2], lane) for lane, heap in self._heaps.items() if self._busy_in[lane] < self.width)
        return min(heads, default=(None, None))[1]

    def _drop_replaced(self, lane: str) -> None:
        """Drop entries of keys that were added again since, for an earlier time or in another lane."""
        heap = self._heaps[lane]
        while heap and self._due.get(heap[0][-1]) != (heap[0][0], lane):
            heapq.heappop(heap)
        if not heap:
            del self._heaps[lane]
