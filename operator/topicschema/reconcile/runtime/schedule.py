"""The schedule of the work queue: keys with their due times. The caller passes the current time.

A key is never in progress twice. One that is added while it is in progress is due again afterwards.
"""

import heapq
import itertools
import math
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Schedule(Generic[K]):
    """Keys with their due times, earliest first. A later time never replaces an earlier one."""

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = itertools.count()
        self._in_progress: dict[K, bool] = {}  # True if its reconcile has begun
        self._due_again: dict[K, float] = {}

    def add(self, key: K, due: float) -> None:
        """Schedule `key` for the time `due`."""
        if key in self._in_progress:
            self._due_again[key] = min(due, self._due_again.get(key, due))
        elif due < self._due.get(key, math.inf):
            self._due[key] = due
            heapq.heappush(self._heap, (due, next(self._count), key))

    def get(self, now: float) -> K | None:
        """Return the key that has been due longest, or None. It is in progress until `done`."""
        due = self.next_due
        if due is None or due > now:
            return None
        _, _, key = heapq.heappop(self._heap)
        del self._due[key]
        self._in_progress[key] = False
        return key

    def begin(self, key: K, now: float) -> None:
        """Begin the reconcile of a key in progress. It reads all state after this call, so drop what is due by now."""
        self._in_progress[key] = True
        if self._due_again.get(key, math.inf) <= now:
            del self._due_again[key]

    def done(self, key: K) -> None:
        """End the work on `key`. It is due again if it was added while in progress."""
        del self._in_progress[key]
        due = self._due_again.pop(key, None)
        if due is not None:
            self.add(key, due)

    @property
    def next_due(self) -> float | None:
        """The due time of the next key, or None."""
        while self._heap and self._due.get(self._heap[0][-1]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # it was added again for an earlier time
        return self._heap[0][0] if self._heap else None

    def waiting(self, now: float) -> int:
        """Return the number of keys that are due and not yet being reconciled."""
        return sum(due <= now for due in self._due.values()) + list(self._in_progress.values()).count(False)
