"""Electors with work, for the tests of the lease: which one worked when, and that never two worked at once.

Only the order of the events counts, never their duration.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.lease import Elector, LeaseTimes

TIMES = LeaseTimes(duration=3.0, renew_deadline=2.0, retry=0.2)
FOR_EVER = LeaseTimes(duration=6000.0, renew_deadline=4000.0, retry=0.1)
"""A Lease that no stall of the machine loses."""
NAME = "topicschema-controller"
TIMEOUT_SECONDS = 150.0


class WorkLog:
    """The begins and ends of work, in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.changed = asyncio.Event()

    def add(self, entry: str) -> None:
        self.log.append(entry)
        self.changed.set()

    async def until(self, done: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not done(self.log):
                self.changed.clear()
                await self.changed.wait()

    def is_exclusive(self) -> bool:
        working: set[str] = set()
        for entry in self.log:
            name, event = entry.split()
            if event == "begins" and working:
                return False
            (working.add if event == "begins" else working.discard)(name)
        return True


class Candidate:
    """An elector with its own client, whose work lasts until `done` is set or it is cancelled."""

    def __init__(self, work_log: WorkLog, name: str, elector: Elector) -> None:
        self.name = name
        self.elector = elector
        self.done = asyncio.Event()
        self.ending = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self._work_log = work_log
        self.running = asyncio.create_task(elector.run(self._work))

    async def _work(self) -> None:
        self.elector.assert_leading()
        self._work_log.add(f"{self.name} begins")
        try:
            await self.done.wait()
            self.elector.assert_leading()
        finally:
            self.ending.set()
            await asyncio.sleep(0.1)  # work takes its time to end
            await self.may_end.wait()
            self._work_log.add(f"{self.name} ends")


@asynccontextmanager
async def candidates(
    namespace: str, times: LeaseTimes, **connections: ApiConnection
) -> AsyncIterator[dict[str, Candidate]]:
    """Start candidates in that order and yield them by name. They share one log of work; all end with the context."""
    work_log = WorkLog()
    async with AsyncExitStack() as stack:
        started = {}
        for name, connection in connections.items():
            client = await stack.enter_async_context(ApiClient(connection))
            started[name] = Candidate(work_log, name, Elector(client, namespace, NAME, name, times))
            if len(started) == 1:
                await work_log.until(lambda log: log[:1] == ["a begins"])
        yield started
        for candidate in started.values():
            candidate.running.cancel()
        await asyncio.gather(*(c.running for c in started.values()), return_exceptions=True)
    assert work_log.is_exclusive(), work_log.log


def log_of(candidates: dict[str, Candidate]) -> WorkLog:
    return next(iter(candidates.values()))._work_log
