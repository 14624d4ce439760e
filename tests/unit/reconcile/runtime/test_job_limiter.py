"""The limits of the JobLimiter hold, tenants' namespaces take turns, and none waits for another one with many Jobs."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kubernetes.api_server import FakeApiServer
from topicschema.api.kinds import JOB
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiRefusedError, ApiUnavailableError
from topicschema.reconcile.runtime.job_limiter import JobLimiter, JobLimits, is_active, next_startable
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.validation.job.manifest import OWNER_ANNOTATION, TOPIC_LABEL

Object = dict[str, Any]


PLACE = "topicschema-validation"
JOBS = f"/apis/batch/v1/namespaces/{PLACE}/jobs"


def job(namespace: str, name: str, made: int, *, waits: bool = True, end: str = "") -> Object:
    """Return the Job of a TopicSchema in that namespace."""
    metadata = {
        "namespace": PLACE,
        "name": name,
        "labels": {TOPIC_LABEL: name, "app.kubernetes.io/managed-by": "topicschema"},
        "annotations": {OWNER_ANNOTATION: f"{namespace}/{name}"},
        "creationTimestamp": f"2026-11-21T06:{made // 60:02}:{made % 60:02}Z",
    }
    conditions = [{"type": end, "status": "True"}] if end else []
    return {"metadata": metadata, "spec": {"suspend": waits}, "status": {"conditions": conditions}}


def tenant(job: Object) -> str:
    namespace: str = job["metadata"]["annotations"][OWNER_ANNOTATION].partition("/")[0]
    return namespace


def startable(jobs: list[Object], limits: JobLimits) -> list[Object]:
    """Return the Jobs that start now, in their order."""
    active, started = [each for each in jobs if is_active(each)], []
    while (job := next_startable(active, limits)) is not None:
        active = [{**each, "spec": {"suspend": False}} if each is job else each for each in active]
        started.append(job)
    return started


def names(jobs: list[Object], limits: JobLimits) -> list[str]:
    return [each["metadata"]["name"] for each in startable(jobs, limits)]


def test_the_oldest_comes_first_and_namespaces_take_turns() -> None:
    jobs = [job("a", f"a{n}", n) for n in range(4)] + [job("b", "b0", 10), job("c", "c0", 20)]
    assert names(jobs, JobLimits(in_all=4, in_namespace=4)) == ["a0", "b0", "c0", "a1"]
    jobs = [job("a", "x", 1), job("b", "y", 1), job("a", "z", 0)]
    assert names(jobs, JobLimits(2, 1)) == names(jobs[::-1], JobLimits(2, 1)) == ["z", "y"]


def test_running_jobs_take_slots_and_ended_or_deleted_ones_do_not() -> None:
    deleted = job("a", "deleted", 0, waits=False)
    deleted["metadata"]["deletionTimestamp"] = "2026-11-21T06:00:00Z"
    others = [job("a", "runs", 0, waits=False), job("a", "failed", 1, waits=False, end="Failed"), deleted]
    jobs = [*others, job("a", "next", 5), job("a", "later", 6)]
    assert names(jobs, JobLimits(in_all=10, in_namespace=2)) == ["next"]
    assert names(jobs, JobLimits(in_all=1, in_namespace=2)) == []


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3000), st.booleans()), max_size=20),
    st.integers(1, 6),
    st.integers(1, 3),
)
def test_limits_hold_and_no_slot_stays_free(
    requests: list[tuple[str, int, bool]], in_all: int, in_namespace: int
) -> None:
    jobs = [job(namespace, f"{n}", made, waits=waits) for n, (namespace, made, waits) in enumerate(requests)]
    chosen = startable(jobs, JobLimits(in_all, in_namespace))
    ran = [each for each in jobs if not each["spec"]["suspend"]]
    run = [*ran, *chosen]
    assert all(each["spec"]["suspend"] for each in chosen)
    assert not chosen or len(run) <= in_all
    for namespace in "abc":
        here = [each for each in run if tenant(each) == namespace]
        before = [each for each in ran if tenant(each) == namespace]
        assert len(here) <= max(in_namespace, len(before))
        waiting = [each for each in jobs if tenant(each) == namespace and each not in run]
        assert not waiting or len(run) >= in_all or len(here) >= in_namespace


def test_a_job_without_an_owner_takes_no_slot_and_does_not_start() -> None:
    unowned = [job("c", f"unowned{n}", 0, waits=bool(n % 2)) for n in range(10)]
    for each in unowned:
        del each["metadata"]["annotations"]
    jobs = [*unowned, job("a", "a0", 1), job("c", "c0", 1)]
    assert names(jobs, JobLimits(in_all=2, in_namespace=1)) == ["a0", "c0"]


@dataclass
class Limited:
    """A JobLimiter at an API server, and the keys that it enqueued."""

    api: FakeApiServer
    client: ApiClient
    now: float = 0.0
    enqueued: list[tuple[Key, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limiter = JobLimiter(PLACE, JobLimits(in_all=1), lambda: self.now)

    def job(self, name: str, made: int) -> Key:
        """Put a Job that waits, and return the key of its topic."""
        self.api.put(JOB, PLACE, name, job("a", name, made))
        return Key("topicschemas", "a", name)

    def enqueue(self, key: Key, after: float) -> None:
        self.enqueued.append((key, after))

    async def starts(self, key: Key) -> bool:
        """Return True if the Job runs after its topic requested its start."""
        await self.limiter.start(self.client, key, self.enqueue)
        wire = await self.client.get(JOB, PLACE, key.name)
        return not wire["spec"]["suspend"]

    @property
    def lists(self) -> int:
        return self.api.requests.count(f"GET {JOBS}")


@pytest.fixture
async def limited() -> AsyncIterator[Limited]:
    api = FakeApiServer()
    async with api.running(), ApiClient(api.connection) as client:
        yield Limited(api, client)


async def test_a_pod_that_ends_enqueues_the_oldest_job_that_waits(limited: Limited) -> None:
    first, third, second = limited.job("1", 1), limited.job("3", 3), limited.job("2", 2)
    limited.limiter.slot_freed(limited.enqueue)
    assert limited.enqueued == [], "no Job is known to wait"
    assert await limited.starts(first)
    # A Job keeps its slot until it ends, even if its pod never starts
    limited.api.change("/jobs/1", lambda wire: wire["status"].update(startTime="2026-11-20T00:00:00Z"))
    limited.now = 2.0
    assert not await limited.starts(third)
    limited.limiter.slot_freed(limited.enqueue)
    assert limited.enqueued == [(second, 3.0)]
    limited.api.change("/jobs/1", lambda wire: wire["status"].update(conditions=[{"type": "Failed", "status": "True"}]))
    limited.now = 5.0
    assert await limited.starts(second)


@pytest.mark.parametrize(("status", "error"), [(500, ApiUnavailableError), (422, ApiRefusedError)])
async def test_a_job_that_cannot_be_started_delays_no_other_and_is_tried_when_its_topic_calls(
    limited: Limited, status: int, error: type[Exception]
) -> None:
    first, second = limited.job("1", 1), limited.job("2", 2)
    limited.api.refusals = {f"PATCH {JOBS}/1": status}
    with pytest.raises(error):
        await limited.starts(first)
    assert not (await limited.client.get(JOB, PLACE, second.name))["spec"]["suspend"], "it took the slot"
    limited.api.delete(JOB, PLACE, "2")
    third = limited.job("3", 3)
    limited.now = 2.0
    limited.api.requests.clear()
    assert await limited.starts(third)
    assert not [each for each in limited.api.requests if "/jobs/1" in each]
    limited.api.delete(JOB, PLACE, "3")
    limited.api.refusals = {}
    limited.now = 4.0
    assert await limited.starts(first)


async def test_a_refused_job_gets_the_same_error_until_the_next_list(limited: Limited) -> None:
    first, second = limited.job("1", 1), limited.job("2", 2)
    limited.api.refusals = {f"PATCH {JOBS}": 422}
    with pytest.raises(ApiRefusedError):
        await limited.starts(first)
    limited.now = 2.0
    with pytest.raises(ApiRefusedError):
        await limited.starts(second)
    limited.api.refusals = {}
    limited.now = 3.0
    with pytest.raises(ApiRefusedError):
        await limited.starts(first)
    assert limited.enqueued == [(first, 1.0)]
    limited.now = 4.0
    assert not await limited.starts(second)
    assert not (await limited.client.get(JOB, PLACE, "1"))["spec"]["suspend"]


async def test_however_many_wait_all_jobs_are_listed_once_in_two_seconds(limited: Limited) -> None:
    first, second, third = (limited.job(str(n), n) for n in range(3))
    for _ in range(3):
        for key in (first, second, third):
            await limited.starts(key)
        limited.now += 0.5
    assert limited.lists == 1
    times = [(second, 2.0), (second, 1.5), (second, 1.0)]  # an early event takes the place of the later time
    assert limited.enqueued == times, "one topic comes back for all"
    limited.now, limited.enqueued = 2.0, []
    for key in (second, third):
        await limited.starts(key)
    assert limited.lists == 2
    assert limited.enqueued == [(third, 2.0)]


async def test_a_topic_that_is_deleted_before_it_comes_back_delays_no_other(limited: Limited) -> None:
    first, second, third = (limited.job(str(n), n) for n in range(3))
    assert await limited.starts(first)
    limited.api.delete(JOB, PLACE, "0")
    for key in (second, third):
        await limited.starts(key)
    limited.api.delete(JOB, PLACE, "1")
    limited.now = 0.5
    for key in (second, third):
        await limited.limiter.reconciled(limited.client, key, limited.enqueue)
    assert limited.enqueued == [(second, 2.0), (second, 1.5)]
    limited.now = 2.0
    await limited.limiter.reconciled(limited.client, second, limited.enqueue)
    assert not (await limited.client.get(JOB, PLACE, third.name))["spec"]["suspend"]
