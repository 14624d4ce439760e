"""The concurrency limit of each broker: the number of keys that are reconciled at once."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class BrokerSlots(Generic[K]):
    """A semaphore for each broker: at most `limit` keys have a slot, and the others wait.

    The keys in `urgent` get a slot first, the others in FIFO order.
    """

    def __init__(self, limit: int = 1) -> None:
        self.limit = limit
        self.urgent: dict[K, None] = {}
        self._taken: Counter[str] = Counter()
        self._waiting: defaultdict[str, dict[K, asyncio.Future[None]]] = defaultdict(dict)

    @asynccontextmanager
    async def take(self, broker: str, key: K) -> AsyncIterator[None]:
        """Acquire a slot of `broker` for `key`, and release it at the end of the context."""
        turn = asyncio.get_running_loop().create_future()
        if self._taken[broker] < self.limit:
            self._taken[broker] += 1
            turn.set_result(None)
        else:
            self._waiting[broker][key] = turn
        try:
            await turn
            yield
        finally:
            if not turn.cancelled():  # a key that is cancelled just after it got its slot has it
                self._release(broker)

    def _release(self, broker: str) -> None:
        """Give the slot to the next key, or free it."""
        waiting = self._waiting[broker]
        while waiting:
            turn = waiting.pop(next((key for key in self.urgent if key in waiting), next(iter(waiting))))
            if not turn.cancelled():
                turn.set_result(None)
                return
        self._taken[broker] -= 1
