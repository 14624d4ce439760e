"""The controller's process is killed (SIGKILL) before and after each broker call of each flow, and started again.

An undisturbed round of all flows side by side lists their calls. Then, round by round, one call of each flow is held by
its proxy, not passed on or done and not answered; when all are held the one controller dies. TOPICSCHEMA_SEED repeats
the choice of a run, TOPICSCHEMA_TEST_FAULTS=all takes every call (a quarter of an hour) and wants each to have come.
"""

import asyncio
import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from signal import SIGKILL

import pytest

from broker.kills.flows import FLOWS, Flow
from broker.kills.holding import Hold, Place
from broker.kills.worlds import World, each, worlds
from support.pulsar.brokered_namespace import RESYNC
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.pulsar import Pulsar

ALL = os.environ.get("TOPICSCHEMA_TEST_FAULTS") == "all"
SEED = os.environ.get("TOPICSCHEMA_SEED") or secrets.token_hex(4)
_AT_ONCE = 22 if ALL else 20
_PATIENCE_SECONDS = 30.0
_TRIES = 4  # a call that a busy machine gives up while others are yet to come is held again
_HELD_SECONDS = 6.0  # a call is given up after ten

pytestmark = [pytest.mark.broker, pytest.mark.faults, pytest.mark.timeout(7200 if ALL else 1200)]


@pytest.fixture(scope="module")
def rarely_looking(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The controller as a process that looks at nothing unless it is rung, so that a flow's calls are the same."""
    with Product.controlling(
        instance, cluster, {**PATIENT_LEASE, **RESYNC, "TOPICSCHEMA_RESYNC_PERIOD": "3600"}
    ) as installed:
        yield installed


Turn = tuple[Flow, Place]


@dataclass(slots=True)
class Course:
    """What is still to come, how much has come, and what was missed how often."""

    to_come: list[Turn]
    killed: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    never_came: list[str] = field(default_factory=list)

    def following(self) -> list[Turn]:
        """What comes next, all at once."""
        turns, self.to_come = self.to_come[:_AT_ONCE], self.to_come[_AT_ONCE:]
        return turns

    def note(self, turn: Turn, *, was_in_flight: bool) -> None:
        """Count it, or have it come again."""
        self.killed += was_in_flight
        if was_in_flight:
            return
        told = f"{turn[0].name}: {turn[1]}"
        self.missed[told] += 1
        if self.missed[told] < _TRIES:
            self.to_come.append(turn)
            return
        assert " GET " in told, f"{told} never came"  # a look more or less: a ring may come late, a write never does
        self.never_came.append(told)


async def listed(cluster: Cluster, pulsar: Pulsar) -> dict[str, list[Place]]:
    """The places of each flow, in a run that nobody disturbs."""
    async with worlds(cluster, pulsar, FLOWS) as made:
        await acted(made)
        await each(made, World.prove)
        found = {world.flow.name: world.places() for world in made}
        await each(made, World.rest)
        return found


def drawn(random: Random, places: dict[str, list[Place]]) -> list[Turn]:
    """One call of each flow, and of the others as many as fit into one round with them."""
    first = [(flow, random.choice(places[flow.name])) for flow in FLOWS]
    others = [(flow, place) for flow in FLOWS for place in places[flow.name] if (flow, place) not in first]
    return first + random.sample(others, _AT_ONCE - len(first))


async def acted(made: list[World]) -> None:
    """All people do their part at once."""
    await asyncio.gather(*(world.flow.act(world.topic) for world in made))


async def held(holds: list[Hold]) -> None:
    """Return once all are held, or the first of them may not be held any longer."""
    deadline, is_first = time.monotonic() + _PATIENCE_SECONDS, True
    while not all(hold.call for hold in holds) and time.monotonic() < deadline:
        if is_first and any(hold.call for hold in holds):
            deadline, is_first = time.monotonic() + _HELD_SECONDS, False
        await asyncio.sleep(0.05)


async def killed(product: Product, made: list[World], turns: list[Turn], course: Course) -> None:
    """The flows run, the controller dies where they are held, and another one brings them to their end."""
    holds = [world.hold(place) for world, (_, place) in zip(made, turns, strict=True)]
    acting = asyncio.create_task(acted(made))
    await held(holds)
    in_flight = [hold.is_in_flight for hold in holds]
    assert await asyncio.to_thread(product.controller.kill) == -SIGKILL
    await acting
    for world, hold, turn, was_in_flight in zip(made, holds, turns, in_flight, strict=True):
        course.note(turn, was_in_flight=was_in_flight)
        hold.is_over = True
        world.recover()
    await asyncio.to_thread(product.start_controller)
    try:
        await each(made, World.prove)
    except AssertionError as error:
        error.add_note(f"exit status {product.controller.exit_status}: {product.controller.log_tail()}")
        raise
    await each(made, World.rest)


async def test_killed_at_any_broker_call_broker_and_record_agree_and_each_version_is_there_once(
    rarely_looking: Product, pulsar: Pulsar, cluster: Cluster
) -> None:
    random = Random(SEED)  # noqa: S311 - repeatable is the point
    places = await listed(cluster, pulsar)
    counts = {name: len(found) for name, found in places.items()}
    print(f"TOPICSCHEMA_SEED={SEED}; places: {counts}, {sum(counts.values())} in all")  # noqa: T201 - shown on failure
    turns = [(flow, place) for flow in FLOWS for place in places[flow.name]] if ALL else drawn(random, places)
    random.shuffle(turns)
    course, enough = Course(turns), len(turns) if ALL else len(turns) * 3 // 4
    while course.killed < enough and (chosen := course.following()):
        print([f"{flow.name}: {place}" for flow, place in chosen])  # noqa: T201
        async with worlds(cluster, pulsar, [flow for flow, _ in chosen]) as made:
            await killed(rarely_looking, made, chosen, course)
    missed = course.missed.total()
    print(f"killed at {course.killed} of {len(turns)}; held again: {missed}; never came: {course.never_came}")  # noqa: T201
    assert course.killed >= enough, course.never_came
