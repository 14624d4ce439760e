"""The controller's process is killed (SIGKILL) during each flow, with a call to the broker under way.

In each round of flows side by side, the proxy of each blocks one call: not passed on, or done without a response. When
all are blocked the one controller dies, and another one completes the flows. `make test` has three places of each flow
that every run reaches, in one round (most of a minute: a Lease expires, a process starts). A full run has every call of
each flow, before and after it, as an undisturbed round lists them (a quarter of an hour); TOPICSCHEMA_SEED repeats its
order.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from signal import SIGKILL

import pytest

from broker.kills.flows import FLOWS, Flow, refused
from broker.kills.hold import Hold, Place
from broker.kills.worlds import World, check_no_writes, each, worlds
from support.pulsar.brokered_namespace import RESYNC
from support.sizes import IS_FULL, SEED, sized
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.pulsar import Pulsar

_AT_ONCE = sized(40, 20)
_TIMEOUT_SECONDS = sized(150, 30)  # a sample's places all come, if late; of all calls some reads never do
_TRIES = 4  # other rounds wait for a read that did not come, too

pytestmark = [pytest.mark.broker, pytest.mark.faults, pytest.mark.timeout(7200 if IS_FULL else 900)]


@pytest.fixture(scope="module")
def controller_without_resync(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Yield a controller that reconciles nothing but what an event enqueues, so that a flow's calls are the same."""
    with Product.controlling(
        instance, cluster, {**PATIENT_LEASE, **RESYNC, "TOPICSCHEMA_RESYNC_PERIOD": "3600"}
    ) as installed:
        yield installed


Turn = tuple[Flow, Place]


async def listed(cluster: Cluster, pulsar: Pulsar) -> list[Turn]:
    """Return the places of each flow in an undisturbed run, with the flow's number of writes, retries aside."""
    async with worlds(cluster, pulsar, FLOWS) as made:
        await acted(made)
        await each(made, World.check)
        places = [(world.flow, place) for world in made for place in world.places()]
        for world in made:
            retries = {place for place in world.places() if is_retry((world.flow, place))}
            assert len(world.proxy.writes) - len(retries) // 2 == world.flow.writes, world.flow.name
        await check_no_writes(made)
        return places


async def acted(made: list[World]) -> None:
    """Make the edits of all flows at once."""
    await asyncio.gather(*(world.flow.act(world.topic) for world in made))


async def held(holds: list[Hold]) -> None:
    """Return once all are blocked, or after the timeout."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not all(hold.is_there for hold in holds) and time.monotonic() < deadline:  # noqa: ASYNC110 - by the proxies
        await asyncio.sleep(0.05)


async def killed(product: Product, made: list[World], turns: list[Turn]) -> list[Turn]:
    """Kill the controller and complete the flows with another one. Return the places that did not come."""
    holds = [world.hold(place) for world, (_, place) in zip(made, turns, strict=True)]
    acting = asyncio.create_task(acted(made))
    await held(holds)
    missed = [turn for turn, hold in zip(turns, holds, strict=True) if not hold.is_there]
    assert await asyncio.to_thread(product.controller.kill) == -SIGKILL
    await acting
    for world, hold in zip(made, holds, strict=True):
        hold.is_over = True
        world.recover()
    await asyncio.to_thread(product.start_controller)
    try:
        await each(made, World.check)
    except AssertionError as error:
        error.add_note(f"exit status {product.controller.exit_status}: {product.controller.log_tail()}")
        raise
    await check_no_writes(made)
    return missed


def name_of(turn: Turn) -> str:
    return f"{turn[0].name}: {turn[1]}"


def is_retry(turn: Turn) -> bool:
    """Return True for an upload that the broker has refused before: any later reconcile may retry it."""
    flow, place = turn
    return flow.fault is refused and place.request.startswith("POST ") and place.repeat > 1


def once_more(missed: list[Turn], tries: Counter[str]) -> list[Turn]:
    """Return the turns that may still come. A write always does, but for the retry of a refused upload."""
    assert [name_of(turn) for turn in missed if " GET " not in name_of(turn) and not is_retry(turn)] == []
    tries.update(map(name_of, missed))
    return [turn for turn in missed if tries[name_of(turn)] < _TRIES]


async def test_killed_at_any_broker_call_broker_and_record_agree_and_each_version_is_there_once(
    controller_without_resync: Product, pulsar: Pulsar, cluster: Cluster
) -> None:
    turns = [(flow, place) for flow in FLOWS for place in flow.places()]
    if IS_FULL:
        turns += await listed(cluster, pulsar)
        Random(SEED).shuffle(turns)  # noqa: S311 - repeatable is the point
    tries: Counter[str] = Counter()
    while turns:
        chosen, turns = turns[:_AT_ONCE], turns[_AT_ONCE:]
        print(f"TOPICSCHEMA_SEED={SEED}", [name_of(turn) for turn in chosen])  # noqa: T201 - shown on failure
        async with worlds(cluster, pulsar, [flow for flow, _ in chosen]) as made:
            turns += once_more(await killed(controller_without_resync, made, chosen), tries)
    print(f"held again: {tries}")  # noqa: T201
