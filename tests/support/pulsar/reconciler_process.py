"""A controller's reconciles in this process, with a real API server and a real broker, that a test kills at any call.

There is no queue and no watch: a test starts each reconcile. A kill ends the reconcile and drops its memory, so that
the next one runs as in another process.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum

from support.kubernetes.reconciling import reconcile_context
from support.kubernetes.watched_namespace import WatchedShop
from support.pulsar.brokered_namespace import BrokeredShop
from testbed import broker_faults
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import TopicSchemaError
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler

_PASSES = 20
_MOST_CALLS = 25
_RESYNC = 600.0


class CallKind(Enum):
    """The calls that are counted: all calls to the broker, the writes to it, or the writes to the API server."""

    CALLS = "call"
    UPLOADS = "write at the broker"
    RECORD = "write at the API server"


@dataclass(frozen=True, slots=True)
class KillPoint:
    """A moment of a flow: before or after the call with that number. At the API server it is always before."""

    kind: CallKind
    number: int
    is_before: bool = True

    def __str__(self) -> str:
        """Return its part of a test's name."""
        return f"{'before' if self.is_before else 'after'} {self.kind.value} {self.number}"


class KilledError(BaseException):
    """The controller is killed at a write to the API server."""


@dataclass(slots=True)
class _Writes:
    """A count of the writes to the API server that kills at one of them."""

    kill_at: int
    count: int = 0

    def add(self) -> None:
        self.count += 1
        if self.count == self.kill_at:
            raise KilledError


@dataclass(slots=True)
class Process:
    """One controller process."""

    ctx: ReconcileContext
    namespace: str
    counter: _Writes
    errors: list[str] = field(default_factory=list)

    async def govern(self) -> None:
        """Reconcile the policy until it is settled."""
        await self._settle(
            NamespaceSchemaPolicies(self.ctx, _RESYNC).reconcile, NAMESPACE_SCHEMA_POLICY.plural, "orders"
        )

    async def settle(self, name: str = "created") -> ReconcileResult | None:
        """Reconcile the TopicSchema until it is settled or gone. Return None if it stops with an error."""
        return await self._settle(TopicSchemaReconciler(self.ctx).reconcile, TOPIC_SCHEMA.plural, name)

    async def _settle(
        self, reconcile: Callable[[Key], Awaitable[ReconcileResult]], plural: str, name: str
    ) -> ReconcileResult | None:
        key = Key(plural, self.namespace, name)
        for _ in range(_PASSES):
            try:
                result = await reconcile(key)
            except ConflictError:
                continue
            except TopicSchemaError as error:
                self.errors.append(error.reason)
                return None
            if result is not ReconcileResult.REQUEUE:
                return result
        raise AssertionError("the resource does not settle")

    @property
    def writes(self) -> int:
        """The number of writes to the API server, with one that was refused."""
        return self.counter.count


@asynccontextmanager
async def process(shop: WatchedShop, kill_at_write: int = 0) -> AsyncIterator[Process]:
    """Yield a controller that has just started. It is killed at that write to the API server, if there is a number."""
    counter = _Writes(kill_at_write)
    client = shop.shop.client.fenced(counter.add)
    brokers = Brokers(client, AllowedHosts.parse("127.0.0.1"), lambda: None)
    async with reconcile_context(client, brokers) as ctx:
        ctx.index.are_topics_listed = True
        yield Process(ctx, shop.namespace, counter)


async def run_until_killed(
    shop: BrokeredShop, work: Callable[[Process], Awaitable[object]], kill_point: KillPoint
) -> bool:
    """Run the work, kill its process at that point, and return True if the point was reached."""
    if kill_point.kind is CallKind.RECORD:
        return await _run_until_api_write(shop, work, kill_point.number)
    return await _run_until_broker_call(shop, work, kill_point)


async def _run_until_broker_call(
    shop: BrokeredShop, work: Callable[[Process], Awaitable[object]], place: KillPoint
) -> bool:
    loop = asyncio.get_running_loop()

    async def run() -> None:
        async with process(shop.watched) as running:
            await work(running)

    task = asyncio.create_task(run())

    async def cancel() -> None:
        task.cancel()
        await asyncio.wait({task})

    async def kill() -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(cancel(), loop))

    proxy = shop.proxy
    proxy.clear()
    at_call = broker_faults.before if place.is_before else broker_faults.after
    proxy.fault = at_call(place.number, kill, lambda call: place.kind is CallKind.CALLS or call.is_write)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return task.cancelled()
    finally:
        proxy.fault = broker_faults.forward


async def _run_until_api_write(shop: BrokeredShop, work: Callable[[Process], Awaitable[object]], number: int) -> bool:
    async with process(shop.watched, number) as running:
        try:
            await work(running)
        except KilledError:
            return True
    return False


async def kill_everywhere(is_killed: Callable[[KillPoint], Awaitable[bool]]) -> Counter[CallKind]:
    """Kill at every point until one is not reached, and return the number of calls of each kind."""
    counts = Counter[CallKind]()
    for kind in (CallKind.CALLS, CallKind.RECORD):
        for number in range(1, _MOST_CALLS):
            if not await is_killed(KillPoint(kind, number)):
                break
            counts[kind] += 1
            if kind is CallKind.CALLS:
                assert await is_killed(KillPoint(kind, number, is_before=False))
    return counts
