"""A node leaves nothing behind, however it ends.

No process, no control group, no folder, and nothing in the machine's own network, mounts and tunables.
"""

import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import instances, node_cgroups, node_room, parts
from testbed.node import Node
from testbed.node_part import GivenNode
from testbed.programs import recorded
from testbed.progress import Progress

_OWNER = """
import time
from testbed.instances import Instance
from testbed.node import Node
from testbed.progress import Progress
instance = Instance.owned()
Node.start(instance, Progress())
print(instance.name, instance.folder, flush=True)
time.sleep(600)
"""

pytestmark = pytest.mark.full

_PROGRAMS = 9  # etcd, four of Kubernetes beside the kubelet, that, containerd, CoreDNS, and the first process


@pytest.fixture
def ours(node: Node | GivenNode) -> None:
    if isinstance(node, GivenNode):
        pytest.skip("the node is not ours")


def test_a_node_whose_owner_is_killed_goes_with_all_that_it_had(ours: None) -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        name, _, folder = owner.stdout.readline().strip().partition(" ")
        held, inside = node_cgroups.leftovers(), _inside(Path(folder))
        owner.kill()
    assert name in held
    assert len(inside) >= _PROGRAMS
    assert _becomes_true(lambda: not any(Path(f"/proc/{pid}").exists() for pid in inside))
    assert _becomes_true(lambda: name not in node_cgroups.leftovers())
    assert _becomes_true(lambda: not Path(folder).exists())
    assert _of_the_node_on_the_machine(folder) == []


def test_a_node_whose_supervisor_is_killed_goes_too_and_down_forgets_it(ours: None) -> None:
    name = f"killed-{secrets.token_hex(3)}"
    instance = parts.up(name, ["node"], Progress())
    try:
        inside = _inside(instance.folder)
        recorded(instance.folder)[""].kill()
        assert _becomes_true(lambda: not any(Path(f"/proc/{pid}").exists() for pid in inside))
        assert _becomes_true(lambda: name not in node_cgroups.leftovers())
    finally:
        instances.remove(name)
    assert not instance.folder.exists()


def _inside(folder: Path) -> list[int]:
    """The pids of all that is in the room."""
    first = (folder / "node" / node_room.FIRST).read_text(encoding="ascii")
    room = Path(f"/proc/{first}/ns/pid").readlink()
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and _room_of(each) == room]


def _room_of(process: Path) -> Path | None:
    try:
        return (process / "ns/pid").readlink()
    except OSError:
        return None


def _of_the_node_on_the_machine(folder: str) -> list[str]:
    """Interfaces, routes and mounts of the machine that can only be the node's."""
    routes = Path("/proc/net/route").read_text(encoding="ascii").splitlines()
    links = [each.name for each in Path("/sys/class/net").iterdir()]
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    found = {node_room.BRIDGE: [*routes, *links], folder: mounts}
    return [line for part, lines in found.items() for line in lines if part in line]


def _becomes_true(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
