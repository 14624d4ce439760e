"""Turns on the event loop: how often another task runs while something else is done."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Turns:
    """The number of turns that the other task has had so far."""

    count: int = 0


@asynccontextmanager
async def counted() -> AsyncIterator[Turns]:
    """Run a task that counts its turns until the context ends."""
    turns = Turns()

    async def other() -> None:
        while True:
            turns.count += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    try:
        yield turns
    finally:
        running.cancel()
