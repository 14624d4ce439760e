"""One read for all who asked before it began: many askers at once cost few reads, and nobody gets an old answer.

A read that is under way may have been answered before a later question was asked. So whoever comes then waits for the
next one, together with all others that came meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# Seconds. A read that hangs, on a connection that died, holds up nobody but those who share it.
_PATIENCE = 0.25


class SharedReads(Generic[K, T]):
    """Reads by key; each answer comes from a read that began after it was asked for. One event loop uses it."""

    def __init__(self, read: Callable[[K], Awaitable[T]]) -> None:
        self._read = read
        self._running: dict[K, asyncio.Task[T]] = {}
        self._next: dict[K, asyncio.Task[T]] = {}

    async def get(self, key: K) -> T:
        """What a read that has not begun yet answers; its error is raised to all who share it."""
        task = self._next.get(key)
        if task is None:
            task = asyncio.create_task(self._after(self._running.get(key), key))
            task.add_done_callback(_seen)
            self._next[key] = task
        return await asyncio.shield(task)  # one who gives up takes nothing from the others

    async def _after(self, earlier: asyncio.Task[T] | None, key: K) -> T:
        if earlier is not None:
            await asyncio.wait((earlier,), timeout=_PATIENCE)
        task = self._running[key] = self._next.pop(key)  # from here on nobody joins
        try:
            return await self._read(key)
        finally:
            if self._running.get(key) is task:
                del self._running[key]


def _seen(task: asyncio.Task[T]) -> None:
    """An error that nobody waited for any more is not worth a word in the log."""
    if not task.cancelled():
        task.exception()
