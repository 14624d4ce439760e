"""Single flight: concurrent calls for one key share a read, and no result is older than its call.

A pending read may be older than a later call. So a later call waits for the next read, and shares it with the calls
that arrive in the meantime.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# Seconds. A read that hangs on a dead connection delays only the calls that share it.
_LONGEST_WAIT = 0.25


class SingleFlight(Generic[K, T]):
    """Shared reads by key. Each read begins after the calls that share it. For one event loop."""

    def __init__(self, read: Callable[[K], Awaitable[T]]) -> None:
        self._read = read
        self._running: dict[K, asyncio.Task[T]] = {}
        self._next: dict[K, asyncio.Task[T]] = {}

    async def get(self, key: K) -> T:
        """Return the result of a read that begins after this call. All calls that share it raise its error."""
        task = self._next.get(key)
        if task is None:
            task = asyncio.create_task(self._after(self._running.get(key), key))
            task.add_done_callback(_consume_error)
            self._next[key] = task
        return await asyncio.shield(task)  # a call that is cancelled does not cancel the others

    async def _after(self, earlier: asyncio.Task[T] | None, key: K) -> T:
        if earlier is not None:
            await asyncio.wait((earlier,), timeout=_LONGEST_WAIT)
        task = self._running[key] = self._next.pop(key)  # from here on no call joins
        try:
            return await self._read(key)
        finally:
            if self._running.get(key) is task:
                del self._running[key]


def _consume_error(task: asyncio.Task[T]) -> None:
    """Retrieve the error of a task that no call awaits, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()
