"""The limits of the JobLimiter hold, each namespace gets its turn, and none waits for another one that asks much."""

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
from topicschema.reconcile.runtime.event_router import owner_key
from topicschema.reconcile.runtime.job_limiter import JobLimiter, JobLimits, is_active, next_startable
from topicschema.reconcile.runtime.work_queue import Key

Object = dict[str, Any]


def job(namespace: str, name: str, made: int, *, waits: bool = True, end: str = "") -> Object:
    metadata = {
        "namespace": namespace,
        "name": name,
        "ownerReferences": [{"kind": "TopicSchema", "name": name, "controller": True}],
        "creationTimestamp": f"2026-11-21T06:{made // 60:02}:{made % 60:02}Z",
    }
    conditions = [{"type": end, "status": "True"}] if end else []
    return {"metadata": metadata, "spec": {"suspend": waits}, "status": {"conditions": conditions}}


def startable(jobs: list[Object], limits: JobLimits) -> list[Object]:
    """Return the Jobs that start now, in their order."""
    there, started = [each for each in jobs if is_active(each)], []
    while (found := next_startable(there, limits)) is not None:
        there = [{**each, "spec": {"suspend": False}} if each is found else each for each in there]
        started.append(found)
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
def test_caps_hold_and_no_place_is_left_empty_whoever_asks(
    asked: list[tuple[str, int, bool]], in_all: int, in_namespace: int
) -> None:
    jobs = [job(namespace, f"{n}", made, waits=waits) for n, (namespace, made, waits) in enumerate(asked)]
    chosen = startable(jobs, JobLimits(in_all, in_namespace))
    ran = [each for each in jobs if not each["spec"]["suspend"]]
    run = [*ran, *chosen]
    assert all(each["spec"]["suspend"] for each in chosen)
    counted = {each: sum(job["metadata"]["namespace"] == each for job in run) for each in "abc"}
    places = sum(min(count, in_namespace) for count in counted.values())
    assert not chosen or places <= in_all
    for namespace in "abc":
        here = [each for each in run if each["metadata"]["namespace"] == namespace]
        before = [each for each in ran if each["metadata"]["namespace"] == namespace]
        assert len(here) <= max(in_namespace, len(before))
        waiting = [each for each in jobs if each["metadata"]["namespace"] == namespace and each not in run]
        assert not waiting or places >= in_all or len(here) >= in_namespace


def test_jobs_that_a_tenant_makes_by_hand_hold_up_no_other_namespace() -> None:
    fake = [job("a", f"fake{n}", 0, waits=False) for n in range(10)]
    owned = [job("b", f"owned{n}", 0, waits=False) for n in range(10)]
    stray = job("c", "stray", 0)
    for each in (*fake, stray):
        del each["metadata"]["ownerReferences"]
    jobs = [*fake, *owned, stray, job("a", "a0", 1), job("b", "b0", 1), job("c", "c0", 1)]
    assert names(jobs, JobLimits(in_all=10, in_namespace=2)) == ["a0", "c0"]


@dataclass
class Asking:
    """An API server with a Job of each of these topics, and what they are enqueued for."""

    api: FakeApiServer
    client: ApiClient
    now: float = 0.0
    enqueued: list[tuple[Key, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limiter = JobLimiter(JobLimits(in_all=1), lambda: self.now)

    def job(self, name: str, made: int) -> Key:
        """A Job that waits; its topic's key."""
        self.api.put(JOB, "a", name, job("a", name, made))
        return Key("topicschemas", "a", name)

    def enqueue(self, key: Key, after: float) -> None:
        self.enqueued.append((key, after))

    async def takes(self, key: Key) -> bool:
        """Whether the Job runs after its topic asked for its turn."""
        await self.limiter.start(self.client, key, self.enqueue)
        wire = await self.client.get(JOB, "a", key.name)
        return not wire["spec"]["suspend"]

    @property
    def lists(self) -> int:
        return self.api.requests.count("GET /apis/batch/v1/jobs")


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    api = FakeApiServer()
    async with api.running(), ApiClient(api.connection) as client:
        yield Asking(api, client)


async def test_a_pod_that_ends_enqueues_the_oldest_job_that_waits(asking: Asking) -> None:
    first, third, second = asking.job("1", 1), asking.job("3", 3), asking.job("2", 2)
    asking.limiter.slot_freed(asking.enqueue)
    assert asking.enqueued == [], "no Job is known to wait"
    assert await asking.takes(first)
    # A Job keeps its slot until it ends, even if its pod never starts
    asking.api.change("/jobs/1", lambda wire: wire["status"].update(startTime="2026-11-20T00:00:00Z"))
    asking.now = 2.0
    assert not await asking.takes(third)
    asking.limiter.slot_freed(asking.enqueue)
    assert asking.enqueued == [(second, 3.0)]
    asking.api.change("/jobs/1", lambda wire: wire["status"].update(conditions=[{"type": "Failed", "status": "True"}]))
    asking.now = 5.0
    assert await asking.takes(second)


@pytest.mark.parametrize(("status", "error"), [(500, ApiUnavailableError), (422, ApiRefusedError)])
async def test_a_job_that_cannot_be_started_delays_no_other_and_is_tried_when_its_topic_calls(
    asking: Asking, status: int, error: type[Exception]
) -> None:
    first, second = asking.job("1", 1), asking.job("2", 2)
    asking.api.refusals = {"PATCH /apis/batch/v1/namespaces/a/jobs/1": status}
    with pytest.raises(error):
        await asking.takes(first)
    assert not (await asking.client.get(JOB, "a", second.name))["spec"]["suspend"], "it took the slot"
    asking.api.delete(JOB, "a", "2")
    third = asking.job("3", 3)
    asking.now = 2.0
    asking.api.requests.clear()
    assert await asking.takes(third)
    assert not [each for each in asking.api.requests if "/jobs/1" in each]
    asking.api.delete(JOB, "a", "3")
    asking.api.refusals = {}
    asking.now = 4.0
    assert await asking.takes(first)


async def test_who_was_refused_and_asks_too_early_hears_the_same_and_is_tried_with_the_next_list(
    asking: Asking,
) -> None:
    first, second = asking.job("1", 1), asking.job("2", 2)
    asking.api.refusals = {"PATCH /apis/batch/v1/namespaces/a/jobs": 422}
    with pytest.raises(ApiRefusedError):
        await asking.takes(first)
    asking.now = 2.0
    with pytest.raises(ApiRefusedError):
        await asking.takes(second)
    asking.api.refusals = {}
    asking.now = 3.0
    with pytest.raises(ApiRefusedError):
        await asking.takes(first)
    assert asking.enqueued == [(first, 1.0)]
    asking.now = 4.0
    assert not await asking.takes(second)
    assert not (await asking.client.get(JOB, "a", "1"))["spec"]["suspend"]


async def test_however_many_wait_all_jobs_are_listed_once_in_two_seconds(asking: Asking) -> None:
    first, second, third = (asking.job(str(n), n) for n in range(3))
    for _ in range(3):
        for key in (first, second, third):
            await asking.takes(key)
        asking.now += 0.5
    assert asking.lists == 1
    assert asking.enqueued == [(second, 2.0)], "one topic comes back for all"
    asking.now, asking.enqueued = 2.0, []
    for key in (second, third):
        await asking.takes(key)
    assert asking.lists == 2
    assert asking.enqueued == [(third, 2.0)]


def test_a_job_enqueues_the_topic_that_owns_it() -> None:
    owner = {"kind": "TopicSchema", "name": "created", "controller": True}
    assert owner_key({"namespace": "shop", "ownerReferences": [owner]}) == Key("topicschemas", "shop", "created")
    assert owner_key({"namespace": "shop", "ownerReferences": [{**owner, "kind": "CronJob"}]}) is None
    assert owner_key({"namespace": "shop"}) is None
