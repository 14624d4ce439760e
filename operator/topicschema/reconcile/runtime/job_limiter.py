"""Limits of the number of validation Jobs that run at once, in all and in each namespace.

A Job is created suspended. The Jobs in the cluster are the queue, so it survives restarts.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from topicschema.api.kinds import JOB, Object
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
from topicschema.validation.job.manifest import MANAGED
from topicschema.validation.job.outcome import ended

_UNFINISHED: Final = "status.successful=0"
"""The most selective field selector of a list of Jobs. It also selects failed Jobs."""
_BETWEEN_LISTS: Final = 2.0
"""Seconds between two lists of all Jobs, for any number of waiting topics."""
_ENDING: Final = 3.0
"""Seconds from the end of a pod to the end of its Job, which frees the slot."""


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The numbers of Jobs that may run at once: in all, and in one namespace."""

    in_all: int = 10
    in_namespace: int = 2


def next_startable(jobs: Iterable[Object], limits: JobLimits) -> Object | None:
    """Return the suspended Job to start next, or None if there is none or no slot is free.

    It is the oldest Job of the tenant's namespace with the fewest running Jobs. Thus a namespace with many requests
    delays no other one.
    """
    there = list(jobs)
    running = Counter(_namespace(job) for job in there if not job["spec"].get("suspend"))
    if running.total() >= limits.in_all:
        return None
    waiting = (job for job in there if job["spec"].get("suspend") and running[_namespace(job)] < limits.in_namespace)
    return min(waiting, key=lambda job: (running[_namespace(job)], *_age(job)), default=None)


def is_active(job: Object) -> bool:
    """Return True if the Job has not ended, is not being deleted, and it names its owner."""
    metadata = job["metadata"]
    return ended(job) is None and not metadata.get("deletionTimestamp") and owner_key(metadata) is not None


def _namespace(job: Object) -> str:
    """Return the namespace of the Job's TopicSchema or policy."""
    owner = owner_key(job["metadata"])
    return "" if owner is None else owner.namespace


def _age(job: Object) -> tuple[str, str, str]:
    metadata = job["metadata"]
    return metadata.get("creationTimestamp") or "", _namespace(job), metadata["name"]


@dataclass(slots=True)
class JobLimiter:
    """Starter of the suspended Jobs in `namespace`, up to the limits.

    It stores the API server's errors by topic. It skips these Jobs until their topic calls `start` again.
    """

    namespace: str = "topicschema-validation"
    limits: JobLimits = field(default_factory=JobLimits)
    clock: Callable[[], float] = time.monotonic
    _next_list: float = -math.inf
    _enqueued: Key | None = None
    _oldest: Key | None = None
    _errors: dict[Key | None, TopicSchemaError] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self, client: ApiClient, key: Key, enqueue: Callable[[Key, float], None]) -> None:
        """Start all Jobs for which a slot is free. Raise the API server's error if it refuses to start that of `key`.

        Within two seconds after the last start, start none, and enqueue the first topic that calls. If that one comes
        back too early, because of an event, it is enqueued again: the queue has no memory of the later time.
        """
        async with self._lock:
            error, left = self._errors.pop(key, None), self._next_list - self.clock()
            if left <= 0:
                await self._start_all(client)
                self._next_list, self._enqueued = self.clock() + _BETWEEN_LISTS, None
                error = self._errors.get(key)
            elif self._enqueued in {None, key}:
                self._enqueued = key
                enqueue(key, left)
            if error is not None:
                raise error

    async def reconciled(self, client: ApiClient, key: Key, enqueue: Callable[[Key, float], None]) -> None:
        """Call `start` for the others if `key` was enqueued for them and its reconcile did not call it.

        Its topic may be deleted, or its Job may not wait any more.
        """
        if key == self._enqueued:
            with suppress(ForbiddenError, ApiRefusedError):  # of its own Job
                await self.start(client, key, enqueue)

    def slot_freed(self, enqueue: Callable[[Key, float], None]) -> None:
        """Enqueue the topic of the oldest waiting Job, because a pod has ended and its Job soon will."""
        if self._oldest is not None:
            enqueue(self._oldest, _ENDING)

    async def _start_all(self, client: ApiClient) -> None:
        listed = await client.list(JOB, self.namespace, field_selector=_UNFINISHED, label_selector=MANAGED)
        jobs: list[Object] = [
            job for job in listed if is_active(job) and owner_key(job["metadata"]) not in self._errors
        ]
        while (job := next_startable(jobs, self.limits)) is not None:
            jobs.remove(job)
            if await self._try_start(client, job):
                jobs.append({**job, "spec": {**job["spec"], "suspend": False}})
        waiting = min((job for job in jobs if job["spec"].get("suspend")), key=_age, default=None)
        self._oldest = None if waiting is None else owner_key(waiting["metadata"])

    async def _try_start(self, client: ApiClient, job: Object) -> bool:
        """Start the Job. Return True if it takes a slot."""
        metadata = job["metadata"]
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"suspend": False}}
        try:
            await client.patch(JOB, metadata["namespace"], metadata["name"], body)
        except (ForbiddenError, ApiRefusedError, ApiUnavailableError) as error:
            self._errors[owner_key(metadata)] = error  # perhaps a webhook of that namespace alone
            return False
        except NotFoundError:
            return False
        except ConflictError:
            return True  # another client changed it, and may have started it
        return True
