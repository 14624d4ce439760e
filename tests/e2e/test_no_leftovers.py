"""What a killed run leaves behind: no cluster, no process, no folder."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.identity import ProcessIdentity
from testbed.kind import Node
from testbed.kind_part import GivenNode

_OWNER = """
import time
from testbed import docker
from testbed.instances import Instance
from testbed.kind import Node
from testbed.progress import Progress
instance = Instance.owned()
{start}(instance, Progress())
print(instance.folder, flush=True)
time.sleep(600)
"""

pytestmark = pytest.mark.full


@pytest.fixture
def ours(node: Node | GivenNode) -> Node:
    if isinstance(node, GivenNode):
        pytest.skip("the node is not ours")
    return node


@pytest.fixture
def elsewhere(ours: Node) -> Iterator[dict[str, str]]:
    """An environment in which the testbed keeps things in another place, whose path is short enough for sockets."""
    if "DOCKER_HOST" not in ours.docker.environment:
        pytest.skip("Docker is not ours")
    folder = tempfile.mkdtemp()
    yield {**os.environ, "XDG_CACHE_HOME": folder}
    shutil.rmtree(folder)


def test_a_cluster_whose_owner_is_killed_is_deleted(ours: Node) -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER.format(start="Node.start")], stdout=subprocess.PIPE) as owner:
        folder = _folder(owner)
        before = _containers(ours)
        owner.kill()
    container = f"topicschema-{folder.name}-control-plane"
    assert container in before
    assert _becomes_true(lambda: container not in _containers(ours))
    assert _becomes_true(lambda: not folder.exists())
    assert f"topicschema-{ours.instance.name}-control-plane" in _containers(ours)


@pytest.mark.parametrize("killed", ["owner", "supervisor"])
def test_docker_ends_with_its_owner_and_with_its_supervisor(killed: str, elsewhere: dict[str, str]) -> None:
    program = [sys.executable, "-c", _OWNER.format(start="docker.start")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, env=elsewhere) as owner:
        folder = _folder(owner)
        processes = json.loads((folder / "supervisor.json").read_text(encoding="utf-8"))
        enclosed = _enclosed_by(ProcessIdentity.from_record(processes["docker"]).pid)
        if killed == "supervisor":
            ProcessIdentity.from_record(processes[""]).kill()
        else:
            owner.kill()
        gone = _becomes_true(lambda: not any(Path(f"/proc/{pid}").exists() for pid in enclosed))
        owner.kill()
    assert len(enclosed) > 1
    assert gone


def _folder(owner: subprocess.Popen[bytes]) -> Path:
    assert owner.stdout is not None
    return Path(owner.stdout.readline().decode().strip())


def _containers(node: Node) -> list[str]:
    return node.docker.run("ps", "--all", "--format", "{{.Names}}").split()


def _enclosed_by(pid: int) -> list[int]:
    """Return the processes in the namespace that the process made for its children."""
    made = Path(f"/proc/{pid}/ns/pid_for_children").readlink()
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and _namespace(each) == made]


def _namespace(process: Path) -> Path | None:
    try:
        return (process / "ns/pid").readlink()
    except OSError:
        return None


def _becomes_true(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
