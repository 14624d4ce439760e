"""Two controllers run at once; only the one that holds the Lease writes, also when the API server falls silent."""

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.conftest import Rig, behind_proxy
from faults.proxy import Proxy
from faults.world import World, avro, until
from testbed import ports
from testbed.product import NAMESPACE as SYSTEM
from testbed.programs import Program

pytestmark = [pytest.mark.cluster, pytest.mark.faults, pytest.mark.timeout(600)]


@dataclass(frozen=True, slots=True)
class Second:
    """A second controller behind a proxy of its own."""

    program: Program
    proxy: Proxy


@pytest.fixture
def second(rig: Rig) -> Iterator[Second]:
    """Runs beside the rig's controller for one test."""
    folder = rig.plane.instance.folder / "second"
    folder.mkdir(exist_ok=True)
    proxy = Proxy.start(rig.plane.cluster.server(), Path(rig.plane.cluster.kubeconfig).parent / "pki/ca.crt", folder)
    kubeconfig = folder / "kubeconfig"
    rig.plane.cluster.service_account_kubeconfig(SYSTEM, "topicschema-controller", kubeconfig)
    behind_proxy(kubeconfig, proxy)
    environment = {
        **rig.product.controller.environment,
        "KUBECONFIG": str(kubeconfig),
        "TOPICSCHEMA_PROBE_PORT": str(ports.free()),
        "TOPICSCHEMA_IDENTITY": "second",
    }
    program = rig.plane.instance.run("second", [sys.executable, "-m", "topicschema", "controller"], environment)
    yield Second(program, proxy)
    program.kill()
    proxy.close()


def holder(rig: Rig) -> str:
    """Who holds the Lease."""
    return rig.plane.cluster.kubectl(
        "get", "lease", "topicschema-controller", "-n", SYSTEM, "-o", "jsonpath={.spec.holderIdentity}"
    )


def payload_names(rig: Rig, world: World) -> list[str]:
    """Names of the payloads of the world's topic, whether they count or not."""
    history = world.history()
    assert history is not None
    prefix = history["metadata"]["name"] + "-"
    items = rig.plane.cluster.get("schemaversions", "-n", SYSTEM)["items"]
    return [one["metadata"]["name"] for one in items if one["metadata"]["name"].startswith(prefix)]


def test_when_the_api_server_falls_silent_two_controllers_never_write_one_version_twice(
    rig: Rig, second: Second
) -> None:
    world = World(rig.plane.cluster)
    world.create_namespace()
    world.create_policy()
    texts = [avro()]
    world.apply(texts[0])
    until(lambda: world.condition("Ready") == ("True", "Registered"), "the first version")
    for turn in range(3):
        texts.append(avro(*(f"note{number}" for number in range(turn + 1))))
        world.apply(texts[-1])
        rig.plane.apiserver.pause()
        time.sleep(4)  # longer than the lease: whoever led may not know whether it still does
        rig.plane.apiserver.resume()
        if rig.product.controller.exit_status is not None:
            rig.product.start_controller()
        if second.program.exit_status is not None:
            second.program.start()
        until(lambda: world.condition("Ready") == ("True", "Registered"), f"version {turn + 1}", 120)
    assert world.recorded_texts() == texts
    numbers = [int(re.split("-", name)[-2]) for name in payload_names(rig, world)]
    assert sorted(numbers) == list(range(len(texts)))
    world.remove()


def test_the_one_that_waits_takes_over_when_the_leader_is_killed_and_writes_nothing_before(
    rig: Rig, second: Second
) -> None:
    rig.product.start_controller()
    until(lambda: bool(holder(rig)) and not holder(rig).startswith("second"), "the first to lead")
    second.proxy.forget()
    world = World(rig.plane.cluster)
    world.create_namespace()
    world.create_policy()
    world.apply(avro())
    until(lambda: world.condition("Ready") == ("True", "Registered"), "the first version")
    assert second.proxy.writes == []
    rig.product.controller.kill()
    until(lambda: holder(rig).startswith("second"), "the second to lead", 30)
    world.apply(avro("note"))
    until(lambda: world.condition("Ready") == ("True", "Registered"), "the second version")
    assert world.recorded_texts() == [avro(), avro("note")]
    assert second.proxy.writes != []
    second.program.terminate()
    rig.product.start_controller()
    world.remove()
