import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from support.metrics import counted
from topicschema.broker.errors import BrokerForbiddenError
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError, WaitingError
from topicschema.reconcile.runtime.work_queue import HIGH_PRIORITY, Backoff, Key, Result, WorkQueue

KEYS = A, B, C, D = tuple(Key("topicschemas", "shop", name) for name in "abcd")


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
        (BrokerForbiddenError("a topic whose broker denies access"), 60.0),
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


BROKERS = {A: "silent:8080", B: "silent:8080", C: "pulsar:8080"}


async def broker_of(key: Key) -> str:
    return BROKERS.get(key, "")


@pytest.mark.parametrize("other", [C, D], ids=["another broker", "no broker"])
async def test_keys_of_a_broker_that_hangs_hold_up_no_other_key(other: Key) -> None:
    hung, looked = asyncio.Event(), asyncio.Event()
    hanging: list[Key] = []

    async def work(key: Key) -> Result:
        if key == other:
            looked.set()
            return Result.DELETED
        hanging.append(key)
        hung.set()
        await asyncio.Event().wait()
        return Result.DELETED

    queue = WorkQueue(work, 1000.0, broker_of=broker_of)
    running = asyncio.create_task(queue.run(1))
    for key in (A, B):
        queue.add(key)
    await asyncio.wait_for(hung.wait(), 30)
    queue.add(other)
    await asyncio.wait_for(looked.wait(), 30)
    assert hanging == [A]  # B waits for the one slot of that broker
    assert queue.waiting == 1
    running.cancel()


async def test_an_edit_is_looked_at_before_keys_that_wait_longer_for_the_same_broker() -> None:
    looked: list[Key] = []
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work(key: Key) -> Result:
        looked.append(key)
        begun.set()
        await may_end.wait()
        if len(looked) == len(KEYS):
            ended.set()
        return Result.DELETED

    async def one_broker(_: Key) -> str:
        return "pulsar:8080"

    queue = WorkQueue(work, 1000.0, broker_of=one_broker)
    running = asyncio.create_task(queue.run(1))
    for key in KEYS:
        queue.add(key)
    await asyncio.wait_for(begun.wait(), 30)
    queue.add(D, HIGH_PRIORITY)
    may_end.set()
    await asyncio.wait_for(ended.wait(), 30)
    running.cancel()
    assert looked == [A, D, B, C]  # and D once: its reconcile had not begun


async def test_a_broker_that_cannot_be_told_is_an_error_of_its_key_alone() -> None:
    clock = Clock()
    seen: list[Key] = []

    async def work(key: Key) -> Result:
        seen.append(key)
        return Result.DELETED

    async def fails(key: Key) -> str:
        if key == A:
            raise ZeroDivisionError
        return ""

    queue = WorkQueue(work, 1000.0, broker_of=fails, clock=clock, chance=lambda: 0.5)
    for key in (A, B):
        queue.add(key)
    await queue.run_due()
    assert seen == [B]
    assert queue.next_due == 0.75


async def test_a_queue_ends_while_keys_wait_for_their_turn() -> None:
    begun = asyncio.Event()

    async def work(_: Key) -> Result:
        begun.set()
        await asyncio.Event().wait()
        return Result.DELETED

    queue = WorkQueue(work, 1000.0, broker_of=broker_of)
    running = asyncio.create_task(queue.run(1))
    for key in (A, B):
        queue.add(key)
    await asyncio.wait_for(begun.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


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
