"""The controller's process is killed (SIGKILL) in the course of each flow, with a call to the broker under way.

In each round of flows side by side, one call of each is held by its proxy, not passed on or done and not answered; when
all are held the one controller dies, and another one brings them to their end. `make test` has three places of each
flow, which are sure to come, in one round (it needs most of a minute: a Lease runs out, a process starts). A full run
has every call of each flow, before and after it, as an undisturbed round lists them (a quarter of an hour);
TOPICSCHEMA_SEED repeats its order.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from signal import SIGKILL

import pytest

from broker.kills.flows import FLOWS, Flow, refused
from broker.kills.holding import Hold, Place
from broker.kills.worlds import World, at_rest, each, worlds
from support.pulsar.brokered_namespace import RESYNC
from support.sizes import IS_FULL, SEED, sized
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.pulsar import Pulsar

_AT_ONCE = sized(40, 20)
_PATIENCE_SECONDS = sized(150, 30)  # of the places of a sample each comes, if late; of all calls some looks never do
_TRIES = 4  # a look that did not come is waited for in other rounds, too

pytestmark = [pytest.mark.broker, pytest.mark.faults, pytest.mark.timeout(7200 if IS_FULL else 900)]


@pytest.fixture(scope="module")
def rarely_looking(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """A controller that reconciles nothing but what an event enqueues, so that a flow's calls are the same."""
    with Product.controlling(
        instance, cluster, {**PATIENT_LEASE, **RESYNC, "TOPICSCHEMA_RESYNC_PERIOD": "3600"}
    ) as installed:
        yield installed


Turn = tuple[Flow, Place]


async def listed(cluster: Cluster, pulsar: Pulsar) -> list[Turn]:
    """The places of each flow, in a run that nobody disturbs. Each writes as often as the flow says, retries aside."""
    async with worlds(cluster, pulsar, FLOWS) as made:
        await acted(made)
        await each(made, World.prove)
        found = [(world.flow, place) for world in made for place in world.places()]
        for world in made:
            retries = {place for place in world.places() if is_retry((world.flow, place))}
            assert len(world.proxy.writes) - len(retries) // 2 == world.flow.writes, world.flow.name
        await at_rest(made)
        return found


async def acted(made: list[World]) -> None:
    """All people do their part at once."""
    await asyncio.gather(*(world.flow.act(world.topic) for world in made))


async def held(holds: list[Hold]) -> None:
    """Return once all are held, or the others have had their time."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not all(hold.is_there for hold in holds) and time.monotonic() < deadline:  # noqa: ASYNC110 - by the proxies
        await asyncio.sleep(0.05)


async def killed(product: Product, made: list[World], turns: list[Turn]) -> list[Turn]:
    """Those that did not come; all come to their end, by another controller."""
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
        await each(made, World.prove)
    except AssertionError as error:
        error.add_note(f"exit status {product.controller.exit_status}: {product.controller.log_tail()}")
        raise
    await at_rest(made)
    return missed


def told(turn: Turn) -> str:
    return f"{turn[0].name}: {turn[1]}"


def is_retry(turn: Turn) -> bool:
    """Whether it is an upload that the broker has refused before: any later reconcile may try it again."""
    flow, place = turn
    return flow.fault is refused and place.request.startswith("POST ") and place.repeat > 1


def once_more(missed: list[Turn], tries: Counter[str]) -> list[Turn]:
    """Those that may still come. A write always does, but for the retry of a refused upload."""
    assert [told(turn) for turn in missed if " GET " not in told(turn) and not is_retry(turn)] == []
    tries.update(map(told, missed))
    return [turn for turn in missed if tries[told(turn)] < _TRIES]


async def test_killed_at_any_broker_call_broker_and_record_agree_and_each_version_is_there_once(
    rarely_looking: Product, pulsar: Pulsar, cluster: Cluster
) -> None:
    turns = [(flow, place) for flow in FLOWS for place in flow.places()]
    if IS_FULL:
        turns += await listed(cluster, pulsar)
        Random(SEED).shuffle(turns)  # noqa: S311 - repeatable is the point
    tries: Counter[str] = Counter()
    while turns:
        chosen, turns = turns[:_AT_ONCE], turns[_AT_ONCE:]
        print(f"TOPICSCHEMA_SEED={SEED}", [told(turn) for turn in chosen])  # noqa: T201 - shown on failure
        async with worlds(cluster, pulsar, [flow for flow, _ in chosen]) as made:
            turns += once_more(await killed(rarely_looking, made, chosen), tries)
    print(f"held again: {tries}")  # noqa: T201
