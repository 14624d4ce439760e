"""Turns: the caps hold, everybody's turn comes, and where one namespace asks much the others do not wait for it."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from topicschema.reconcile.queue import Key
from topicschema.reconcile.validating_queue import Caps, Turns, let_in, owner_key

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


def names(jobs: tuple[Object, ...]) -> list[str]:
    return [each["metadata"]["name"] for each in jobs]


def test_the_oldest_comes_first_and_namespaces_take_turns() -> None:
    jobs = [job("a", f"a{n}", n) for n in range(4)] + [job("b", "b0", 10), job("c", "c0", 20)]
    assert names(let_in(jobs, Caps(in_all=4, in_namespace=4))) == ["a0", "b0", "c0", "a1"]


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
    assert names(let_in(jobs, Caps(in_all=10, in_namespace=2))) == ["next"]
    assert names(let_in(jobs, Caps(in_all=1, in_namespace=2))) == []


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
    chosen = let_in(jobs, Caps(in_all, in_namespace))
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
    assert names(let_in(jobs, Caps(in_all=10, in_namespace=2))) == ["a0", "c0"]


def test_it_is_the_same_for_whoever_looks_and_in_whatever_order() -> None:
    jobs = [job("a", "x", 1), job("b", "y", 1), job("a", "z", 0)]
    assert names(let_in(jobs, Caps(2, 1))) == names(let_in(jobs[::-1], Caps(2, 1))) == ["z", "y"]


def test_who_ends_rings_those_who_wait() -> None:
    turns, rung = Turns(), []
    first, second = Key("topicschemas", "a", "1"), Key("topicschemas", "a", "2")
    turns._waiting.update({first, second})
    turns.done(first, lambda key, _: rung.append(key))
    assert rung == [second]


def test_a_job_rings_the_topic_that_owns_it() -> None:
    owner = {"kind": "TopicSchema", "name": "created", "controller": True}
    assert owner_key({"namespace": "shop", "ownerReferences": [owner]}) == Key("topicschemas", "shop", "created")
    assert owner_key({"namespace": "shop", "ownerReferences": [{**owner, "kind": "CronJob"}]}) is None
    assert owner_key({"namespace": "shop"}) is None
