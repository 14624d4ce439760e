"""The concurrency limit of each broker: the number of keys that are reconciled at once."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Container, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class BrokerSlots(Generic[K]):
    """A semaphore for each broker: at most `limit` keys have a slot, and the others wait.

    Urgent keys get a slot first. Among these, and among the others, the namespace with the fewest slots is next. So the
    slow reconciles of one namespace do not hold up those of another. The keys of a namespace are in FIFO order.
    """

    def __init__(self, namespace_of: Callable[[K], str], limit: int = 1) -> None:
        self.limit = limit
        self._namespace_of = namespace_of
        self._urgent: defaultdict[str, dict[K, None]] = defaultdict(dict)
        self._taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._waiting: defaultdict[str, dict[str, dict[K, asyncio.Future[None]]]] = defaultdict(dict)

    def set_urgent(self, key: K, *, is_urgent: bool) -> None:
        """Mark the key as urgent, or not. It may be waiting."""
        keys = self._urgent[self._namespace_of(key)]
        if is_urgent:
            keys[key] = None
        else:
            keys.pop(key, None)

    @asynccontextmanager
    async def take(self, broker: str, key: K) -> AsyncIterator[None]:
        """Acquire a slot of `broker` for `key`, and release it at the end of the context."""
        turn, namespace, taken = (
            asyncio.get_running_loop().create_future(),
            self._namespace_of(key),
            self._taken[broker],
        )
        if taken.total() < self.limit:
            taken[namespace] += 1
            turn.set_result(None)
        else:
            self._waiting[broker].setdefault(namespace, {})[key] = turn
        try:
            await turn
            yield
        finally:
            if not turn.cancelled():  # a key that is cancelled just after it got its slot has it
                taken[namespace] -= 1
                self._assign(broker)

    def _assign(self, broker: str) -> None:
        """Give the free slot to the next key, if one waits."""
        waiting = self._waiting[broker]
        while waiting:
            key = self._next(broker)
            namespace = self._namespace_of(key)
            turns = waiting.pop(namespace)
            turn = turns.pop(key)
            if turns:
                waiting[namespace] = turns  # behind the others that have as many slots
            if not turn.cancelled():
                self._taken[broker][namespace] += 1
                turn.set_result(None)
                return

    def _next(self, broker: str) -> K:
        taken, namespaces = self._taken[broker], self._waiting[broker].items()
        urgent = [key for name, waiting in namespaces if (key := self._first_urgent(name, waiting)) is not None]
        first = urgent or [next(iter(waiting)) for _, waiting in namespaces]
        return min(first, key=lambda key: taken[self._namespace_of(key)])

    def _first_urgent(self, namespace: str, waiting: Container[K]) -> K | None:
        return next((key for key in self._urgent[namespace] if key in waiting), None)
