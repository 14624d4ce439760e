"""The controller is killed (SIGKILL) before and after its API writes in each flow, and started again.

All flows run side by side, each in a fresh namespace. Each is held at a write of its own (see `traps`); when all are,
the controller is killed once, and another one has to bring all of them to their end. `make test` takes the three places
of each flow that its definition names, a full run each write that an undisturbed run of the flow has, before and after.

A round takes some seconds, for a controller starts in it and the flows run twice.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from faults.conftest import Rig
from faults.flows import FLOWS, Flow
from faults.traps import Place, Trap, Traps, may_be_missing
from faults.world import World, until

pytestmark = [pytest.mark.cluster, pytest.mark.faults, pytest.mark.timeout(900)]

Run = tuple[Flow, Trap]


def at_once(do: Callable[[Flow, Trap], None], runs: Sequence[Run]) -> None:
    """Do it for all runs side by side; what went wrong is raised together."""

    def one(run: Run) -> Exception | None:
        flow, trap = run
        try:
            do(flow, trap)
        except Exception as error:  # noqa: BLE001 - raised below
            error.add_note(f"in {flow.name!r}, killed {trap.place}; its writes: {trap.kinds}")
            return error
        return None

    with ThreadPoolExecutor(len(runs)) as threads:
        failed = [error for error in threads.map(one, runs) if error is not None]
    if failed:
        raise ExceptionGroup("flows that failed", failed)


def come_to_hold(flow: Flow, trap: Trap) -> None:
    """Return when the write is held; or when the flow has ended without it, where it need not come."""
    place = trap.place
    assert place is not None
    is_sure = not may_be_missing(place.kind)
    until(lambda: trap.holds.is_set() or (not is_sure and has_ended(flow, trap.world)), "the write to be held")


def has_ended(flow: Flow, world: World) -> bool:
    """Whether all is as it must be in the end."""
    try:
        flow.after(replace(world, patience=0.0))
    except AssertionError:
        return False
    return world.has_counted()


def ends_well(flow: Flow, trap: Trap) -> None:
    """What must be true in the end is."""
    flow.after(trap.world)
    trap.world.until(trap.world.has_counted, f"the policy of {flow.name!r} to count its topics")


def undisturbed(rig: Rig) -> dict[str, list[str]]:
    """The writes of each flow, by its name."""
    runs = [(flow, Trap(World(rig.api))) for flow in FLOWS]
    perform(rig, runs)
    return {flow.name: list(trap.kinds) for flow, trap in runs}


def perform(rig: Rig, runs: Sequence[Run]) -> None:
    """Run the flows, kill the controller where each is held, and let another one finish them."""
    held = [(flow, trap) for flow, trap in runs if trap.place is not None]
    traps = Traps(rig.proxy, tuple(trap for _, trap in runs))
    try:
        at_once(lambda flow, trap: flow.before(trap.world), runs)
        traps.set()
        at_once(lambda flow, trap: flow.act(trap.world), runs)
        if held:
            at_once(come_to_hold, held)
            rig.product.controller.kill()
            traps.remove()
            rig.replace_controller()
            until(rig.has_looked, "the next controller to have looked at all topics")
        at_once(ends_well, runs)
    finally:
        traps.remove()
        for _, trap in runs:
            trap.world.remove()


@pytest.mark.parametrize("number", range(3))
def test_killed_at_three_places_of_each_flow_nothing_is_lost_or_written_twice(rig: Rig, number: int) -> None:
    there = [flow for flow in FLOWS if number < len(flow.places)]  # a rollback is one write
    perform(rig, [(flow, Trap(World(rig.api), flow.places[number])) for flow in there])


@pytest.mark.full
@pytest.mark.timeout(7200)
def test_killed_at_any_write_nothing_is_lost_or_written_twice(rig: Rig) -> None:
    writes = undisturbed(rig)
    assert all(writes.values()), "a flow without a write proves nothing"
    places = {flow.name: list(every_place(writes[flow.name])) for flow in FLOWS}
    for flow in FLOWS:
        assert set(flow.places) <= set(places[flow.name]), f"{flow.name}: {writes[flow.name]}"
    for number in range(max(map(len, places.values()))):
        there = [flow for flow in FLOWS if number < len(places[flow.name])]
        perform(rig, [(flow, Trap(World(rig.api), places[flow.name][number])) for flow in there])


def every_place(kinds: Sequence[str]) -> Iterator[Place]:
    """Before and after each write."""
    for position, kind in enumerate(kinds):
        for is_before in (True, False):
            yield Place(kind, is_before, kinds[: position + 1].count(kind))
