"""A controller's passes in this process, against a real API server and a real broker, to be killed at any call.

No queue, no watch: a test says when a pass begins. A kill is the end of the pass where it stands, and of all that it
remembered; the next one is another process's as far as it can tell.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum

from support.kubernetes.passes import reconcile_context
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
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.reconcile.topicschema.reconciler import TopicSchemas

_PASSES = 20
_RESYNC = 600.0


class Of(Enum):
    """Where a place is counted: all calls to the broker, those that write there, or the writes at the API server."""

    CALLS = "call"
    UPLOADS = "write at the broker"
    RECORD = "write at the API server"


@dataclass(frozen=True, slots=True)
class Place:
    """A moment of a flow: before its so manieth call or write, or after it; at the API server always before it."""

    of: Of
    number: int
    is_before: bool = True

    def __str__(self) -> str:
        """As a test is named by it."""
        return f"{'before' if self.is_before else 'after'} {self.of.value} {self.number}"


class KilledError(BaseException):
    """The controller is killed at a write of the API server."""


@dataclass(slots=True)
class _Fence:
    """Counts the writes at the API server, and kills at one of them."""

    killed_at: int
    writes: int = 0

    def pass_through(self) -> None:
        self.writes += 1
        if self.writes == self.killed_at:
            raise KilledError


@dataclass(slots=True)
class Process:
    """What one controller has in memory."""

    ctx: ReconcileContext
    namespace: str
    fence: _Fence
    errors: list[str] = field(default_factory=list)

    async def govern(self) -> None:
        """Pass over the policy until it is settled."""
        await self._settle(
            NamespaceSchemaPolicies(self.ctx, _RESYNC).reconcile, NAMESPACE_SCHEMA_POLICY.plural, "orders"
        )

    async def settle(self, name: str = "created") -> Result | None:
        """Pass over the TopicSchema until it is settled, or gone; None where it stops with an error."""
        return await self._settle(TopicSchemas(self.ctx).reconcile, TOPIC_SCHEMA.plural, name)

    async def _settle(self, reconcile: Callable[[Key], Awaitable[Result]], plural: str, name: str) -> Result | None:
        key = Key(plural, self.namespace, name)
        for _ in range(_PASSES):
            try:
                result = await reconcile(key)
            except ConflictError:
                continue
            except TopicSchemaError as error:
                self.errors.append(error.reason)
                return None
            if result is not Result.REQUEUE:
                return result
        raise AssertionError("it never settles")

    @property
    def writes(self) -> int:
        """How much was written at the API server, or was about to be."""
        return self.fence.writes


@asynccontextmanager
async def process(shop: WatchedShop, killed_at_write: int = 0) -> AsyncIterator[Process]:
    """A controller that has just begun; it is killed at its so manieth write at the API server, or not."""
    fence = _Fence(killed_at_write)
    client = shop.shop.client.fenced(fence.pass_through)
    brokers = Brokers(client, AllowedHosts.parse("127.0.0.1"), lambda: None)
    async with reconcile_context(client, brokers) as ctx:
        ctx.index.are_topics_listed = True
        yield Process(ctx, shop.namespace, fence)


async def killed(shop: BrokeredShop, work: Callable[[Process], Awaitable[object]], place: Place) -> bool:
    """Whether the place of the work was reached; there the process is killed."""
    if place.of is Of.RECORD:
        return await _killed_writing(shop, work, place.number)
    return await _killed_asking(shop, work, place)


async def _killed_asking(shop: BrokeredShop, work: Callable[[Process], Awaitable[object]], place: Place) -> bool:
    loop = asyncio.get_running_loop()

    async def run() -> None:
        async with process(shop.watched) as running:
            await work(running)

    task = asyncio.create_task(run())

    async def ended() -> None:
        task.cancel()
        await asyncio.wait({task})

    async def kill() -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(ended(), loop))

    proxy = shop.proxy
    proxy.forget()
    hooked = broker_faults.before if place.is_before else broker_faults.after
    proxy.fault = hooked(place.number, kill, lambda call: place.of is Of.CALLS or call.is_write)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return task.cancelled()
    finally:
        proxy.fault = broker_faults.untouched


async def _killed_writing(shop: BrokeredShop, work: Callable[[Process], Awaitable[object]], number: int) -> bool:
    async with process(shop.watched, number) as running:
        try:
            await work(running)
        except KilledError:
            return True
    return False
