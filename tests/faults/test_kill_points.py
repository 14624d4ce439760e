"""The controller is killed (SIGKILL) before and after its API writes in each flow, and started again.

All flows run side by side, each in a fresh namespace. Each is blocked at a write of its own (see `write_holds`); when
all are, the controller is killed once, and another one has to complete all of them. `make test` has the three places of
each flow that its definition names, a full run each write of an undisturbed run of the flow, before and after.

A round takes some seconds, because a controller starts in it and the flows run twice.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from faults.conftest import Rig
from faults.flows import FLOWS, Flow
from faults.world import World, until
from faults.write_holds import Place, WriteHold, WriteHolds, may_be_missing

pytestmark = [pytest.mark.cluster, pytest.mark.faults, pytest.mark.timeout(900)]

Run = tuple[Flow, WriteHold]


def at_once(do: Callable[[Flow, WriteHold], None], runs: Sequence[Run]) -> None:
    """Run it for all runs side by side, and raise the errors together."""

    def one(run: Run) -> Exception | None:
        flow, hold = run
        try:
            do(flow, hold)
        except Exception as error:  # noqa: BLE001 - raised below
            error.add_note(f"in {flow.name!r}, killed {hold.place}; its writes: {hold.kinds}")
            return error
        return None

    with ThreadPoolExecutor(len(runs)) as threads:
        failed = [error for error in threads.map(one, runs) if error is not None]
    if failed:
        raise ExceptionGroup("flows that failed", failed)


def wait_for_hold(flow: Flow, hold: WriteHold) -> None:
    """Return when the write is blocked, or when the flow has ended without a write that may be missing."""
    place = hold.place
    assert place is not None
    is_sure = not may_be_missing(place.kind)
    until(lambda: hold.is_held.is_set() or (not is_sure and has_ended(flow, hold.world)), "the write to be blocked")


def has_ended(flow: Flow, world: World) -> bool:
    """Return True if the flow has ended."""
    try:
        flow.after(replace(world, timeout=0.0))
    except AssertionError:
        return False
    return world.has_counted()


def check_end(flow: Flow, hold: WriteHold) -> None:
    """Check the end of the flow."""
    flow.after(hold.world)
    hold.world.until(hold.world.has_counted, f"the policy of {flow.name!r} to count its topics")


def undisturbed(rig: Rig) -> dict[str, list[str]]:
    """Return the writes of each flow, by its name."""
    runs = [(flow, WriteHold(World(rig.api))) for flow in FLOWS]
    perform(rig, runs)
    return {flow.name: list(hold.kinds) for flow, hold in runs}


def perform(rig: Rig, runs: Sequence[Run]) -> None:
    """Run the flows, kill the controller where each is blocked, and let another one finish them."""
    blocked = [(flow, hold) for flow, hold in runs if hold.place is not None]
    holds = WriteHolds(rig.proxy, tuple(hold for _, hold in runs))
    try:
        at_once(lambda flow, hold: flow.before(hold.world), runs)
        holds.set()
        at_once(lambda flow, hold: flow.act(hold.world), runs)
        if blocked:
            at_once(wait_for_hold, blocked)
            rig.product.controller.kill()
            holds.remove()
            rig.replace_controller()
            until(rig.has_reconciled_all, "the next controller to reconcile all topics")
        at_once(check_end, runs)
    finally:
        holds.remove()
        for _, hold in runs:
            hold.world.remove()


@pytest.mark.parametrize("number", range(3))
def test_killed_at_three_places_of_each_flow_nothing_is_lost_or_written_twice(rig: Rig, number: int) -> None:
    there = [flow for flow in FLOWS if number < len(flow.places)]  # a rollback is one write
    perform(rig, [(flow, WriteHold(World(rig.api), flow.places[number])) for flow in there])


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
        perform(rig, [(flow, WriteHold(World(rig.api), places[flow.name][number])) for flow in there])


def every_place(kinds: Sequence[str]) -> Iterator[Place]:
    """Yield the places before and after each write."""
    for position, kind in enumerate(kinds):
        for is_before in (True, False):
            yield Place(kind, is_before, kinds[: position + 1].count(kind))
