"""The schedule of the work queue: which key is due when, and in which partition. The caller gives the time.

Each broker has a partition, with a limit of concurrent reconciles; keys that reach no broker share one of their own. So
if a broker does not answer, only keys of that broker wait.

A key is never worked on twice at once: a key that is added while it is worked on is due again afterwards.
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from contextvars import ContextVar
from typing import Generic, TypeVar

from topicschema.core.errors import WaitingError
from topicschema.reconcile.runtime.outages import BrokerOutages

K = TypeVar("K", bound=Hashable)

_PARTITION: ContextVar[str | None] = ContextVar("partition", default=None)
_POLICY: ContextVar[str] = ContextVar("policy", default="")


class RescheduleError(WaitingError):
    """A reconcile has to begin again in another partition: that of the broker that it is going to reach."""

    def __init__(self, partition: str) -> None:
        super().__init__("rescheduled", "it is looked at again among the others of its broker", after=0.0)
        self.partition = partition


def enter_partition(partition: str) -> None:
    """Let the current task, which begins a reconcile, work in that partition."""
    _PARTITION.set(partition)
    _POLICY.set("")


def require_partition(partition: str, policy: str = "") -> None:
    """Raise RescheduleError if the reconcile was begun in another partition; store the uid of the policy."""
    if _PARTITION.get() not in (None, partition):
        raise RescheduleError(partition)
    _POLICY.set(policy)


def current_policy() -> str:
    """Return the uid of the policy whose broker this reconcile reached; "" if it reached none."""
    return _POLICY.get()


class BrokerPartitions(Generic[K]):
    """The partition of each key: the one that it was in last; else that of its peers; else "".

    `peers` returns keys that probably reach the same broker, `is_away` whether a policy's broker is away;
    `outages` has the keys that wait for it.
    """

    def __init__(
        self,
        peers: Callable[[K], Iterable[K]] = lambda _: (),
        is_away: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.outages = BrokerOutages[K](is_away)
        self._peers = peers
        self._known: dict[K, str] = {}

    def of(self, key: K) -> str:
        """Return the partition of `key`, as far as known: a wrong guess costs a reconcile that is begun twice."""
        known = self._known.get(key)
        if known is not None or not self._known:
            return known or ""
        near = {self._known.get(peer, "") for peer in self._peers(key)}
        return near.pop() if len(near) == 1 else ""

    def assign(self, key: K, partition: str) -> None:
        """Store the partition of `key`."""
        self._known[key] = partition

    def forget(self, key: K) -> None:
        """Forget an object that is gone."""
        self._known.pop(key, None)


class Schedule(Generic[K]):
    """Keys with the time that each is due, earliest first; a later time never replaces an earlier one.

    `width` is how many keys of one partition are busy at most; a partition that is full holds up no other.
    """

    def __init__(self, partition_of: Callable[[K], str] = lambda _: "", width: int = 1) -> None:
        self.width = width
        self._partition_of = partition_of
        self._due: dict[K, tuple[float, str]] = {}
        self._heaps: dict[str, list[tuple[float, int, K]]] = {}
        self._count = itertools.count()
        self._busy: dict[K, tuple[str, float]] = {}
        self._busy_in: Counter[str] = Counter()
        self._added_while_busy: dict[K, float] = {}

    def add(self, key: K, due: float) -> None:
        """Have `key` reconciled by `due`, in the partition that it belongs to now."""
        if key in self._busy:
            self._added_while_busy[key] = min(due, self._added_while_busy.get(key, due))
            return
        partition, known = self._partition_of(key), self._due.get(key)
        wanted = (due if known is None else min(due, known[0]), partition)
        if wanted != known:
            self._due[key] = wanted
            heapq.heappush(self._heaps.setdefault(partition, []), (wanted[0], next(self._count), key))

    def get(self, now: float) -> K | None:
        """The key that has been due longest where there is room, or None; it is busy until `done`."""
        partition = self._first_partition()
        if partition is None or self._heaps[partition][0][0] > now:
            return None
        due, _, key = heapq.heappop(self._heaps[partition])
        del self._due[key]
        self._busy[key] = (partition, due)
        self._busy_in[partition] += 1
        return key

    def done(self, key: K) -> None:
        """End the work on `key`; it is due again if it was added meanwhile."""
        partition, _ = self._busy.pop(key)
        self._busy_in[partition] -= 1
        if not self._busy_in[partition]:
            del self._busy_in[partition]
        due = self._added_while_busy.pop(key, None)
        if due is not None:
            self.add(key, due)

    def taken(self, key: K) -> tuple[str, float]:
        """Return the partition in which `key` is being reconciled, and when it was due."""
        return self._busy[key]

    @property
    def next_due(self) -> float | None:
        """When the next key is due for which there is room."""
        partition = self._first_partition()
        return None if partition is None else self._heaps[partition][0][0]

    def waiting(self, now: float) -> int:
        """Return how many keys are due and not yet being reconciled."""
        return sum(due <= now for due, _ in self._due.values())

    def _first_partition(self) -> str | None:
        """Return the partition with room whose first key is due longest."""
        for partition in tuple(self._heaps):
            self._drop_replaced(partition)
        heads = (
            (heap[0][:2], partition) for partition, heap in self._heaps.items() if self._busy_in[partition] < self.width
        )
        return min(heads, default=(None, None))[1]

    def _drop_replaced(self, partition: str) -> None:
        """Drop entries of keys that were added again since, for an earlier time or in another partition."""
        heap = self._heaps[partition]
        while heap and self._due.get(heap[0][-1]) != (heap[0][0], partition):
            heapq.heappop(heap)
        if not heap:
            del self._heaps[partition]
