"""Leader election with a Lease of coordination.k8s.io/v1, acquired and renewed by compare-and-swap.

Two processes never work at once, whatever the API server or the network does:

* A leader's time runs from just *before* it sent its last successful renewal, and ends `renew_deadline` later.
  Then the fence closes, and the work is cancelled and awaited. It has `duration - renew_deadline` for that.
* A candidate waits for `duration` from just *after* it read the last change of the lease. That is later than the
  renewal was sent, on any clock: only durations are compared, never the clocks of two machines.
* Both write with the resourceVersion that they read, so one of two simultaneous candidates loses.

A write in flight when the fence closes is cut off, but may still reach an API server that was silent. Its own
resourceVersion decides what it can overwrite.
"""

import asyncio
import contextlib
import logging
import math
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from topicschema import telemetry
from topicschema.api.kinds import LEASE, Object
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import NotFoundError, NotLeadingError
from topicschema.cluster.microtime import micro_time
from topicschema.core.errors import TopicSchemaError

_LOG = logging.getLogger(__name__)
_JITTER = 1.2


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Times in seconds: a lease's duration, the deadline for its renewal, and the interval between attempts.

    Raises ValueError unless retry < renew_deadline < duration.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError("of a lease's times, 0 < retry < renew deadline < duration must hold")


@dataclass(frozen=True, slots=True)
class _Observed:
    """The last observed change of the lease: its holder, its duration, and the time of the read by the local clock."""

    resource_version: str
    holder: str
    duration: float
    at: float


class _LostError(Exception):
    """Another process holds the lease, or it is gone."""


class Elector:
    """Runner of work in one process at a time.

    `identity` is made unique, so that a restarted process is a new candidate.
    """

    def __init__(self, client: ApiClient, namespace: str, name: str, identity: str, times: LeaseTimes) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._times = times
        self._observed = _Observed("", "", 0.0, -math.inf)
        self._leads_until = -math.inf
        self.identity = f"{identity[:200]}_{uuid.uuid4().hex[:8]}"

    @property
    def is_leading(self) -> bool:
        """True if the lease is certainly held now."""
        return time.monotonic() < self._leads_until

    def assert_leading(self) -> None:
        """Raise NotLeadingError if the lease is not held or may have expired. This is the fence before each write."""
        if not self.is_leading:
            raise NotLeadingError

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` while the lease is held, until it ends by itself. Its error is raised.

        If the lease is lost, `work` is cancelled and awaited, and restarted once the lease is held again. At the end,
        also on a cancellation, `work` has ended and the lease is free.
        """
        while True:
            await self._acquire()
            self._log("leading")
            telemetry.IS_LEADER.set(1)
            try:
                if await self._lead(work):
                    return
            finally:
                telemetry.IS_LEADER.set(0)
            self._log("the lease was lost; the work has ended")

    async def _acquire(self) -> None:
        while True:
            if await self._tried(self._take):
                return
            await asyncio.sleep(self._times.retry * random.uniform(1, _JITTER))  # noqa: S311 - no secret

    async def _lead(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Run `work` under the lease until either ends. Return True if `work` ended by itself."""
        keeping = asyncio.create_task(self._keep())
        working = asyncio.ensure_future(work())
        try:
            await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                await working
                return True
            await keeping  # raises unless the lease was lost
            return False
        finally:
            try:
                await _end(working)  # the lease is renewed while the work ends
            finally:
                await _end(keeping)
                await self._release()

    async def _keep(self) -> None:
        """Renew until that has failed for `renew_deadline`, or until the lease is lost."""
        with contextlib.suppress(TimeoutError, _LostError):
            while True:
                async with asyncio.timeout(self._leads_until - time.monotonic()):
                    await asyncio.sleep(self._times.retry)
                    await self._tried(self._renew)
        self._leads_until = -math.inf

    async def _tried(self, step: Callable[[], Awaitable[bool]]) -> bool:
        """Return the result of `step`, or False if the API server fails.

        Its silence costs half of the renew deadline.
        """
        try:
            async with asyncio.timeout(self._times.renew_deadline / 2):
                return await step()
        except (TopicSchemaError, TimeoutError) as error:
            self._log(getattr(error, "message", "no answer in time"))
            return False

    async def _take(self) -> bool:
        """Acquire the lease if it is free. Return True if it is held now."""
        lease = await self._read()
        if not self._is_free(lease):
            return False
        await self._write(lease)
        return True

    async def _renew(self) -> bool:
        lease = await self._read()
        if lease is None or _holder(lease) != self.identity:
            raise _LostError
        await self._write(lease)
        return True

    async def _release(self) -> None:
        """Free the lease if it is still held. A failure is ignored, because the lease also expires by itself."""
        if self.is_leading:
            self._leads_until = -math.inf
            await self._tried(self._free)

    async def _free(self) -> bool:
        lease = await self._read()
        if lease is not None and _holder(lease) == self.identity:
            lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time()}
            await self._client.replace(LEASE, self._namespace, self._name, lease)
        return True

    async def _read(self) -> Object | None:
        """Return the current lease, or None if it is missing. A change is recorded with the time of the read."""
        try:
            lease = await self._client.get(LEASE, self._namespace, self._name)
        except NotFoundError:
            return None
        self._note(lease)
        return lease

    def _note(self, lease: Object) -> None:
        resource_version = lease["metadata"]["resourceVersion"]
        if resource_version != self._observed.resource_version:
            duration = (lease.get("spec") or {}).get("leaseDurationSeconds") or 0
            self._observed = _Observed(
                resource_version, _holder(lease), max(duration, self._times.duration), time.monotonic()
            )

    def _is_free(self, lease: Object | None) -> bool:
        """Return True if no other process can be leading.

        A deleted lease counts until its last observed duration has passed.
        """
        holder = self._observed.holder if lease is None else _holder(lease)
        return holder in {"", self.identity} or time.monotonic() > self._observed.at + self._observed.duration

    async def _write(self, lease: Object | None) -> None:
        """Hold the lease from now on. Raises ConflictError if it changed since it was read."""
        sent = time.monotonic()
        if lease is None:
            metadata = {"name": self._name, "namespace": self._namespace}
            body: Object = {"apiVersion": LEASE.api_version, "kind": LEASE.name, "metadata": metadata, "spec": {}}
            written = await self._client.create(LEASE, self._namespace, self._held(body))
        else:
            written = await self._client.replace(LEASE, self._namespace, self._name, self._held(lease))
        self._note(written)
        self._leads_until = sent + self._times.renew_deadline

    def _held(self, lease: Object) -> Object:
        spec, now = dict(lease.get("spec") or {}), micro_time()
        if spec.get("holderIdentity") != self.identity:
            transitions = spec.get("leaseTransitions")
            spec |= {"acquireTime": now, "leaseTransitions": 0 if transitions is None else transitions + 1}
        duration = math.ceil(self._times.duration)
        return {
            **lease,
            "spec": {**spec, "holderIdentity": self.identity, "leaseDurationSeconds": duration, "renewTime": now},
        }

    def _log(self, message: str) -> None:
        _LOG.info("%s", message, extra={"fields": {"lease": self._name, "identity": self.identity}})


def _holder(lease: Object) -> str:
    return (lease.get("spec") or {}).get("holderIdentity") or ""


async def _end(task: "asyncio.Future[None]") -> None:
    """Cancel the task and wait until it has ended, even if this coroutine is cancelled meanwhile."""
    if task.done():
        return
    cancelled = False
    task.cancel()
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if not task.cancelled() and task.exception() is not None:
        _LOG.warning("the work ended badly when it was stopped", exc_info=task.exception())
    if cancelled:
        raise asyncio.CancelledError
