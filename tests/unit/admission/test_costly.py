"""Reviews that take long: refused, while others are answered."""

import asyncio
from typing import NoReturn

import pytest

from support.kubernetes.admission import OWN_STORE, V0, Reply, World, as_go_writes, new_policy, new_topic, owner_of
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.policy import Strictness
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging.judge import Judge


@pytest.fixture
def hanging(world: World, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Replace judging by one that sets this event and never returns."""
    reached = asyncio.Event()

    async def judge(*_: object) -> NoReturn:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(Judge, "judge", judge)
    return reached


async def review(world: World, namespace: str, seconds: str) -> Reply:
    new = new_topic({"topic": f"persistent://{namespace}/orders/created", "type": "AVRO", "schema": V0})
    new["metadata"]["namespace"] = namespace
    request = {"uid": "4711", "kind": {"kind": "TopicSchema"}, "operation": "CREATE", "object": new}
    return await world.post(as_go_writes({"request": {**request, "namespace": namespace}}), seconds)


@pytest.mark.usefixtures("hanging")
@pytest.mark.parametrize("strictness", Strictness)
async def test_an_edit_that_is_not_judged_in_time_is_not_admitted(world: World, strictness: Strictness) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD", strictness=strictness)
    reply = await review(world, "shop", "1s")
    assert reply.status == 500
    assert reply.text == "topicschema: not judged within 0.5 s: the webhook or the API server is busy; try again"


async def test_edits_of_one_kubernetes_namespace_are_judged_in_turn_and_hold_up_no_other(
    world: World, hanging: asyncio.Event
) -> None:
    await world.policy()
    spec = new_policy(pulsarNamespace="other/orders")["spec"]
    other = world.api.put(NAMESPACE_SCHEMA_POLICY, "other", "orders", {"spec": spec, "status": OWN_STORE})
    unclaimed = await world.storage.get_claim(PulsarNamespaceKey("pulsar", "other", "orders"))
    await world.storage.put_claim(unclaimed, owner_of(other))
    first = asyncio.create_task(review(world, "shop", "3s"))
    await hanging.wait()
    hanging.clear()
    assert (await review(world, "shop", "1s")).status == 500
    assert not hanging.is_set()  # its time was over before it had its turn
    await review(world, "other", "1s")
    assert hanging.is_set()
    first.cancel()
