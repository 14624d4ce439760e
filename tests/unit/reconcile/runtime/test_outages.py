from itertools import pairwise

import pytest

from topicschema.core.errors import StalledError, WaitingError
from topicschema.reconcile.runtime.outages import BrokerOutages
from topicschema.reconcile.runtime.schedule import BrokerPartitions, require_partition
from topicschema.reconcile.runtime.work_queue import HIGH_PRIORITY, Key, Result, WorkQueue

A, B, C = (Key("topicschemas", "shop", name) for name in "abc")
SHOP, STORE = "uid-shop", "uid-store"


def test_while_a_broker_is_away_one_looks_early_and_the_others_wait_as_usual() -> None:
    outages = BrokerOutages[str]({SHOP}.__contains__)
    assert outages.delay("a", SHOP, 5.0, 80.0) == 5.0
    assert outages.delay("b", SHOP, 5.0, 80.0) == 80.0
    assert outages.delay("a", SHOP, 10.0, 160.0) == 10.0
    assert outages.delay("b", SHOP, 5.0, 160.0) == 160.0


def test_one_that_was_looked_at_meanwhile_for_an_edit_still_looks_at_the_next_probe() -> None:
    outages = BrokerOutages[str]({SHOP}.__contains__)
    outages.delay("a", SHOP, 20.0, 80.0)
    outages.delay("b", SHOP, 20.0, 80.0)
    assert outages.delay("a", SHOP, 10.0, 160.0) == 10.0  # ten seconds later


def test_when_the_one_who_looks_waits_no_more_the_next_one_looks() -> None:
    outages = BrokerOutages[str]({SHOP, STORE}.__contains__)
    for key in ("a", "b", "c"):
        outages.delay(key, SHOP, 5.0, 80.0)
    outages.delay("d", STORE, 5.0, 80.0)
    assert outages.leave("c") == ()
    assert outages.leave("a") == ("b",)
    assert outages.delay("b", SHOP, 5.0, 80.0) == 5.0


def test_nobody_looks_later_than_usual() -> None:
    assert BrokerOutages[str]({SHOP}.__contains__).delay("a", SHOP, 60.0, 2.0) == 2.0


def test_an_error_of_a_broker_that_answers_is_no_outage() -> None:
    outages = BrokerOutages[str](lambda _: False)
    assert outages.delay("a", SHOP, 5.0, 80.0) is None
    assert outages.end(SHOP) == ()


def test_all_who_waited_are_told_once_the_broker_is_back() -> None:
    away = {SHOP, STORE}
    outages = BrokerOutages[str](away.__contains__)
    for key in ("a", "b", "a"):
        outages.delay(key, SHOP, 5.0, 80.0)
    outages.delay("c", STORE, 5.0, 80.0)
    assert outages.end(SHOP) == ()  # a pass that did not ask it
    away.discard(SHOP)
    assert outages.end(SHOP) == ("a", "b")
    assert outages.end(SHOP) == ()


def test_nothing_is_kept_of_those_who_are_gone() -> None:
    outages = BrokerOutages[str]({SHOP}.__contains__)
    for key in ("a", "b"):
        outages.delay(key, SHOP, 5.0, 80.0)
    for key in ("a", "b"):
        outages.leave(key)
    assert outages._waiting == {}


class Outage:
    """Passes over A, B and C, of one policy whose broker is away; `ends` says how a pass ends if not by that.

    Probes are twenty seconds apart, and a pass that comes to none costs nothing.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.away, self.ends = {"uid"}, dict[Key, Result | Exception]()
        self.probes: list[float] = []
        self.settled: dict[Key, float] = {}
        self._probe_at = 0.0
        partitions = BrokerPartitions[Key](is_away=self.away.__contains__)
        for key in (A, B, C):
            partitions.assign(key, "pulsar:8080")
        self.queue = WorkQueue(self._work, 100_000.0, partitions=partitions, clock=lambda: self.now, chance=lambda: 0.5)
        for key in (A, B, C):
            self.queue.add(key)

    async def _work(self, key: Key) -> Result:
        if key not in self.ends or not self.away:
            require_partition("pulsar:8080", "uid")
            if self.away:
                if self.now >= self._probe_at:
                    self.probes.append(self.now)
                    self._probe_at = self.now + 20.0
                raise WaitingError("BrokerUnavailable", "", after=self._probe_at - self.now)
        self.settled.setdefault(key, self.now)
        end = self.ends.get(key, Result.DONE)
        if isinstance(end, Exception):
            raise end
        return end

    async def until(self, time: float) -> None:
        while self.queue.next_due is not None and self.queue.next_due <= time:
            self.now = max(self.now, self.queue.next_due)
            await self.queue.run_due()
        self.now = time


async def test_edits_during_an_outage_lose_no_probe() -> None:
    outage = Outage()
    for edit in range(100):
        await outage.until(7.0 * edit)
        outage.queue.add((A, B, C)[edit % 3], HIGH_PRIORITY)
    assert all(later - earlier <= 20.0 for earlier, later in pairwise(outage.probes))
    assert len(outage.probes) >= 700 / 20


@pytest.mark.parametrize("end", [Result.DONE, Result.DELETED, StalledError("InvalidSchema", ""), ValueError()])
async def test_a_scout_that_comes_to_the_broker_no_more_is_replaced(end: Result | Exception) -> None:
    outage = Outage()
    await outage.until(400.0)
    for key in (A, B):
        outage.ends[key] = end
        outage.queue.add(key, HIGH_PRIORITY)
    await outage.until(800.0)
    assert all(later - earlier <= 20.0 for earlier, later in pairwise(outage.probes))
    assert len(outage.probes) >= 800 / 20


@pytest.mark.parametrize("end", [StalledError("Incompatible", ""), WaitingError("TopicNotFound", "", after=60.0)])
async def test_all_who_waited_are_looked_at_though_the_pass_that_was_answered_ends_otherwise(end: Exception) -> None:
    outage = Outage()
    await outage.until(1000.0)
    outage.ends = dict.fromkeys((A, B, C), end)
    outage.away.clear()
    await outage.until(1030.0)
    assert set(outage.settled) == {A, B, C}
