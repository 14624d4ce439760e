"""The room of a node: namespaces of processes, mounts and network of its own, which end together and leave nothing.

`python -m testbed.node_room FOLDER CGROUP` stays outside and keeps the room's first process; its pid is in FOLDER/room.
When either is killed, however that happens, the kernel kills every process inside, and with the last of them mounts and
network go. Control groups, which the kernel keeps, are removed here when the supervisor tells us to end or dies.

Inside, /var/lib and /var/log are the folder's and /run is empty: containerd, kubelet and CNI use their usual paths and
see nothing of the machine's. The tunables that a kubelet would set for the whole machine read as it wants them, and
each room has an id of its own for the kernel's start, by which a kubelet knows whether its node was started anew.
"""

import ctypes
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

from testbed import node_cgroups
from testbed.paths import write_atomically

BRIDGE = "cni0"
ADDRESS = "10.88.0.1"
PODS = "10.88.0.0/16"
SERVICES = "10.0.0.0/24"
FIRST = "room"
_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_NEW_NAMESPACES = 0x00020000 | 0x20000000 | 0x40000000  # mounts, processes, network
TUNABLES = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}
BOOT = "kernel/random/boot_id"
_TOLD = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}


def tunables() -> dict[str, str]:
    """The machine's values of what a kubelet would set."""
    return {name: Path("/proc/sys", name).read_text(encoding="ascii").strip() for name in TUNABLES}


def enter(folder: Path) -> tuple[str, ...]:
    """What stands before a command that is to run inside; the room of the folder must be there."""
    first = (folder / FIRST).read_text(encoding="ascii")
    return ("nsenter", "--target", first, "--mount", "--net", "--pid", "--")


def main() -> None:
    """Make the room and keep it until told to end, until its first process is gone, or until the supervisor is."""
    folder, group = Path(sys.argv[1]), sys.argv[2]
    signal.pthread_sigmask(signal.SIG_BLOCK, _TOLD)
    _die_with_parent(signal.SIGTERM)
    (folder / FIRST).unlink(missing_ok=True)
    node_cgroups.create(group)
    try:
        first = _make(folder)
        told: set[signal.Signals] = {signal.SIGCHLD}
        while told == {signal.SIGCHLD} and os.waitpid(first, os.WNOHANG) == (0, 0):
            told = {signal.Signals(signal.sigwait(_TOLD))}
        if told != {signal.SIGCHLD}:
            os.kill(first, signal.SIGKILL)
            os.waitpid(first, 0)
    finally:
        node_cgroups.remove(group)


def _make(folder: Path) -> int:
    """The pid of the room's first process, once the room is furnished."""
    _call(_LIBC.unshare, _NEW_NAMESPACES)
    ready, furnished = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(ready)
        _be_first(folder, furnished)
    os.close(furnished)
    if os.read(ready, 1) != b".":
        raise SystemExit("the room could not be furnished")
    write_atomically(folder / FIRST, str(first))
    return first


def _be_first(folder: Path, furnished: int) -> None:
    """In the new process: furnish the room, and then bury who dies in it."""
    _die_with_parent(signal.SIGKILL)
    for command in (*_mounts(folder), *_network()):
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
    os.write(furnished, b".")
    os.close(furnished)
    while True:
        signal.sigwait({signal.SIGCHLD})
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass


def _mounts(folder: Path) -> list[list[str]]:
    for name in ("lib", "log", "tunables"):
        (folder / name).mkdir(exist_ok=True)
    commands = [
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "proc", "proc", "/proc"],
        ["mount", "--bind", str(folder / "lib"), "/var/lib"],
        ["mount", "--bind", str(folder / "log"), "/var/log"],
        ["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"],
    ]
    for tunable, value in {**TUNABLES, BOOT: uuid.uuid4()}.items():
        file = folder / "tunables" / tunable.replace("/", "-")
        file.write_text(f"{value}\n", encoding="ascii")
        commands.append(["mount", "--bind", str(file), f"/proc/sys/{tunable}"])
    return [*commands, ["mount", "--make-rshared", "/"]]


def _network() -> list[list[str]]:
    """Loopback and the bridge of the pods. Without a default route nothing leaves; Services have one of their own."""
    return [
        ["ip", "link", "set", "lo", "up"],
        ["ip", "link", "add", BRIDGE, "type", "bridge"],
        ["ip", "address", "add", f"{ADDRESS}/{PODS.partition('/')[2]}", "dev", BRIDGE],
        ["ip", "link", "set", BRIDGE, "up"],
        ["ip", "route", "add", SERVICES, "dev", BRIDGE, "src", ADDRESS],
    ]


def _die_with_parent(sign: signal.Signals) -> None:
    _call(_LIBC.prctl, _PR_SET_PDEATHSIG, int(sign), 0, 0, 0)


def _call(function: "ctypes._NamedFuncPointer", *arguments: int) -> None:
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
