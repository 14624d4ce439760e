"""The controller is killed (SIGKILL) before and after each API write of each flow, and started again.

A first undisturbed run of a flow counts its writes. Then, for each write, the flow runs twice more in a fresh
namespace: once with the controller killed when the write arrives and is not passed on, once when it was carried out
and not yet answered.
Each run asserts that its write was really seen.
"""

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable

import pytest

from faults.conftest import Rig
from faults.flows import FLOWS, Flow
from faults.proxy import Answer, Call, Fault, unanswered
from faults.world import World, until

pytestmark = [pytest.mark.cluster, pytest.mark.faults, pytest.mark.timeout(1500)]

_BUDGET_SECONDS = float("inf") if os.environ.get("TOPICSCHEMA_TEST_FAULTS") == "all" else 540 / len(FLOWS)
_SEED = int(os.environ.get("TOPICSCHEMA_TEST_SEED", "7"))


def killing(rig: Rig, number: int, *, before: bool) -> Fault:
    """The fault that kills the controller at the write of that number, once."""

    async def fault(call: Call, forward: Callable[[], Awaitable[Answer]]) -> Answer:
        if call.number != number:
            return await forward()
        answer = unanswered() if before else await forward()
        await asyncio.to_thread(rig.product.controller.kill)
        return answer

    return fault


def run(rig: Rig, flow: Flow, fault: Callable[[int], Fault] | None, number: int = 0) -> list[Call]:
    """Run the flow in a world of its own, disturbed or not; the writes of its armed part."""
    world = World(rig.plane.cluster)
    try:
        flow.before(world)
        rig.proxy.forget(world.is_concerned)
        if fault is not None:
            rig.proxy.fault = fault(number)
        flow.act(world)
        if fault is not None:
            until(lambda: rig.product.controller.pid is None, f"write {number} of {flow.name!r} to be seen")
            assert any(call.number == number for call in rig.proxy.writes)
            rig.proxy.forget()
            rig.product.start_controller()
        flow.after(world)
        return list(rig.proxy.writes)
    finally:
        rig.proxy.forget()
        if rig.product.controller.pid is None:
            rig.product.start_controller()
        world.remove()


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
def test_killed_at_any_write_nothing_is_lost_or_written_twice(rig: Rig, flow: Flow) -> None:
    start = time.monotonic()
    writes = run(rig, flow, None)
    assert writes, "a flow without a write proves nothing"
    points = [(number, before) for number in range(1, len(writes) + 1) for before in (True, False)]
    random.Random(_SEED).shuffle(points)  # noqa: S311 - which points run when time is short, repeatable by the seed
    done = 0
    for number, before in points:
        if done and time.monotonic() - start > _BUDGET_SECONDS:
            break
        run(rig, flow, lambda at, before=before: killing(rig, at, before=before), number)  # type: ignore[misc]
        done += 1
    print(f"{flow.name}: {len(writes)} writes, {done} of {len(points)} kill points (seed {_SEED})")  # noqa: T201 - shown by -rP and on failure
