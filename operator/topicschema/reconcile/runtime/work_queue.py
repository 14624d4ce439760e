"""The work queue: selects the next key and the time of its next reconcile. `topicschema` and `policy` reconcile.

`Backoff` is pure: its caller passes the random numbers. `WorkQueue` uses it with `schedule`.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from topicschema import telemetry
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.reasons import Reason
from topicschema.reconcile.runtime.broker_slots import BrokerSlots
from topicschema.reconcile.runtime.schedule import Schedule

_LOG = logging.getLogger(__name__)
HIGH_PRIORITY = -86_400.0
"""A value of `after` that puts a key before all other keys of its broker."""
_CONFLICT_DELAY = 0.02
_BUG_DELAY = 1.0
_LONGEST_DELAY = 300.0
_MOST_DOUBLINGS = 16
_RECHECK_SECONDS = 30.0
_RECHECK_GAP = 0.5
_UNKNOWN = "?"  # in place of the broker until its address is read


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """An object to reconcile: the plural of its kind, its namespace and name."""

    plural: str
    namespace: str
    name: str


class ReconcileResult(StrEnum):
    """The result of a reconcile without an error: resync later, reconcile again at once, or deleted."""

    DONE = "success"
    REQUEUE = "requeue"
    DELETED = "deleted"


class Backoff:
    """The exponential backoff of each key after errors, with jitter. A reconcile without an error resets it."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._failures: dict[Key, int] = {}
        self._chance = chance

    def delay(self, key: Key, error: Exception) -> float | None:
        """Return the seconds until the next try, at most 300, or None if only a change of the object can help."""
        if isinstance(error, StalledError):
            return None
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        first = _BUG_DELAY
        if isinstance(error, ConflictError):
            first = _CONFLICT_DELAY
        elif isinstance(error, WaitingError):
            first = error.after or _BUG_DELAY  # a broker may return 0, and 0 doubled stays 0
        longest: float = min(first * 2 ** min(failures, _MOST_DOUBLINGS), _LONGEST_DELAY)
        return longest * (0.5 + self._chance() / 2)

    def forget(self, key: Key) -> None:
        """Reset the backoff of `key` after a reconcile without an error."""
        self._failures.pop(key, None)


async def _no_broker(_: Key) -> str:
    return ""


class WorkQueue:
    """A work queue that reconciles each due key in a task of its own.

    `work` reconciles one key. `broker_of` returns the address of its broker, or "". `resync` is the period in seconds
    of reconciles without a change.

    There is no limit of all tasks, so a slow broker delays no key of another one. Each broker has a limit, which its
    namespaces share. The keys without a broker have one, too, and those whose broker is being read. A waiting task has
    only its key: it takes two or three kilobytes, and reads current state later.
    """

    def __init__(
        self,
        work: Callable[[Key], Awaitable[ReconcileResult]],
        resync: float,
        *,
        broker_of: Callable[[Key], Awaitable[str]] = _no_broker,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._work = work
        self._resync = resync
        self._broker_of = broker_of
        self._clock = clock
        self._chance = chance
        self._schedule = Schedule[Key]()
        self._slots = BrokerSlots[Key](attrgetter("namespace"))
        self._backoff = Backoff(chance)
        self._changed = asyncio.Event()
        self._last_recheck = 0.0

    def add(self, key: Key, after: float = 0.0) -> None:
        """Add `key`, due in `after` seconds. A key that is added repeatedly is reconciled once."""
        if after == HIGH_PRIORITY:
            self._slots.set_urgent(key, is_urgent=True)
        self._schedule.add(key, self._clock() + after)
        self._changed.set()

    @property
    def waiting(self) -> int:
        """The number of keys that are due and not yet being reconciled."""
        return self._schedule.waiting(self._clock())

    @property
    def next_due(self) -> float | None:
        """The due time of the next key by the clock, or None if the queue is empty."""
        return self._schedule.next_due

    async def run(self, workers: int) -> None:
        """Reconcile due keys until cancelled, at most `workers` of a broker at the same time."""
        self._slots.limit = workers
        async with asyncio.TaskGroup() as group:
            while True:
                self.start_due(group)
                await self._wait()

    def start_due(self, group: asyncio.TaskGroup) -> None:
        """Start a task of the group for each key that is due."""
        while (key := self._schedule.get(self._clock())) is not None:
            group.create_task(self._reconcile(key))

    async def _wait(self) -> None:
        self._changed.clear()
        due = self.next_due
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(0.0, due - self._clock())):
                await self._changed.wait()

    async def _reconcile(self, key: Key) -> None:
        try:
            after = self._after(key, await self._in_slot(key))
        except Exception as error:  # noqa: BLE001 - one object's bug must not stop the others; it is logged and counted
            after = self._after_error(key, error)
        finally:
            self._schedule.done(key)
            self._changed.set()
        if after is not None:
            self.add(key, after)

    async def _in_slot(self, key: Key) -> ReconcileResult:
        async with self._slots.take(_UNKNOWN, key):
            broker = await self._broker_of(key)
        async with self._slots.take(broker, key):
            started = self._clock()
            self._schedule.begin(key, started)
            self._slots.set_urgent(key, is_urgent=False)
            try:
                return await self._work(key)
            finally:
                telemetry.RECONCILE_DURATION.labels(key.plural).observe(self._clock() - started)

    def _after(self, key: Key, result: ReconcileResult) -> float | None:
        self._backoff.forget(key)
        telemetry.RECONCILES.labels(key.plural, result).inc()
        if result is ReconcileResult.DELETED:
            return None
        return 0.0 if result is ReconcileResult.REQUEUE else self._resync_delay()

    def _after_error(self, key: Key, error: Exception) -> float:
        reason = error.reason if isinstance(error, TopicSchemaError) else Reason.INTERNAL_ERROR
        telemetry.RECONCILES.labels(key.plural, reason).inc()
        fields = {"kind": key.plural, "namespace": key.namespace, "name": key.name, "reason": reason}
        if isinstance(error, TopicSchemaError):
            _LOG.info("reconcile incomplete, will retry", extra={"fields": fields})
        else:
            telemetry.INTERNAL_ERRORS.labels(key.plural).inc()
            _LOG.error("unexpected error during reconcile", exc_info=error, extra={"fields": fields})
        delay = self._backoff.delay(key, error)
        if isinstance(error, StalledAtBrokerError):
            return self._recheck_delay()
        return self._resync_delay() if delay is None else delay

    def _recheck_delay(self) -> float:
        """Return the seconds until the broker is read again. If it lost all topics, two of them are due each second."""
        now = self._clock()
        self._last_recheck = max(now + _RECHECK_SECONDS, self._last_recheck + _RECHECK_GAP)
        return min(self._last_recheck - now, self._resync_delay())

    def _resync_delay(self) -> float:
        # Jitter, so that keys that were reconciled together do not stay together.
        return self._resync * (0.75 + self._chance() / 2)
