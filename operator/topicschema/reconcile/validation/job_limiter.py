"""Who may read messages now: so many Jobs at once, in all and in each namespace, and nobody is passed over.

A Job that waits is suspended, and its place in the queue is when it was made, or when it gave its turn to another: so
all that is known stands in the cluster, and outlives every process.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final

from topicschema.api.kinds import JOB, POD
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import (
    ApiRefusedError,
    ApiUnavailableError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
)
from topicschema.core.errors import TopicSchemaError
from topicschema.reconcile.runtime.event_router import owner_key
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.validation.job.manifest import GAVE_WAY_ANNOTATION, TOPIC_LABEL
from topicschema.validation.job.outcome import ended

Object = Mapping[str, Any]

_UNFINISHED: Final = "status.successful=0"
"""What a list of Jobs can be narrowed to; those that failed are in it, too."""
_START: Final = 300.0
"""Seconds that a Job has for its pod to run, while others wait."""
_BEGUN: Final = ("ready", "succeeded", "failed")
"""What a Job's status counts of pods that run, or ran."""
_TRIES: Final = 3
"""How often in one go the places of Jobs that cannot be let run are given to the next ones."""
_BETWEEN_LISTS: Final = 2.0
"""Seconds: all who wait ask for one list of all Jobs in that time, however many they are."""
_ENDING: Final = 30.0
"""Seconds within which a Job says that it has ended, after its pod left a verdict: only then its place is free."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many Jobs run at once: in all, and in one namespace."""

    in_all: int = 10
    in_namespace: int = 2


def select_startable(jobs: Iterable[Object], limits: Limits) -> tuple[Object, ...]:
    """Those of the waiting Jobs whose turn it is.

    The next is of the namespace with the fewest that run, and there the oldest: one that asks much holds up no other.
    A tenant may make Jobs that look like ours: those of no TopicSchema count for nothing, and whatever runs in one
    namespace, it takes no more places from the others than its own.
    """
    there = [job for job in jobs if _counts(job)]
    running = Counter(_namespace(job) for job in there if not job["spec"].get("suspend"))
    waiting = sorted((job for job in there if job["spec"].get("suspend")), key=_place)
    chosen: list[Object] = []
    while sum(min(count, limits.in_namespace) for count in running.values()) < limits.in_all:
        eligible = [job for job in waiting if running[_namespace(job)] < limits.in_namespace]
        if not eligible:
            break
        first = min(eligible, key=lambda job: (running[_namespace(job)], _place(job)))
        waiting.remove(first)
        running[_namespace(first)] += 1
        chosen.append(first)
    return tuple(chosen)


def _counts(job: Object) -> bool:
    metadata = job["metadata"]
    return ended(job) is None and not metadata.get("deletionTimestamp") and owner_key(metadata) is not None


def _namespace(job: Object) -> str:
    namespace: str = job["metadata"]["namespace"]
    return namespace


def _place(job: Object) -> tuple[str, str, str]:
    metadata = job["metadata"]
    gave_way = (metadata.get("annotations") or {}).get(GAVE_WAY_ANNOTATION, "")
    return max(metadata.get("creationTimestamp") or "", gave_way), metadata["namespace"], metadata["name"]


def preempt_candidates(jobs: Sequence[Object], limits: Limits, now: str) -> Sequence[Object]:
    """The Jobs that had their turn, do not run and keep another one out, the one that has tried longest first.

    Whether it never started, its pods tell: a node that was away for a moment leaves a Job that looks the same.
    """
    stuck = sorted((job for job in jobs if _counts(job) and _is_stuck(job, now)), key=_started)
    return [job for job in stuck if select_startable([each for each in jobs if each is not job], limits)]


def _is_stuck(job: Object, now: str) -> bool:
    status = job.get("status") or {}
    if job["spec"].get("suspend") or not _started(job) or any(status.get(each) for each in _BEGUN):
        return False
    return _seconds(_started(job), now) > _START


def never_starts(pods: Sequence[Object], now: str) -> bool:
    """Whether a Job that does not run, with these pods, will not soon: the newest waited for long, or there is none."""
    newest = max(pods, key=lambda pod: pod["metadata"].get("creationTimestamp") or "", default=None)
    if newest is None:
        return True
    created = newest["metadata"].get("creationTimestamp") or now
    return (newest.get("status") or {}).get("phase") == "Pending" and _seconds(created, now) > _START


def _seconds(since: str, now: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()


def _started(job: Object) -> str:
    """When it was let run; "" where its controller has not seen that yet."""
    started: str = (job.get("status") or {}).get("startTime") or ""
    return started


@dataclass(slots=True)
class JobLimiter:
    """Gives out turns, one who asks at a time. What counts stands in the cluster.

    Whom it remembers is only enqueued, or passed over because the API server did not let it run, until it asks again.
    """

    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic
    _waiting: set[Key] = field(default_factory=set)
    _running: dict[Key, float] = field(default_factory=dict)  # until when each of its passes may tell of an end
    _listed: frozenset[Key] = frozenset()
    _began: float = -math.inf
    _unlisted: ForbiddenError | ApiRefusedError | None = None
    _refused: dict[Key | None, TopicSchemaError] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(self, client: ApiClient, key: Key, enqueue: Callable[[Key, float], None], now: str) -> None:
        """Let all run whose turn it is, perhaps that of `key`, who waits; who comes too early is enqueued for it.

        The API server's errors where it does not let that of `key` run: until `key` asks again, others have its turn.
        """
        self._running.pop(key, None)
        self._waiting.add(key)
        async with self._one:
            left = self._began + _BETWEEN_LISTS - self.clock()
            if left > 0 and key not in self._listed:
                enqueue(key, left)
                error = self._refused.pop(key, None)  # whoever has the next list made tries it again
            else:
                if left <= 0:
                    self._refused.pop(key, None)
                    await self._give(client, now)
                error = self._refused.get(key) or self._unlisted
            if error is not None:
                raise error

    async def _give(self, client: ApiClient, now: str) -> None:
        self._began, self._listed, self._unlisted = self.clock(), frozenset(self._waiting), None
        try:
            jobs = await client.list(JOB, field_selector=_UNFINISHED, label_selector=TOPIC_LABEL)
        except (ForbiddenError, ApiRefusedError) as error:
            self._unlisted = error
            return
        there: Sequence[Object] = [job for job in jobs if owner_key(job["metadata"]) not in self._refused]
        for _ in range(_TRIES):
            if not select_startable(there, self.limits):
                there = await self._with_room(client, there, now)
            chosen = select_startable(there, self.limits)
            left_out = [job for job in chosen if not await self._lets_run(client, job)]
            if not left_out:
                return
            # Their places are still free.
            there = [_running(job) if job in chosen else job for job in there if job not in left_out]

    async def _lets_run(self, client: ApiClient, job: Object) -> bool:
        """Whether the Job may have its place; where it may not, that is remembered for who asks for it."""
        try:
            await _patched(client, job, {"spec": {"suspend": False}})
        except (ForbiddenError, ApiRefusedError, ApiUnavailableError) as error:
            self._refused[owner_key(job["metadata"])] = error  # perhaps by a webhook of that namespace alone
            return False
        except NotFoundError:
            return False
        except ConflictError:
            return True  # somebody touched it, who may have let it run
        return True

    async def _with_room(self, client: ApiClient, jobs: Sequence[Object], now: str) -> Sequence[Object]:
        """The Jobs without one that never starts and gave way to another; all of them where none does."""
        for job in preempt_candidates(jobs, self.limits, now):
            # Whoever ended it, or touched it, has it looked at again.
            with suppress(NotFoundError, ConflictError, ForbiddenError, ApiRefusedError, ApiUnavailableError):
                if await _preempted(client, job, now):
                    return [each for each in jobs if each is not job]
        return jobs

    def runs(self, key: Key) -> None:
        """`key` has had its turn, and has not ended."""
        self._waiting.discard(key)
        self._running[key] = math.inf

    def done(self, key: Key, enqueue: Callable[[Key, float], None]) -> None:
        """`key` waits no more, or has ended: some who wait look at once, for one list lets in all whose turn it is."""
        self._refused.pop(key, None)
        now, until = self.clock(), self._running.pop(key, -math.inf)
        if until > now:
            self._running[key] = min(until, now + _ENDING)
        elif key not in self._waiting:
            return
        self._waiting.discard(key)
        self._began = -math.inf
        for other in islice(self._waiting, self.limits.in_all):
            enqueue(other, 0.0)


def _running(job: Object) -> Object:
    """The Job as it is once it has been let run."""
    return {**job, "spec": {**job["spec"], "suspend": False}}


async def _preempted(client: ApiClient, job: Object, now: str) -> bool:
    """Whether the Job never starts, and is suspended for it."""
    metadata = job["metadata"]
    selector = f"batch.kubernetes.io/job-name={metadata['name']}"
    if not never_starts(await client.list(POD, metadata["namespace"], label_selector=selector), now):
        return False
    await _patched(client, job, {"metadata": {"annotations": {GAVE_WAY_ANNOTATION: now}}, "spec": {"suspend": True}})
    return True


async def _patched(client: ApiClient, job: Object, body: Object) -> None:
    metadata = job["metadata"]
    of_this_one = {**body.get("metadata", {}), "resourceVersion": metadata["resourceVersion"]}
    await client.patch(JOB, metadata["namespace"], metadata["name"], {**body, "metadata": of_this_one})


@dataclass(frozen=True, slots=True)
class Validations:
    """What an installation says of validation: the image (none: there is no validation), and whose turn it is.

    `hosts` are those of brokers that the pods may be sent to. `packing` is held while a question is made ready, which
    takes memory, and `reading` while a report is read, for the same reason; it waits for nodes, so two do at once.
    `emptied` is when a report was to be emptied, by the context's clock, and could not be.
    """

    image: str = ""
    limiter: JobLimiter = field(default_factory=JobLimiter)
    hosts: AllowedHosts = field(default_factory=AllowedHosts)
    packing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    emptied: dict[Key, float] = field(default_factory=dict)
