"""The work queue: which key is reconciled next, and when again. `topicschema` and `policy` reconcile.

`Backoff` is pure, and gets chance from its caller, as `schedule` gets the time; `WorkQueue` uses both.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from topicschema import telemetry
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.reconcile.runtime.schedule import (
    BrokerPartitions,
    RescheduleError,
    Schedule,
    current_policy,
    enter_partition,
)

_LOG = logging.getLogger(__name__)
HIGH_PRIORITY = -86_400.0
"""As the time within which a key is reconciled: before all that has been due for less than a day."""
_RETURN_SECONDS = 10.0  # over which the keys that waited for a broker are spread
_CONFLICT_DELAY = 0.02
_BUG_DELAY = 1.0
_LONGEST_DELAY = 300.0
_MOST_DOUBLINGS = 16
_RECHECK_SECONDS = 30.0
_RECHECK_GAP = 0.5


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """An object to reconcile: the plural of its kind, its namespace and name."""

    plural: str
    namespace: str
    name: str


class Result(StrEnum):
    """The result of a reconcile without an error: resync later, reconcile again at once, or the object is gone."""

    DONE = "success"
    REQUEUE = "requeue"
    DELETED = "deleted"


class Backoff:
    """The exponential backoff of each key after errors, with jitter; a reconcile without an error resets it."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._failures: dict[Key, int] = {}
        self._chance = chance

    def delay(self, key: Key, error: Exception) -> float | None:
        """Seconds to the next try, at most five minutes; None where only a change of the object can help."""
        if isinstance(error, StalledError):
            return None
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        first = _BUG_DELAY
        if isinstance(error, ConflictError):
            first = _CONFLICT_DELAY
        elif isinstance(error, WaitingError):
            first = error.after or _BUG_DELAY  # a broker may ask for none: doubled, that is none for ever
        longest: float = min(first * 2 ** min(failures, _MOST_DOUBLINGS), _LONGEST_DELAY)
        return longest * (0.5 + self._chance() / 2)

    def forget(self, key: Key) -> None:
        """Reset the backoff of `key`, which was reconciled without an error."""
        self._failures.pop(key, None)


class WorkQueue:
    """A work queue with its workers.

    `work` reconciles one key; `resync` is after how many seconds a key that is done is reconciled again.
    """

    def __init__(
        self,
        work: Callable[[Key], Awaitable[Result]],
        resync: float,
        *,
        partitions: BrokerPartitions[Key] | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._work = work
        self._resync = resync
        self._clock = clock
        self._chance = chance
        self._partitions = partitions or BrokerPartitions[Key]()
        self._schedule = Schedule(self._partitions.of)
        self._backoff = Backoff(chance)
        self._changed = asyncio.Event()
        self._last_recheck = 0.0

    def add(self, key: Key, after: float = 0.0) -> None:
        """Add `key`, to be reconciled within `after` seconds; a key that is added repeatedly is reconciled once."""
        self._schedule.add(key, self._clock() + after)
        self._changed.set()

    @property
    def waiting(self) -> int:
        """Number of keys that are due and not yet being reconciled."""
        return self._schedule.waiting(self._clock())

    @property
    def next_due(self) -> float | None:
        """Time at which the next key is due, by the clock; None if the queue is empty."""
        return self._schedule.next_due

    async def run(self, workers: int) -> None:
        """Reconcile keys that are due, `workers` of a partition at a time, until cancelled."""
        self._schedule.width = workers
        async with asyncio.TaskGroup() as group:
            while True:
                key = self._schedule.get(self._clock())
                if key is None:
                    await self._wait()
                else:
                    group.create_task(self._reconcile(key))

    async def run_due(self) -> int:
        """Reconcile all keys that are due now, one after the other; return how often `work` was called."""
        count = 0
        while (key := self._schedule.get(self._clock())) is not None:
            await self._reconcile(key)
            count += 1
        return count

    async def _wait(self) -> None:
        self._changed.clear()
        due = self._schedule.next_due
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(0.0, due - self._clock())):
                await self._changed.wait()

    async def _reconcile(self, key: Key) -> None:
        partition, due = self._schedule.taken(key)
        enter_partition(partition)
        started = self._clock()
        try:
            after = self._after(key, await self._work(key))
            self._wake(key)
        except RescheduleError as error:
            telemetry.RECONCILES.labels(key.plural, error.reason).inc()
            self._partitions.assign(key, error.partition)
            after = due - self._clock()  # it keeps its turn
        except Exception as error:  # noqa: BLE001 - one object's bug must not stop the others; it is logged and counted
            after = self._after_error(key, error)
        finally:
            self._schedule.done(key)
            self._changed.set()  # there is room again
        telemetry.RECONCILE_DURATION.labels(key.plural).observe(self._clock() - started)
        if after is not None:
            self.add(key, after)

    def _after(self, key: Key, result: Result) -> float | None:
        self._backoff.forget(key)
        telemetry.RECONCILES.labels(key.plural, result).inc()
        if result is Result.DELETED:
            self._partitions.forget(key)
            return None
        return 0.0 if result is Result.REQUEUE else self._resync_delay()

    def _wake(self, key: Key) -> None:
        """Enqueue others, now that `key` waits for no broker: all, if it is back; else a new probe."""
        outages = self._partitions.outages
        for other in outages.end(current_policy()):
            self._backoff.forget(other)
            if other != key:
                self.add(other, self._chance() * _RETURN_SECONDS)
        for probe in outages.leave(key):
            self.add(probe)

    def _after_error(self, key: Key, error: Exception) -> float:
        is_ours = isinstance(error, TopicSchemaError)
        reason = error.reason if isinstance(error, TopicSchemaError) else "InternalError"
        telemetry.RECONCILES.labels(key.plural, reason).inc()
        fields = {"kind": key.plural, "namespace": key.namespace, "name": key.name, "reason": reason}
        if is_ours:
            _LOG.info("reconcile incomplete, will retry", extra={"fields": fields})
        else:
            telemetry.INTERNAL_ERRORS.labels(key.plural).inc()
            _LOG.error("unexpected error during reconcile", exc_info=error, extra={"fields": fields})
        delay = self._backoff.delay(key, error)
        if delay is not None and isinstance(error, WaitingError):
            waited = self._partitions.outages.delay(key, current_policy(), error.after, delay)
            if waited is not None:
                return waited
        self._wake(key)
        if isinstance(error, StalledAtBrokerError):
            return self._recheck_delay()
        return self._resync_delay() if delay is None else delay

    def _recheck_delay(self) -> float:
        """Return when to ask the broker again. A broker that lost everything stalls all topics: two a second."""
        now = self._clock()
        self._last_recheck = max(now + _RECHECK_SECONDS, self._last_recheck + _RECHECK_GAP)
        return min(self._last_recheck - now, self._resync_delay())

    def _resync_delay(self) -> float:
        # Spread, so that keys that were done together are not reconciled together for ever.
        return self._resync * (0.75 + self._chance() / 2)
