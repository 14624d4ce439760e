"""The bell: who is looked at next, and when again. What a look comes to is the matter of `topicschema` and `policy`.

`Patience` is pure, told the chance by its caller, as `schedule` is told the time; `Bell` works by them.
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
from topicschema.reconcile.schedule import ElsewhereError, Lanes, Schedule, begin_in, policy_asked

_LOG = logging.getLogger(__name__)
AHEAD = -86_400.0
"""As the time within which a key is looked at: before all that has been due for less than a day."""
_RETURN_SECONDS = 10.0  # over which those who waited for a broker come back to it
_CONFLICT_DELAY = 0.02
_BUG_DELAY = 1.0
_LONGEST_DELAY = 300.0
_MOST_DOUBLINGS = 16
_RECHECK_SECONDS = 30.0
_RECHECK_GAP = 0.5


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """An object to look at: the plural of its kind, its namespace and name."""

    plural: str
    namespace: str
    name: str


class Rest(StrEnum):
    """What a pass that met no error asks for: the slow resync, another pass at once, or nothing ever again."""

    SETTLED = "success"
    AGAIN = "requeue"
    GONE = "deleted"


class Patience:
    """How long to wait after an error: exponential per key, spread by chance, forgotten after a pass without error."""

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
        """A pass over `key` met no error."""
        self._failures.pop(key, None)


class Bell:
    """Rings and workers.

    `work` looks at one key; `resync` is when a settled key is looked at again by itself, in seconds.
    """

    def __init__(
        self,
        work: Callable[[Key], Awaitable[Rest]],
        resync: float,
        *,
        lanes: Lanes[Key] | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._work = work
        self._resync = resync
        self._clock = clock
        self._chance = chance
        self._lanes = lanes or Lanes[Key]()
        self._schedule = Schedule(self._lanes.of)
        self._patience = Patience(chance)
        self._rung = asyncio.Event()
        self._last_recheck = 0.0

    def ring(self, key: Key, after: float = 0.0) -> None:
        """Have `key` looked at within `after` seconds; many rings before that are one look."""
        self._schedule.ring(key, self._clock() + after)
        self._rung.set()

    @property
    def waiting(self) -> int:
        """How many keys are due and not yet looked at."""
        return self._schedule.waiting(self._clock())

    @property
    def next_due(self) -> float | None:
        """When the next key is due, by the clock; None when nobody was rung."""
        return self._schedule.next_due

    async def run(self, workers: int) -> None:
        """Look at what rings, `workers` keys of a lane at a time, until cancelled."""
        self._schedule.width = workers
        async with asyncio.TaskGroup() as group:
            while True:
                key = self._schedule.take(self._clock())
                if key is None:
                    await self._wait()
                else:
                    group.create_task(self._look_at(key))

    async def run_due(self) -> int:
        """Look at all that is due now, one after the other; how many looks that were."""
        looks = 0
        while (key := self._schedule.take(self._clock())) is not None:
            await self._look_at(key)
            looks += 1
        return looks

    async def _wait(self) -> None:
        self._rung.clear()
        due = self._schedule.next_due
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(0.0, due - self._clock())):
                await self._rung.wait()

    async def _look_at(self, key: Key) -> None:
        lane, due = self._schedule.taken(key)
        begin_in(lane)
        started = self._clock()
        try:
            after = self._after(key, await self._work(key))
            self._wake(key)
        except ElsewhereError as error:
            telemetry.RECONCILES.labels(key.plural, error.reason).inc()
            self._lanes.moved(key, error.lane)
            after = due - self._clock()  # it keeps its turn
        except Exception as error:  # noqa: BLE001 - one object's bug must not stop the others; it is logged and counted
            after = self._after_error(key, error)
        finally:
            self._schedule.done(key)
            self._rung.set()  # there is room again
        telemetry.RECONCILE_DURATION.labels(key.plural).observe(self._clock() - started)
        if after is not None:
            self.ring(key, after)

    def _after(self, key: Key, rest: Rest) -> float | None:
        self._patience.forget(key)
        telemetry.RECONCILES.labels(key.plural, rest).inc()
        if rest is Rest.GONE:
            self._lanes.forget(key)
            return None
        return 0.0 if rest is Rest.AGAIN else self._resync_delay()

    def _wake(self, key: Key) -> None:
        """Have others looked at, now that `key` waits for no broker: all, if it is back; else a new scout."""
        outages = self._lanes.outages
        for other in outages.end(policy_asked()):
            self._patience.forget(other)
            if other != key:
                self.ring(other, self._chance() * _RETURN_SECONDS)
        for scout in outages.leave(key):
            self.ring(scout)

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
        delay = self._patience.delay(key, error)
        if delay is not None and isinstance(error, WaitingError):
            waited = self._lanes.outages.delay(key, policy_asked(), error.after, delay)
            if waited is not None:
                return waited
        self._wake(key)
        if isinstance(error, StalledAtBrokerError):
            return self._recheck_delay()
        return self._resync_delay() if delay is None else delay

    def _recheck_delay(self) -> float:
        """Return when to look at the broker again. A broker that lost everything stalls all topics: two a second."""
        now = self._clock()
        self._last_recheck = max(now + _RECHECK_SECONDS, self._last_recheck + _RECHECK_GAP)
        return min(self._last_recheck - now, self._resync_delay())

    def _resync_delay(self) -> float:
        # Spread, so that what settled together is not looked at together for ever.
        return self._resync * (0.75 + self._chance() / 2)
