"""A node of our own: control plane, scheduler, kubelet, kube-proxy, containerd and a DNS server in a room of their own.

Nothing of it touches the machine's network, mounts, containers or tunables (`testbed.node_room`). The API server
answers on a port of loopback outside, and pods reach no further than the room, but through a door (`Node.let_in`).
"""

import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Self

from testbed import node_cgroups, node_images, node_packages, node_room, ports, sources
from testbed.build import build
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane, Place
from testbed.errors import PortTakenError, TestbedError
from testbed.instances import Instance
from testbed.paths import instance as instance_folder
from testbed.programs import Program, Supervision
from testbed.progress import Progress

NODE = "node"
_CONFIGURATION = Path(__file__).parent / "node"
_START_SECONDS = 120.0
_TOO_EARLY = "validate CRI v1 runtime API"  # containerd has no socket yet, or still looks which of its pods are there
_DOOR_IN = "door-in-"
_OURS = ("coredns", "kube-proxy", "scheduler", "kubelet", "containerd", "door-out")
_CLUSTERS = ("controller-manager", "apiserver", "etcd")


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is ready, of an instance."""

    instance: Instance
    cluster: Cluster

    @classmethod
    def start(cls, instance: Instance, progress: Progress) -> Self:
        """Start what does not run, and wait until the node is ready and the API server and DNS answer."""
        sweep()
        folder = instance.folder / "node"
        folder.mkdir(exist_ok=True)
        room = _room(instance, folder)
        folders = [build(recipe, progress) for recipe in sources.node_recipes()]
        programs = {file.name: file for one in folders for file in one.iterdir()}
        _configure(instance, folder)
        place = _place(instance, room)
        plane = ControlPlane.start(instance, sources.binaries(progress), place)
        node = cls(instance, plane.cluster)
        for port in _let_in_before(instance):
            node.let_in(port)
        commands = _commands(folder, programs).items()
        started = {name: instance.run(name, [*place.enter, *arguments]) for name, arguments in commands}
        node.load(node_images.pause(programs["pause"], folder))
        node._wait_until_ready(started["kubelet"])
        return node

    def inside(self, *command: str | Path, stdin: str | None = None, seconds: float = 600) -> str:
        """What a command prints that runs in the room; TestbedError with its error text when it fails."""
        told = subprocess.run(
            [*node_room.enter(self.instance.folder / "node"), *map(str, command)],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        if told.returncode:
            raise TestbedError(f"{' '.join(map(str, command))}: {told.stderr.strip()[-2000:]}")
        return told.stdout

    def load(self, archive: Path) -> None:
        """Give the node the images of an OCI archive; those of the same name are replaced."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.inside("ctr", "-n", "k8s.io", "images", "import", archive)
            except TestbedError as error:
                if "containerd.sock" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)  # containerd is on its way
            else:
                return

    def let_in(self, port: int) -> str:
        """The address at which pods reach that port of loopback outside, on the same port."""
        first = (self.instance.folder / "node" / node_room.FIRST).read_text(encoding="ascii")
        _door(self.instance, f"{_DOOR_IN}{port}", first, "in", node_room.ADDRESS, str(port))
        return f"{node_room.ADDRESS}:{port}"

    def _wait_until_ready(self, kubelet: Program) -> None:
        deadline = time.monotonic() + _START_SECONDS
        template = 'jsonpath={.status.nodeInfo.bootID} {.status.conditions[?(@.type=="Ready")].status}'
        started = self.inside("cat", f"/proc/sys/{node_room.BOOT}").strip()
        well = f"{started} True"  # of an earlier start it may still be told that all was well
        while self.cluster.try_kubectl("get", "node", NODE, "-o", template).stdout != well or not self._dns_answers():
            self._raise_if_ended(kubelet)
            if time.monotonic() > deadline:
                raise TestbedError(f"the node was not ready after {_START_SECONDS:.0f} s:\n{kubelet.log_tail()}")
            time.sleep(0.2)

    def _raise_if_ended(self, kubelet: Program) -> None:
        """TestbedError for what has ended, but for a kubelet that was earlier than containerd: that begins again."""
        for name in ("room", *_OURS):
            program = self.instance.program(name, [])
            if program.exit_status is None:
                continue
            if name != kubelet.name or _TOO_EARLY not in program.log_tail():
                raise TestbedError(f"{name} ended with status {program.exit_status}:\n{program.log_tail()}")
            kubelet.start()

    def _dns_answers(self) -> bool:
        asked = f"import urllib.request as u; u.urlopen('http://{node_room.ADDRESS}:8181/ready', timeout=5)"
        try:
            self.inside(sys.executable, "-c", asked, seconds=30)
        except TestbedError:
            return False
        return True


def go_down(instance: Instance) -> None:
    """Take the node's power away: what runs there is killed, and only what is on its disk is there for `Node.start`."""
    running = instance.supervision.ask("list")
    if "room" in running:
        instance.program("room", []).terminate()
    for name in running:
        if name in (*_OURS, *_CLUSTERS) or name.startswith(_DOOR_IN):
            instance.program(name, []).kill()


def sweep() -> None:
    """Remove the control groups of nodes whose supervisor and room were both killed -9."""
    for name in node_cgroups.leftovers():
        if Supervision.find(instance_folder(name)) is None:
            node_cgroups.remove(node_cgroups.name_of(name))


def _room(instance: Instance, folder: Path) -> str:
    """The pid of the room's first process; the room is made unless it is there."""
    group = node_cgroups.name_of(instance.name)
    room = instance.program("room", [sys.executable, "-m", "testbed.node_room", str(folder), group], _python())
    if room.pid is None:
        (folder / node_room.FIRST).unlink(missing_ok=True)
        instance.supervision.ask("at_end", arguments=[sys.executable, "-m", "testbed.node_cgroups", group])
        room.start()
    _wait_for(folder / node_room.FIRST, room)
    return (folder / node_room.FIRST).read_text(encoding="ascii")


def _let_in_before(instance: Instance) -> list[int]:
    """The ports with a door that was opened for an earlier room, or for this one."""
    running = instance.supervision.ask("list")
    return [int(name.removeprefix(_DOOR_IN)) for name in running if name.startswith(_DOOR_IN)]


def _wait_for(file: Path, program: Program) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not file.exists():
        if program.exit_status is not None or time.monotonic() > deadline:
            raise TestbedError(f"{program.name} did not start:\n{program.log_tail()}")
        time.sleep(0.02)


def _place(instance: Instance, room: str) -> Place:
    admin = instance.folder / "cluster" / "pki" / "admin"

    def open_door(port: int) -> None:
        _door(instance, "door-out", room, "out", ports.LOOPBACK, str(port))

    return Place(
        enter=node_room.enter(instance.folder / "node"),
        hosts=(node_room.ADDRESS, "kubernetes.default.svc.cluster.local"),
        flags=(
            "--bind-address=0.0.0.0",
            f"--advertise-address={node_room.ADDRESS}",
            "--endpoint-reconciler-type=lease",
            f"--kubelet-client-certificate={admin}.crt",
            f"--kubelet-client-key={admin}.key",
            "--kubelet-preferred-address-types=InternalIP",
        ),
        open_door=open_door,
    )


def _door(instance: Instance, name: str, room: str, *where: str) -> None:
    """Open the door, or find it open: it listens, or it has ended because its port was taken."""
    door = instance.program(name, [sys.executable, "-m", "testbed.node_door", room, *where], _python())
    if door.pid is not None:
        told = Path(f"/proc/{door.pid}/cmdline").read_text(encoding="utf-8").split("\0")
        if told[-5:-1] == [room, *where]:
            return
        door.kill()
    started = door.log.stat().st_size if door.log.exists() else 0
    door.start()
    while not (said := door.log.read_text(encoding="utf-8")[started:]).startswith("open"):
        if door.exit_status is not None:
            raise PortTakenError(name) if "Address already in use" in said else TestbedError(f"{name}: {said}")
        time.sleep(0.02)


def _configure(instance: Instance, folder: Path) -> None:
    """Write what the programs read."""
    (folder / "cni").mkdir(exist_ok=True)
    known = {
        "folder": folder,
        "cluster": instance.folder / "cluster",
        "cni": next(plugins for plugins in node_packages.PLUGINS if (plugins / "bridge").exists()),
        "group": node_cgroups.name_of(instance.name),
        "node": NODE,
        "address": node_room.ADDRESS,
        "bridge": node_room.BRIDGE,
        "pods": node_room.PODS,
    }
    for name in ("containerd.toml", "kubelet.yaml", "kube-proxy.yaml", "Corefile", "resolv.conf", "bridge.conflist"):
        text = Template((_CONFIGURATION / name).read_text(encoding="utf-8")).substitute(known)
        (folder / ("cni" if name == "bridge.conflist" else "") / name).write_text(text, encoding="utf-8")


def _commands(folder: Path, programs: dict[str, Path]) -> dict[str, list[str]]:
    """What runs beside the control plane, in the order in which it is started."""
    kubeconfig = f"--kubeconfig={folder.parent / 'cluster' / 'kubeconfig'}"
    named = [f"--hostname-override={NODE}", f"--node-ip={node_room.ADDRESS}"]
    return {
        "containerd": [shutil.which("containerd") or "containerd", "--config", str(folder / "containerd.toml")],
        "scheduler": [str(programs["kube-scheduler"]), kubeconfig, "--leader-elect=false", "--secure-port=0"],
        "kube-proxy": [str(programs["kube-proxy"]), f"--config={folder / 'kube-proxy.yaml'}"],
        "coredns": [str(programs["coredns"]), "-conf", str(folder / "Corefile")],
        "kubelet": [str(programs["kubelet"]), f"--config={folder / 'kubelet.yaml'}", kubeconfig, *named],
    }


def _python() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[1])}
