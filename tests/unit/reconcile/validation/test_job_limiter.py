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
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.validation.job_limiter import (
    JobLimiter,
    Limits,
    never_starts,
    preempt_candidates,
    select_startable,
)
from topicschema.validation.job.outcome import Waiting, outcome

Object = dict[str, Any]
NOW = "2026-11-21T07:00:00Z"


def job(namespace: str, name: str, made: int, *, waits: bool = True, end: str = "") -> Object:
    metadata = {
        "namespace": namespace,
        "name": name,
        "ownerReferences": [{"kind": "TopicSchema", "name": name, "controller": True}],
        "creationTimestamp": f"2026-11-21T06:{made // 60:02}:{made % 60:02}Z",
    }
    conditions = [{"type": end, "status": "True"}] if end else []
    return {"metadata": metadata, "spec": {"suspend": waits}, "status": {"conditions": conditions}}


def names(jobs: tuple[Object, ...]) -> list[str]:
    return [each["metadata"]["name"] for each in jobs]


def test_the_oldest_comes_first_and_namespaces_take_turns() -> None:
    jobs = [job("a", f"a{n}", n) for n in range(4)] + [job("b", "b0", 10), job("c", "c0", 20)]
    assert names(select_startable(jobs, Limits(in_all=4, in_namespace=4))) == ["a0", "b0", "c0", "a1"]


def test_what_runs_counts_and_what_has_ended_or_is_going_does_not() -> None:
    going = job("a", "going", 0, waits=False)
    going["metadata"]["deletionTimestamp"] = "2026-11-21T06:00:00Z"
    jobs = [
        job("a", "runs", 0, waits=False),
        job("a", "failed", 1, waits=False, end="Failed"),
        going,
        job("a", "next", 5),
        job("a", "later", 6),
    ]
    assert names(select_startable(jobs, Limits(in_all=10, in_namespace=2))) == ["next"]
    assert names(select_startable(jobs, Limits(in_all=1, in_namespace=2))) == []


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
    chosen = select_startable(jobs, Limits(in_all, in_namespace))
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
    assert names(select_startable(jobs, Limits(in_all=10, in_namespace=2))) == ["a0", "c0"]


def stuck(namespace: str, name: str, started: str, **status: int) -> Object:
    """A Job that has had its turn since then."""
    wire = job(namespace, name, 0, waits=False)
    wire["status"] |= {"startTime": f"2026-11-21T{started}Z", **status}
    return wire


def test_who_does_not_start_gives_way_where_somebody_waits_who_could_have_the_place() -> None:
    old, older, runs = stuck("a", "old", "06:50:00"), stuck("b", "older", "06:40:00"), stuck("c", "runs", "06:00:00")
    runs["status"]["ready"] = 1
    failed, fresh = stuck("d", "failed", "06:00:00", failed=1), stuck("d", "fresh", "06:55:00")
    jobs, limits = [old, older, runs, failed, fresh], Limits(in_all=5, in_namespace=2)
    assert not preempt_candidates(jobs, limits, NOW), "nobody waits"
    assert list(preempt_candidates([*jobs, job("a", "next", 1)], limits, NOW)) == [older, old]
    narrow = Limits(in_all=9, in_namespace=1)
    assert list(preempt_candidates([*jobs, job("a", "next", 1)], narrow, NOW)) == [old], (
        "the other one is in nobody's way"
    )
    assert not preempt_candidates([runs, failed, fresh, job("d", "next", 1)], Limits(in_all=3), NOW)


def test_a_run_whose_node_was_away_or_whose_pod_was_evicted_just_now_does_not_give_way() -> None:
    def pod(phase: str, created: str) -> Object:
        return {"metadata": {"creationTimestamp": f"2026-11-21T{created}Z"}, "status": {"phase": phase}}

    assert never_starts([], NOW), "nobody lets its pods be made"
    assert never_starts([pod("Failed", "06:59:00"), pod("Pending", "06:50:00")], NOW) is False
    assert never_starts([pod("Failed", "06:40:00"), pod("Pending", "06:50:00")], NOW)
    assert not never_starts([pod("Running", "05:00:00")], NOW), "its node does not tell of it for a moment"
    assert not never_starts([pod("Failed", "05:00:00"), pod("Pending", "06:59:30")], NOW), "it was made anew just now"


def test_it_is_the_same_for_whoever_looks_and_in_whatever_order() -> None:
    jobs = [job("a", "x", 1), job("b", "y", 1), job("a", "z", 0)]
    assert (
        names(select_startable(jobs, Limits(2, 1))) == names(select_startable(jobs[::-1], Limits(2, 1))) == ["z", "y"]
    )


@dataclass
class Asking:
    """An API server with a Job of each of these topics, and what they are enqueued for."""

    api: FakeApiServer
    client: ApiClient
    now: float = 0.0
    enqueued: list[tuple[Key, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limiter = JobLimiter(Limits(in_all=1), lambda: self.now)

    def job(self, name: str, made: int) -> Key:
        """A Job that waits; its topic's key."""
        self.api.put(JOB, "a", name, job("a", name, made))
        return Key("topicschemas", "a", name)

    def enqueue(self, key: Key, after: float) -> None:
        self.enqueued.append((key, after))

    async def takes(self, key: Key) -> bool:
        """Whether the Job runs after its topic asked for its turn."""
        await self.limiter.take(self.client, key, self.enqueue, NOW)
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


async def test_who_ends_lets_the_next_in_at_once_and_later_passes_enqueue_nothing(asking: Asking) -> None:
    first, second, stranger = asking.job("1", 1), asking.job("2", 2), Key("topicschemas", "b", "told long ago")
    assert await asking.takes(first)
    asking.limiter.runs(first)
    asking.now = 2.0
    assert not await asking.takes(second)
    asking.limiter.done(stranger, asking.enqueue)
    assert asking.enqueued == []
    asking.limiter.done(first, asking.enqueue)
    assert asking.enqueued == [(second, 0.0)]
    assert not await asking.takes(second), "its pod left a verdict, and its Job has not ended"
    asking.api.change("/jobs/1", lambda wire: wire["status"].update(conditions=[{"type": "Failed", "status": "True"}]))
    asking.limiter.done(first, asking.enqueue)
    assert asking.enqueued == [(second, 0.0)] * 2
    assert await asking.takes(second)
    asking.now += 30.0
    asking.limiter.done(first, asking.enqueue)
    assert asking.enqueued == [(second, 0.0)] * 2


async def test_who_gave_way_comes_to_the_end_of_the_queue(asking: Asking) -> None:
    first, second, third = (asking.job(str(n), n) for n in range(3))
    assert await asking.takes(first)
    asking.api.change("/jobs/0", lambda wire: wire["status"].update(startTime="2026-11-21T06:54:59Z"))
    asking.now = 2.0
    assert await asking.takes(second), "the place is free at once"
    asking.now = 4.0
    assert not await asking.takes(first)
    assert not await asking.takes(third)
    asking.api.take_away(JOB, "a", "1")
    asking.limiter.done(second, asking.enqueue)
    assert await asking.takes(third)
    waiting = await asking.client.get(JOB, "a", "0")
    found = outcome(waiting, ())
    assert isinstance(found, Waiting)
    assert found.why.endswith("did not start within 5 minutes, and it gave way to another; its events say why")


async def test_a_job_that_cannot_be_touched_holds_up_no_other(asking: Asking) -> None:
    asking.limiter = JobLimiter(Limits(in_all=2), lambda: asking.now)
    first, second = asking.job("1", 1), asking.job("2", 2)
    asking.api.refusals = {"PATCH /apis/batch/v1/namespaces/a/jobs/1": 500}
    with pytest.raises(ApiUnavailableError):
        await asking.takes(first)
    assert not (await asking.client.get(JOB, "a", second.name))["spec"]["suspend"]


async def test_jobs_that_may_not_be_let_run_starve_no_neighbour(asking: Asking) -> None:
    refused = [asking.job(f"refused{n}", n) for n in range(4)]
    second, third = asking.job("2", 10), asking.job("3", 11)
    asking.api.refusals = {"PATCH /apis/batch/v1/namespaces/a/jobs/refused": 422}
    with pytest.raises(ApiRefusedError):
        await asking.takes(refused[0])
    asking.now = 2.0
    assert await asking.takes(second), "there was one place, and it is free"
    asking.api.take_away(JOB, "a", "2")
    asking.now = 4.0
    asking.api.requests.clear()
    assert await asking.takes(third)
    assert not [each for each in asking.api.requests if "refused" in each and each.startswith("PATCH")]
    asking.api.take_away(JOB, "a", "3")
    asking.api.refusals = {}
    asking.now = 6.0
    assert await asking.takes(refused[3]), "who asks is tried again, and the others that were passed over are not"


async def test_who_was_refused_and_asks_too_early_hears_the_same_and_is_tried_with_the_next_list(
    asking: Asking,
) -> None:
    first, second = asking.job("1", 1), asking.job("2", 2)
    asking.api.refusals = {"PATCH /apis/batch/v1/namespaces/a/jobs": 422}
    with pytest.raises(ApiRefusedError):
        await asking.takes(first)
    asking.limiter.runs(first)
    asking.now = 2.0
    with pytest.raises(ApiRefusedError):
        await asking.takes(second)
    asking.limiter.runs(second)
    asking.api.refusals = {}
    asking.now = 3.0
    with pytest.raises(ApiRefusedError):
        await asking.takes(first)
    assert asking.enqueued == [(first, 1.0)]
    asking.now = 4.0
    assert not await asking.takes(second)
    assert not (await asking.client.get(JOB, "a", "1"))["spec"]["suspend"]


async def test_an_end_enqueues_no_more_than_may_run_at_once(asking: Asking) -> None:
    first, *others = [asking.job(str(n), n) for n in range(5)]
    for key in (first, *others):
        asking.now += 2.0
        await asking.takes(key)
    asking.limiter.done(first, asking.enqueue)
    assert len(asking.enqueued) == 1
    assert asking.enqueued[0][0] in others


async def test_however_many_wait_all_jobs_are_listed_once_in_two_seconds(asking: Asking) -> None:
    first, second, third = (asking.job(str(n), n) for n in range(3))
    for _ in range(3):
        for key in (first, second, third):
            await asking.takes(key)
        asking.now += 0.5
    assert asking.lists == 1
    assert {key for key, _ in asking.enqueued} == {second, third}, (
        "whom the list did not wait for comes back for the next"
    )
    assert min(after for _, after in asking.enqueued) == 1.0
    asking.now, asking.enqueued = 2.0, []
    for key in (first, second, third):
        await asking.takes(key)
    assert asking.lists == 2
    assert asking.enqueued == []


def test_a_job_enqueues_the_topic_that_owns_it() -> None:
    owner = {"kind": "TopicSchema", "name": "created", "controller": True}
    assert owner_key({"namespace": "shop", "ownerReferences": [owner]}) == Key("topicschemas", "shop", "created")
    assert owner_key({"namespace": "shop", "ownerReferences": [{**owner, "kind": "CronJob"}]}) is None
    assert owner_key({"namespace": "shop"}) is None
