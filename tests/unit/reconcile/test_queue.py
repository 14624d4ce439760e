import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError, WaitingError
from topicschema.reconcile.queue import Bell, Key, Patience, Rest, Schedule

A, B, C = (Key("topicschemas", "shop", name) for name in "abc")


class Clock:
    """A time that only moves when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_is_due_first_is_taken_first() -> None:
    schedule = Schedule()
    for key, due in ((A, 3.0), (B, 1.0), (C, 2.0)):
        schedule.ring(key, due)
    assert [schedule.take(5.0), schedule.take(5.0), schedule.take(5.0), schedule.take(5.0)] == [B, C, A, None]


def test_nobody_is_taken_before_being_due() -> None:
    schedule = Schedule()
    schedule.ring(A, 3.0)
    assert schedule.take(2.9) is None
    assert schedule.next_due == 3.0
    assert schedule.take(3.0) == A
    assert schedule.next_due is None


def test_many_rings_are_one_look_and_the_earliest_counts() -> None:
    schedule = Schedule()
    for due in (5.0, 1.0, 9.0):
        schedule.ring(A, due)
    assert schedule.take(1.0) == A
    schedule.done(A)
    assert schedule.take(10.0) is None


def test_a_key_is_never_taken_twice_at_once_and_rings_again_afterwards() -> None:
    schedule = Schedule()
    schedule.ring(A, 0.0)
    assert schedule.take(0.0) == A
    schedule.ring(A, 7.0)
    schedule.ring(A, 1.0)
    assert schedule.take(10.0) is None
    schedule.done(A)
    assert schedule.next_due == 1.0
    assert schedule.take(1.0) == A


def test_who_waits_is_counted() -> None:
    schedule = Schedule()
    for key, due in ((A, 1.0), (B, 2.0), (C, 3.0)):
        schedule.ring(key, due)
    assert schedule.waiting(2.0) == 2


@pytest.mark.parametrize(
    ("error", "first"),
    [(WaitingError("PolicyMissing", "", after=4.0), 4.0), (ConflictError(""), 0.02), (ValueError(), 1.0)],
)
def test_the_time_to_the_next_try_doubles_up_to_five_minutes(error: Exception, first: float) -> None:
    patience = Patience(lambda: 1.0)
    delays = [patience.delay(A, error) or 0.0 for _ in range(40)]
    assert delays[0] == first
    assert all(later == min(2 * earlier, 300.0) for earlier, later in pairwise(delays[:17]))
    assert delays[-1] == 300.0
    assert patience.delay(B, error) == first
    patience.forget(A)
    assert patience.delay(A, error) == first


def test_tries_are_spread_so_that_what_failed_together_does_not_come_back_together() -> None:
    error = WaitingError("PolicyMissing", "", after=4.0)
    assert Patience(lambda: 0.0).delay(A, error) == 2.0
    assert Patience(lambda: 0.5).delay(A, error) == 3.0


def test_what_only_a_person_can_mend_is_not_tried_again() -> None:
    assert Patience(lambda: 1.0).delay(A, StalledError("InvalidTopic", "")) is None


def bell(clock: Clock, work: Callable[[Key], Awaitable[Rest]]) -> Bell:
    return Bell(work, 1000.0, clock=clock, chance=lambda: 0.5)


async def looks(clock: Clock, results: list[Rest | Exception]) -> list[float]:
    """The times at which a key is looked at when its passes end as told; the clock only moves to when it is due."""
    times: list[float] = []
    ended = iter(results)

    async def work(_: Key) -> Rest:
        times.append(clock.now)
        result = next(ended)
        if isinstance(result, Exception):
            raise result
        return result

    ringing = bell(clock, work)
    ringing.ring(A)
    while len(times) < len(results) and ringing.next_due is not None:
        clock.now = ringing.next_due
        await ringing.run_due()
    return times


async def test_a_settled_key_is_looked_at_again_after_a_long_time() -> None:
    assert await looks(Clock(), [Rest.SETTLED, Rest.SETTLED]) == [0.0, 1000.0]


async def test_an_action_is_followed_by_another_look_at_once() -> None:
    assert await looks(Clock(), [Rest.AGAIN, Rest.SETTLED]) == [0.0, 0.0]


async def test_what_is_gone_is_never_looked_at_again() -> None:
    assert await looks(Clock(), [Rest.GONE, Rest.SETTLED]) == [0.0]


async def test_a_stalled_key_is_looked_at_again_only_at_the_slow_resync() -> None:
    assert await looks(Clock(), [StalledError("InvalidTopic", ""), Rest.SETTLED]) == [0.0, 1000.0]


async def test_a_waiting_key_is_tried_again_sooner_and_success_makes_the_bell_forget() -> None:
    waiting = WaitingError("PolicyMissing", "", after=4.0)
    assert await looks(Clock(), [waiting, waiting, Rest.AGAIN, waiting, Rest.GONE]) == [0.0, 3.0, 9.0, 9.0, 12.0]


async def test_a_bug_in_one_object_stops_nobody_else() -> None:
    clock = Clock()
    seen = []

    async def work(key: Key) -> Rest:
        seen.append(key)
        if key == A:
            raise ZeroDivisionError
        return Rest.GONE

    ringing = bell(clock, work)
    for key in (A, B):
        ringing.ring(key)
    await ringing.run_due()
    assert seen == [A, B]
    assert ringing.next_due == 0.75


async def test_workers_share_the_work_and_no_key_is_worked_on_twice_at_once() -> None:
    busy: set[Key] = set()
    one_busy, all_busy, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    looked: list[Key] = []

    async def work(key: Key) -> Rest:
        assert key not in busy
        busy.add(key)
        looked.append(key)
        one_busy.set()
        if len(busy) == 2:
            all_busy.set()
        await all_busy.wait()
        busy.discard(key)
        if len(looked) == 3:
            ended.set()
        return Rest.GONE

    ringing = Bell(work, 1000.0)
    running = asyncio.create_task(ringing.run(2))
    ringing.ring(A)
    await asyncio.wait_for(one_busy.wait(), 30)
    ringing.ring(A)
    ringing.ring(B)
    await asyncio.wait_for(ended.wait(), 30)
    running.cancel()
    assert sorted(looked) == [A, A, B]


async def test_a_worker_that_waits_wakes_up_when_the_bell_rings() -> None:
    looked = asyncio.Event()

    async def work(_: Key) -> Rest:
        looked.set()
        return Rest.GONE

    ringing = Bell(work, 1000.0)
    running = asyncio.create_task(ringing.run(1))
    await asyncio.sleep(0)
    ringing.ring(A)
    await asyncio.wait_for(looked.wait(), 30)
    running.cancel()
