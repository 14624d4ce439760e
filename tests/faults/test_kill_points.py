"""The controller is killed (SIGKILL) before and after each API write of each flow, and started again.

A first undisturbed run of a flow counts its writes. Then, for each write, the flow runs twice more in a fresh
namespace: once with the controller killed when the write arrives and is not passed on, once when it was carried out
and not yet answered.
Each run counts as one only if its write was really seen.
"""

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

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


def run(rig: Rig, flow: Flow, fault: Callable[[int], Fault] | None, number: int = 0) -> tuple[list[Call], bool]:
    """Run the flow in a world of its own, disturbed or not; the writes of its armed part, and whether it was killed.

    It is not where that write did not come: how often a policy counts its topics meanwhile differs.
    """
    world, was_killed = World(rig.plane.cluster), False
    try:
        flow.before(world)
        rig.proxy.forget(world.is_concerned)
        if fault is not None:
            rig.proxy.fault = fault(number)
        flow.act(world)
        if fault is not None:
            with suppress(AssertionError):
                until(lambda: rig.product.controller.pid is None, f"write {number} of {flow.name!r} to be seen", 20)
            was_killed = any(call.number == number for call in rig.proxy.writes)
            rig.proxy.forget()
            if was_killed:
                until(lambda: rig.product.controller.pid is None, f"the kill at write {number} of {flow.name!r}")
                rig.product.start_controller()
        flow.after(world)
        return list(rig.proxy.writes), was_killed
    finally:
        rig.proxy.forget()
        if rig.product.controller.pid is None:
            rig.product.start_controller()
        world.remove()


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
def test_killed_at_any_write_nothing_is_lost_or_written_twice(rig: Rig, flow: Flow) -> None:
    start = time.monotonic()
    writes, _ = run(rig, flow, None)
    assert writes, "a flow without a write proves nothing"
    points = [(number, before) for number in range(1, len(writes) + 1) for before in (True, False)]
    random.Random(_SEED).shuffle(points)  # noqa: S311 - which points run when time is short, repeatable by the seed
    done = killed = 0
    for number, before in points:
        if done and time.monotonic() - start > _BUDGET_SECONDS:
            break
        _, was_killed = run(rig, flow, lambda at, before=before: killing(rig, at, before=before), number)  # type: ignore[misc]
        done, killed = done + 1, killed + was_killed
    print(f"{flow.name}: {len(writes)} writes, {killed} killed at {done} of {len(points)} points (seed {_SEED})")  # noqa: T201 - shown by -rP and on failure
    assert 2 * killed > done, "most of the writes never came again"
