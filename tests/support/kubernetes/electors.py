"""Electors at work, for the tests of the lease: who worked when, and that it was never two at once.

Only the order of what happened counts, never how long it took.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection
from topicschema.cluster.lease import Elector, LeaseTimes

TIMES = LeaseTimes(duration=3.0, renew_deadline=2.0, retry=0.2)
FOR_EVER = LeaseTimes(duration=6000.0, renew_deadline=4000.0, retry=0.1)
"""A Lease that no stall of the machine loses."""
NAME = "topicschema-controller"
PATIENCE = 150.0


class Office:
    """Who worked, in the order in which it happened."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.changed = asyncio.Event()

    def note(self, what: str) -> None:
        self.log.append(what)
        self.changed.set()

    async def until(self, done: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not done(self.log):
                self.changed.clear()
                await self.changed.wait()

    def never_two_at_once(self) -> bool:
        at_work: set[str] = set()
        for entry in self.log:
            who, what = entry.split()
            if what == "begins" and at_work:
                return False
            (at_work.add if what == "begins" else at_work.discard)(who)
        return True


class Candidate:
    """An elector with its own client, whose work lasts until it is told to end or is cancelled."""

    def __init__(self, office: Office, who: str, elector: Elector) -> None:
        self.who = who
        self.elector = elector
        self.done = asyncio.Event()
        self.ending = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self._office = office
        self.running = asyncio.create_task(elector.run(self._work))

    async def _work(self) -> None:
        self.elector.assert_leading()
        self._office.note(f"{self.who} begins")
        try:
            await self.done.wait()
            self.elector.assert_leading()
        finally:
            self.ending.set()
            await asyncio.sleep(0.1)  # work takes its time to end
            await self.may_end.wait()
            self._office.note(f"{self.who} ends")


@asynccontextmanager
async def candidates(
    namespace: str, times: LeaseTimes, **connections: Connection
) -> AsyncIterator[dict[str, Candidate]]:
    """Candidates by name, started in that order, with `office` to see them from; all ended at the end."""
    office = Office()
    async with AsyncExitStack() as stack:
        made = {}
        for who, connection in connections.items():
            client = await stack.enter_async_context(ApiClient(connection))
            made[who] = Candidate(office, who, Elector(client, namespace, NAME, who, times))
            if len(made) == 1:
                await office.until(lambda log: log[:1] == ["a begins"])
        yield made
        for candidate in made.values():
            candidate.running.cancel()
        await asyncio.gather(*(c.running for c in made.values()), return_exceptions=True)
    assert office.never_two_at_once(), office.log


def office_of(made: dict[str, Candidate]) -> Office:
    return next(iter(made.values()))._office
