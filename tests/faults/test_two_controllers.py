"""Two controllers run at once; only the one that holds the Lease writes, also when the API server stops responding.

Each test waits for a lease that runs out.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from faults.calls import is_write
from faults.conftest import Rig, leads, proxied
from faults.world import World, avro, until
from support.sizes import sized
from testbed import ports
from testbed.fault_proxy import FaultProxy
from testbed.product import NAMESPACE as SYSTEM
from testbed.programs import Program

pytestmark = [pytest.mark.cluster, pytest.mark.faults, pytest.mark.timeout(900)]  # a Lease has to run out


@dataclass(frozen=True, slots=True)
class Second:
    """A second controller behind a proxy of its own."""

    program: Program
    proxy: FaultProxy
    probe: str


@pytest.fixture
def second(rig: Rig) -> Iterator[Second]:
    """Run beside the rig's controller for one test."""
    folder = rig.plane.instance.folder / "second"
    folder.mkdir(exist_ok=True)
    kubeconfig = folder / "kubeconfig"
    rig.plane.cluster.service_account_kubeconfig(SYSTEM, "topicschema-controller", kubeconfig)
    with proxied(rig.plane, kubeconfig) as proxy:
        probe = ports.free()
        environment = {
            **rig.product.controller.environment,
            "KUBECONFIG": str(kubeconfig),
            "TOPICSCHEMA_PROBE_PORT": str(probe),
            "TOPICSCHEMA_IDENTITY": "second",
        }
        program = rig.plane.instance.run("second", [sys.executable, "-m", "topicschema", "controller"], environment)
        yield Second(program, proxy, f"http://{ports.LOOPBACK}:{probe}")
        program.kill()
    if rig.holder().startswith("second"):
        rig.free_lease()


def wrote_before_it_led(proxy: FaultProxy) -> bool:
    """Return True if a write came through the proxy before the first one of the Lease."""
    for call in proxy.calls:
        if call.method in {"POST", "PUT"} and "/leases" in call.path:
            return False
        if is_write(call):
            return True
    return False


def test_when_the_api_server_stops_responding_two_controllers_never_write_one_version_twice(
    rig: Rig, second: Second, world: World
) -> None:
    texts = [avro()]
    for turn in range(sized(1, 3)):
        texts.append(avro(*(f"note{number}" for number in range(turn + 1))))
        world.apply(texts[-1])
        rig.plane.apiserver.pause()
        until(lambda: not any(map(leads, (rig.product.controller_probe, second.probe))), "the leader to notice")
        rig.plane.apiserver.resume()
        if rig.product.controller.exit_status is not None:
            rig.product.start_controller()
        if second.program.exit_status is not None:
            second.program.start()
        until(lambda: world.condition("Ready") == ("True", "Registered"), f"version {turn + 1}")
    assert world.recorded_texts() == texts
    numbers = [one["spec"]["schemaVersion"] for one in world.payloads()]
    assert sorted(numbers) == list(range(len(texts)))


def test_the_one_that_waits_takes_over_when_the_leader_is_killed_and_writes_nothing_before(
    rig: Rig, second: Second, world: World
) -> None:
    rig.product.start_controller()
    until(lambda: leads(rig.product.controller_probe), "the first to lead")
    assert not wrote_before_it_led(second.proxy)
    rig.product.controller.kill()
    until(lambda: rig.holder().startswith("second"), "the second to lead")
    world.apply(avro("note"))
    until(lambda: world.condition("Ready") == ("True", "Registered"), "the second version")
    assert world.recorded_texts() == [avro(), avro("note")]
    assert any(map(is_write, second.proxy.calls))
    assert not wrote_before_it_led(second.proxy)
    second.program.terminate(120)
    rig.product.start_controller()
