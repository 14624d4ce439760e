import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import pytest

from support.kubernetes.reconciling import run_due
from support.metrics import counted
from topicschema.broker.errors import BrokerForbiddenError
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.reasons import Reason
from topicschema.reconcile.runtime.broker_slots import BrokerSlots
from topicschema.reconcile.runtime.work_queue import HIGH_PRIORITY, Backoff, Key, ReconcileResult, WorkQueue

KEYS = A, B, C, D = tuple(Key("topicschemas", "shop", name) for name in "abcd")
BROKERS = {A: "silent:8080", B: "silent:8080", C: "pulsar:8080"}
INVALID = StalledError(Reason.INVALID_TOPIC, "")
WAITING = WaitingError(Reason.POLICY_NOT_FOUND, "", after=4.0)


async def broker_of(key: Key) -> str:
    return BROKERS.get(key, "")


class Clock:
    """A time that only moves when it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def work_queue(
    clock: Clock, work: Callable[[Key], Awaitable[ReconcileResult]], broker: Callable[[Key], Awaitable[str]] = broker_of
) -> WorkQueue:
    return WorkQueue(work, 1000.0, clock=clock, chance=lambda: 0.5, broker_of=broker)


@asynccontextmanager
async def running(work: Callable[[Key], Awaitable[ReconcileResult]], workers: int = 1) -> AsyncIterator[WorkQueue]:
    """Yield a queue that runs until the end of the context."""
    queue = WorkQueue(work, 1000.0, broker_of=broker_of)
    task = asyncio.create_task(queue.run(workers))
    async with asyncio.timeout(30):
        yield queue
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("error", "first"),
    [
        (WAITING, 4.0),
        (WaitingError(Reason.BROKER_UNAVAILABLE, "a broker that requests no pause", after=0.0), 1.0),
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


def test_tries_are_spread_and_an_error_that_a_user_must_fix_has_none() -> None:
    assert [Backoff(lambda each=each: each).delay(A, WAITING) for each in (0.0, 0.5)] == [2.0, 3.0]
    assert Backoff(lambda: 1.0).delay(A, INVALID) is None


@pytest.mark.parametrize(
    ("results", "times", "label"),
    [
        ([ReconcileResult.DONE, ReconcileResult.DONE], [0.0, 1000.0], "success"),
        ([ReconcileResult.REQUEUE, ReconcileResult.DONE], [0.0, 0.0], "requeue"),
        ([ReconcileResult.DELETED, ReconcileResult.DONE], [0.0], "deleted"),
        ([INVALID, ReconcileResult.DONE], [0.0, 1000.0], "InvalidTopic"),
        ([ValueError(), ReconcileResult.DONE], [0.0, 0.75], "InternalError"),
        (
            [WAITING, WAITING, ReconcileResult.REQUEUE, WAITING, ReconcileResult.DELETED],
            [0.0, 3.0, 9.0, 9.0, 12.0],
            "PolicyNotFound",
        ),
    ],
)
async def test_a_result_is_counted_and_determines_the_time_of_the_next_reconcile(
    results: list[ReconcileResult | Exception], times: list[float], label: str
) -> None:
    clock, reconciled, before = Clock(), list[float](), counted("reconcile_total", kind="topicschemas", result=label)
    remaining = iter(results)

    async def work(_: Key) -> ReconcileResult:
        reconciled.append(clock.now)
        result = next(remaining)
        if isinstance(result, Exception):
            raise result
        return result

    queue = work_queue(clock, work)
    queue.add(A)
    while len(reconciled) < len(results) and queue.next_due is not None:
        clock.now = queue.next_due
        await run_due(queue)
    assert reconciled == times
    assert counted("reconcile_total", kind="topicschemas", result=label) > before


@pytest.mark.parametrize("fails", ["work", "broker_of"])
async def test_a_bug_is_an_error_of_its_key_alone(fails: str) -> None:
    reconciled = []

    async def work(key: Key) -> ReconcileResult:
        reconciled.append(key)
        if (fails, key) == ("work", A):
            raise ZeroDivisionError
        return ReconcileResult.DELETED

    async def broker(key: Key) -> str:
        if (fails, key) == ("broker_of", A):
            raise ZeroDivisionError
        return ""

    queue = work_queue(Clock(), work, broker)
    for key in (A, B):
        queue.add(key)
    await run_due(queue)
    assert reconciled == ([A, B] if fails == "work" else [B])
    assert queue.next_due == 0.75


async def test_workers_share_the_work_and_no_key_is_reconciled_twice_at_once() -> None:
    busy: set[Key] = set()
    one_busy, all_busy, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    reconciled: list[Key] = []

    async def work(key: Key) -> ReconcileResult:
        assert key not in busy
        busy.add(key)
        reconciled.append(key)
        one_busy.set()
        if len(busy) == 2:
            all_busy.set()
        await all_busy.wait()
        busy.discard(key)
        if len(reconciled) == 3:
            ended.set()
        return ReconcileResult.DELETED

    async with running(work, 2) as queue:
        await asyncio.sleep(0)  # until it waits for a key
        queue.add(A)
        await one_busy.wait()
        queue.add(A)
        queue.add(B)
        await ended.wait()
    assert sorted(reconciled) == [A, A, B]


@pytest.mark.parametrize("other", [C, D], ids=["another broker", "no broker"])
async def test_keys_of_a_broker_that_hangs_delay_no_other_key(other: Key) -> None:
    hung, reconciled = asyncio.Event(), asyncio.Event()
    hanging: list[Key] = []

    async def work(key: Key) -> ReconcileResult:
        if key == other:
            reconciled.set()
            return ReconcileResult.DELETED
        hanging.append(key)
        hung.set()
        await asyncio.Event().wait()
        return ReconcileResult.DELETED

    async with running(work) as queue:
        for key in (A, B):
            queue.add(key)
        await hung.wait()
        queue.add(other)
        await reconciled.wait()
        assert hanging == [A]  # B waits for the one slot of that broker
        assert queue.waiting == 1


async def test_an_edit_is_reconciled_before_keys_that_wait_longer_for_the_same_broker() -> None:
    reconciled: list[Key] = []
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    keys = [Key("topicschemas", "shop", name) for name in "efgh"]

    async def work(key: Key) -> ReconcileResult:
        reconciled.append(key)
        begun.set()
        await may_end.wait()
        if len(reconciled) == len(keys):
            ended.set()
        return ReconcileResult.DELETED

    async with running(work) as queue:
        for key in keys:
            queue.add(key)
        await begun.wait()
        queue.add(keys[3], HIGH_PRIORITY)
        may_end.set()
        await ended.wait()
    assert reconciled == [keys[0], keys[3], *keys[1:3]]  # and the edit once: its reconcile had not begun


async def test_a_key_that_is_cancelled_as_it_gets_its_slot_releases_it() -> None:
    slots = BrokerSlots[str](lambda _: "shop")

    async def enter(key: str) -> None:
        async with slots.take("pulsar:8080", key):
            pass

    async with slots.take("pulsar:8080", "first"):
        waiting = [asyncio.create_task(enter(key)) for key in ("second", "third")]
        await asyncio.sleep(0)
    waiting[0].cancel()
    with suppress(asyncio.CancelledError):
        await waiting[0]
    async with asyncio.timeout(30):
        await waiting[1]
        await enter("fourth")


async def test_namespaces_share_the_slots_of_a_broker() -> None:
    slots, order = BrokerSlots[Key](lambda key: key.namespace, limit=2), list[str]()
    keys = [Key("topicschemas", namespace, f"{number}") for namespace in ("evil", "shop") for number in range(4)]
    may_end = asyncio.Event()

    async def work(key: Key) -> None:
        async with slots.take("pulsar:8080", key):
            order.append(f"{key.namespace} {key.name}")
            await may_end.wait()

    slots.set_urgent(keys[3], is_urgent=True)
    slots.set_urgent(keys[6], is_urgent=True)
    tasks = [asyncio.create_task(work(key)) for key in keys]
    await asyncio.sleep(0)
    assert order == ["evil 0", "evil 1"]
    may_end.set()
    await asyncio.wait(tasks)
    assert order[2:] == ["shop 2", "evil 3", "shop 0", "evil 2", "shop 1", "shop 3"]
