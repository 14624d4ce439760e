import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from support.metrics import counted
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError, WaitingError
from topicschema.reconcile.runtime.schedule import BrokerPartitions, RescheduleError, require_partition
from topicschema.reconcile.runtime.work_queue import HIGH_PRIORITY, Backoff, Key, Result, WorkQueue

A, B, C = (Key("topicschemas", "shop", name) for name in "abc")


class Clock:
    """A time that only moves when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("error", "first"),
    [
        (WaitingError("PolicyNotFound", "", after=4.0), 4.0),
        (WaitingError("BrokerUnavailable", "a broker that asks for no pause", after=0.0), 1.0),
        (ConflictError(""), 0.02),
        (ValueError(), 1.0),
    ],
)
def test_the_time_to_the_next_try_doubles_up_to_five_minutes(error: Exception, first: float) -> None:
    backoff = Backoff(lambda: 1.0)
    delays = [backoff.delay(A, error) or 0.0 for _ in range(40)]
    assert delays[0] == first
    assert all(later == min(2 * earlier, 300.0) for earlier, later in pairwise(delays[:17]))
    assert delays[-1] == 300.0
    assert backoff.delay(B, error) == first
    backoff.forget(A)
    assert backoff.delay(A, error) == first


def test_tries_are_spread_so_that_what_failed_together_does_not_come_back_together() -> None:
    error = WaitingError("PolicyNotFound", "", after=4.0)
    assert Backoff(lambda: 0.0).delay(A, error) == 2.0
    assert Backoff(lambda: 0.5).delay(A, error) == 3.0


def test_what_only_a_person_can_mend_is_not_tried_again() -> None:
    assert Backoff(lambda: 1.0).delay(A, StalledError("InvalidTopic", "")) is None


def work_queue(clock: Clock, work: Callable[[Key], Awaitable[Result]]) -> WorkQueue:
    return WorkQueue(work, 1000.0, clock=clock, chance=lambda: 0.5)


async def looks(clock: Clock, results: list[Result | Exception]) -> list[float]:
    """The times at which a key is looked at when its passes end as told; the clock only moves to when it is due."""
    times: list[float] = []
    ended = iter(results)

    async def work(_: Key) -> Result:
        times.append(clock.now)
        result = next(ended)
        if isinstance(result, Exception):
            raise result
        return result

    queue = work_queue(clock, work)
    queue.add(A)
    while len(times) < len(results) and queue.next_due is not None:
        clock.now = queue.next_due
        await queue.run_due()
    return times


async def test_a_settled_key_is_looked_at_again_after_a_long_time() -> None:
    assert await looks(Clock(), [Result.DONE, Result.DONE]) == [0.0, 1000.0]


async def test_an_action_is_followed_by_another_look_at_once() -> None:
    assert await looks(Clock(), [Result.REQUEUE, Result.DONE]) == [0.0, 0.0]


async def test_what_is_gone_is_never_looked_at_again() -> None:
    assert await looks(Clock(), [Result.DELETED, Result.DONE]) == [0.0]


@pytest.mark.parametrize(
    ("result", "label"),
    [
        (Result.DONE, "success"),
        (Result.REQUEUE, "requeue"),
        (Result.DELETED, "deleted"),
        (RescheduleError("pulsar:8080"), "rescheduled"),
        (StalledError("InvalidTopic", ""), "InvalidTopic"),
        (ValueError(), "InternalError"),
    ],
)
async def test_the_result_of_each_pass_is_counted(result: Result | Exception, label: str) -> None:
    before = counted("reconcile_total", kind="topicschemas", result=label)
    await looks(Clock(), [result, Result.DELETED])
    assert counted("reconcile_total", kind="topicschemas", result=label) == before + 1


async def test_a_stalled_key_is_looked_at_again_only_at_the_slow_resync() -> None:
    assert await looks(Clock(), [StalledError("InvalidTopic", ""), Result.DONE]) == [0.0, 1000.0]


async def test_a_waiting_key_is_tried_again_sooner_and_success_makes_the_bell_forget() -> None:
    waiting = WaitingError("PolicyNotFound", "", after=4.0)
    assert await looks(Clock(), [waiting, waiting, Result.REQUEUE, waiting, Result.DELETED]) == [
        0.0,
        3.0,
        9.0,
        9.0,
        12.0,
    ]


async def test_a_bug_in_one_object_stops_nobody_else() -> None:
    clock = Clock()
    seen = []

    async def work(key: Key) -> Result:
        seen.append(key)
        if key == A:
            raise ZeroDivisionError
        return Result.DELETED

    queue = work_queue(clock, work)
    for key in (A, B):
        queue.add(key)
    await queue.run_due()
    assert seen == [A, B]
    assert queue.next_due == 0.75


async def test_workers_share_the_work_and_no_key_is_worked_on_twice_at_once() -> None:
    busy: set[Key] = set()
    one_busy, all_busy, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    looked: list[Key] = []

    async def work(key: Key) -> Result:
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
        return Result.DELETED

    queue = WorkQueue(work, 1000.0)
    running = asyncio.create_task(queue.run(2))
    queue.add(A)
    await asyncio.wait_for(one_busy.wait(), 30)
    queue.add(A)
    queue.add(B)
    await asyncio.wait_for(ended.wait(), 30)
    running.cancel()
    assert sorted(looked) == [A, A, B]


async def test_a_worker_that_waits_wakes_up_when_the_bell_rings() -> None:
    looked = asyncio.Event()

    async def work(_: Key) -> Result:
        looked.set()
        return Result.DELETED

    queue = WorkQueue(work, 1000.0)
    running = asyncio.create_task(queue.run(1))
    await asyncio.sleep(0)
    queue.add(A)
    await asyncio.wait_for(looked.wait(), 30)
    running.cancel()


async def test_keys_of_a_full_partition_hold_up_no_other_partition() -> None:
    hung, looked = asyncio.Event(), asyncio.Event()
    hanging: list[Key] = []

    async def work(key: Key) -> Result:
        if key == C:
            looked.set()
        else:
            require_partition("silent:8080")
            hanging.append(key)
            hung.set()
            await asyncio.Event().wait()
        return Result.DELETED

    queue = WorkQueue(work, 1000.0)
    running = asyncio.create_task(queue.run(1))
    for key in (A, B, C):
        queue.add(key)
    for each in (looked, hung):
        await asyncio.wait_for(each.wait(), 30)
    assert hanging == [A]  # B waits for the one place in that partition
    running.cancel()


async def test_a_pass_that_belongs_elsewhere_is_begun_again_there_and_from_then_on_begins_there() -> None:
    begun = 0

    async def work(_: Key) -> Result:
        nonlocal begun
        begun += 1
        require_partition("pulsar:8080")
        return Result.DONE

    partitions = BrokerPartitions[Key]()
    clock = Clock()
    queue = WorkQueue(work, 1000.0, partitions=partitions, clock=clock, chance=lambda: 0.5)
    queue.add(A)
    assert await queue.run_due() == 2
    assert (begun, partitions.of(A), queue.next_due) == (2, "pulsar:8080", 1000.0)
    clock.now = 1000.0
    assert await queue.run_due() == 1


async def test_what_is_enqueued_ahead_is_looked_at_before_all_that_waited_longer() -> None:
    clock, looked = Clock(), []

    async def work(key: Key) -> Result:
        looked.append(key)
        return Result.DELETED

    queue = work_queue(clock, work)
    queue.add(A)
    clock.now = 3600.0
    queue.add(B, HIGH_PRIORITY)
    await queue.run_due()
    assert looked == [B, A]


async def test_a_pass_that_is_begun_again_elsewhere_keeps_its_turn() -> None:
    clock, looked = Clock(), []

    async def work(key: Key) -> Result:
        require_partition("pulsar:8080")
        looked.append(key)
        return Result.DELETED

    partitions = BrokerPartitions[Key]()
    partitions.assign(B, "pulsar:8080")
    queue = WorkQueue(work, 1000.0, partitions=partitions, clock=clock)
    for key in (A, B):
        queue.add(key)
        clock.now += 1.0
    await queue.run_due()
    assert looked == [A, B]


async def test_when_a_broker_is_back_all_who_waited_for_it_are_looked_at_soon() -> None:
    clock, away, looked = Clock(), {"uid"}, []
    partitions = BrokerPartitions[Key](is_away=away.__contains__)
    for key in (A, B):
        partitions.assign(key, "pulsar:8080")

    async def work(key: Key) -> Result:
        looked.append((key, clock.now))
        require_partition("" if key == C else "pulsar:8080", "" if key == C else "uid")
        if away and key in (A, B):
            raise WaitingError("BrokerUnavailable", "", after=20.0)
        return Result.DONE

    queue = WorkQueue(work, 1000.0, partitions=partitions, clock=clock, chance=lambda: 0.5)
    for key in (A, B, C):
        queue.add(key)
    while clock.now < 200.0:
        await queue.run_due()
        clock.now = queue.next_due or 0.0
    early = [key for key, when in looked if 0.0 < when < 200.0]
    assert early.count(A) + early.count(B) >= 9  # one of them every 20 s or sooner, not each of them
    assert early.count(A) + early.count(B) <= 13
    away.clear()
    looked.clear()
    await queue.run_due()
    (first,) = {key for key, _ in looked}
    assert queue.next_due == clock.now + 5.0  # the other one, spread over ten seconds
    clock.now += 5.0
    await queue.run_due()
    assert {key for key, _ in looked} == {A, B}
    assert first in {A, B}


async def test_what_is_gone_has_no_partition_any_more() -> None:
    partitions = BrokerPartitions[Key]()
    partitions.assign(A, "pulsar:8080")

    async def work(_: Key) -> Result:
        return Result.DELETED

    queue = WorkQueue(work, 1000.0, partitions=partitions)
    queue.add(A)
    await queue.run_due()
    assert partitions.of(A) == ""
