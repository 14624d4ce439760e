"""Reviews of what takes long: refused, and others are answered meanwhile."""

import asyncio
from typing import NoReturn

import pytest

from hostile.costly import FAMILIES
from support.kubernetes.admission import PROFILE, V0, Reply, World, as_go_writes, wanted_topic
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.history import Owner
from topicschema.core.policy import Strictness
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging.judge import Judge


async def test_a_comparison_that_takes_too_many_steps_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicschema.core.comparison.MOST_STEPS", 10_000)
    earlier, candidate = (FAMILIES["full"](40, version) for version in range(2))
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(earlier.schema.decode())
    refusal = (await world.create(candidate.schema.decode())).refusal
    assert refusal["code"] == 422
    (cause,) = refusal["details"]["causes"]
    assert cause["message"].startswith("COMPARISON_TOO_COMPLEX at $: ")


@pytest.fixture
def hanging(world: World, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set while one is judging; nobody ever comes to a verdict."""
    reached = asyncio.Event()

    async def judge(*_: object) -> NoReturn:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(Judge, "judge", judge)
    return reached


async def ask(world: World, namespace: str, seconds: str) -> Reply:
    wanted = wanted_topic({"topic": f"persistent://{namespace}/orders/created", "type": "AVRO", "schema": V0})
    wanted["metadata"]["namespace"] = namespace
    request = {"uid": "4711", "kind": {"kind": "TopicSchema"}, "operation": "CREATE", "object": wanted}
    return await world.post(as_go_writes({"request": {**request, "namespace": namespace}}), seconds)


@pytest.mark.usefixtures("hanging")
@pytest.mark.parametrize("strictness", Strictness)
async def test_an_edit_that_is_not_judged_in_time_is_not_admitted(world: World, strictness: Strictness) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD", strictness=strictness)
    reply = await ask(world, "shop", "1s")
    assert reply.status == 500
    assert reply.text == "topicschema: not judged within 0.5 s: the webhook or the API server is busy; try again"


async def test_edits_of_one_kubernetes_namespace_are_judged_in_turn_and_hold_up_no_other(
    world: World, hanging: asyncio.Event
) -> None:
    await world.policy()
    spec = {"pulsarCluster": "pulsar", "pulsarNamespace": "other/orders", **PROFILE}
    there = world.api.put(NAMESPACE_SCHEMA_POLICY, "other", "orders", {"spec": spec})
    unclaimed = await world.storage.get_claim(PulsarNamespaceKey("pulsar", "other", "orders"))
    await world.storage.put_claim(unclaimed, Owner("other", "orders", there["metadata"]["uid"]))
    first = asyncio.create_task(ask(world, "shop", "3s"))
    await hanging.wait()
    hanging.clear()
    assert (await ask(world, "shop", "1s")).status == 500
    assert not hanging.is_set()  # its time was over before it had its turn
    await ask(world, "other", "1s")
    assert hanging.is_set()
    first.cancel()
