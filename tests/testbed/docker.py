"""Docker: the one that runs on this machine, else a daemon that root starts here.

The daemon ends with its instance, however that ends: it and its children are in their own process namespace, which the
kernel clears when its first process is gone. Its images stay, in the cache folder.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from testbed import packages, paths
from testbed.build import alone
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.paths import write_atomically
from testbed.progress import Progress

RUNTIME: Final = Path(__file__).with_name("restricted_runc.py")
CLIENTS: Final = "/usr/bin"
"""The folder of the client that comes with Debian's daemon."""
_CAP_SYS_RESOURCE = 24
_START_SECONDS = 60.0
_TUNABLES = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops")
_CONFIGURATION = {"builder": {"gc": {"enabled": True, "defaultKeepStorage": "10GB"}}}
_BUILDER = {"DOCKER_BUILDKIT": "1"}  # the older builder knows no secrets
_ENCLOSED = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


@dataclass(frozen=True, slots=True)
class Docker:
    """A daemon that answers: its client, and the environment in which that and `kind` find it."""

    program: Path
    environment: Mapping[str, str] = field(repr=False)

    def run(self, *arguments: str | Path, stdin: str | None = None, seconds: float = 600) -> str:
        """Return what the client prints; raise TestbedError with its error text when it fails."""
        return run_in(self.environment, self.program, *arguments, stdin=stdin, seconds=seconds)

    def answers(self) -> bool:
        """Return whether the daemon answers within 10 s."""
        try:
            self.run("info", seconds=10)
        except (TestbedError, OSError, subprocess.TimeoutExpired):
            return False
        return True

    def has_image(self, name: str) -> bool:
        return bool(self.run("image", "ls", "--quiet", name))

    def pull(self, name: str, progress: Progress) -> bool:
        """Pull the image; return whether that could be done."""
        progress.write(f"pulling {name}")
        try:
            self.run("pull", "--quiet", name, seconds=1800)
        except (TestbedError, subprocess.TimeoutExpired):
            return False
        return True


def run_in(environment: Mapping[str, str], *command: str | Path, stdin: str | None = None, seconds: float = 600) -> str:
    """Return what the command prints; raise TestbedError with its error text when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        input=stdin or "",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    if done.returncode:
        raise TestbedError(f"{' '.join(map(str, command))}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def of_the_machine() -> Docker | None:
    """Return the Docker that answers on this machine without our doing."""
    client = shutil.which("docker")
    docker = Docker(Path(client), _BUILDER) if client else None
    return docker if docker is not None and docker.answers() else None


def find() -> Docker | None:
    """Return the Docker that answers: the machine's, else the one of another instance of the testbed."""
    return of_the_machine() or (_own() if _own().answers() else None)


def why_absent() -> str | None:
    """Return why this machine has no Docker and none can be started; None when there is one or root can start it.

    What root can install is installed first.
    """
    if find() is not None:
        return None
    if os.geteuid() != 0:
        return "Docker does not answer, and only root can start it"
    if lacking := packages.supply(packages.DOCKER, Progress()):
        return f"there is no Docker ({packages.install(lacking)})"
    if subprocess.run([*_ENCLOSED, "true"], capture_output=True, check=False).returncode:
        return f"Docker does not answer, and cannot be started without namespaces ({' '.join(_ENCLOSED)})"
    return None


def start(instance: Instance, progress: Progress) -> Docker:
    """Return the Docker that answers; if none does, start one that ends with the instance.

    One that another instance started ends with that.
    """
    _folder().mkdir(parents=True, exist_ok=True)
    with alone(_folder() / ".lock", progress):
        present = find()
        if present is not None:
            return present
        if (reason := why_absent()) is not None:
            raise SourceMissingError(reason)
        if (installed := find()) is not None:  # systemd starts what root installs
            return installed
        progress.step("starting Docker")
        return _start(instance)


def _start(instance: Instance) -> Docker:
    docker, run = _own(), instance.folder / "docker"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    write_atomically(run / "daemon.json", json.dumps(_CONFIGURATION))
    _restore_at_end(instance, docker)
    daemon = instance.run("docker", [*_ENCLOSED, *_daemon(run)])
    deadline = time.monotonic() + _START_SECONDS
    while not docker.answers():
        if daemon.exit_status is not None or time.monotonic() > deadline:
            raise TestbedError(f"Docker did not start:\n{daemon.log_tail()}")
        time.sleep(0.1)
    if left := docker.run("ps", "--all", "--quiet").split():  # by an instance that was killed
        docker.run("rm", "--force", "--volumes", *left)
    return docker


def _restore_at_end(instance: Instance, docker: Docker) -> None:
    """Make the instance remove kind's network at its end, and restore what a kubelet sets for the whole machine."""
    tunables = (f"{name}={Path('/proc/sys', name).read_text(encoding='ascii').strip()}" for name in _TUNABLES)
    instance.supervision.request("at_end", arguments=["sysctl", "--quiet", "--write", *tunables])
    variables = (f"{key}={value}" for key, value in docker.environment.items())
    instance.supervision.request("at_end", arguments=["env", *variables, str(docker.program), "network", "rm", "kind"])


def _daemon(run: Path) -> list[str]:
    """Return the daemon's command line; what must not outlive it is in the folder `run`."""
    options = [f"--data-root={_folder() / 'data'}", f"--exec-root={run}", f"--pidfile={run / 'docker.pid'}"]
    options += [f"--host={_socket()}", "--storage-driver=overlay2", f"--config-file={run / 'daemon.json'}"]
    options += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]  # the machine's stay
    if not _may_set_resources():
        options += [f"--add-runtime=restricted={RUNTIME}", "--default-runtime=restricted"]
    return [shutil.which("dockerd") or "dockerd", *options]


def _may_set_resources() -> bool:
    """Return whether this machine grants CAP_SYS_RESOURCE, which privileged containers need."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    bounding = next(line.split()[1] for line in lines if line.startswith("CapBnd:"))
    return bool(int(bounding, 16) >> _CAP_SYS_RESOURCE & 1)


def _own() -> Docker:
    """Return the daemon that an instance of the testbed starts, with the client of the daemon's package."""
    client = shutil.which("docker", path=CLIENTS) or shutil.which("docker") or "docker"
    path = f"{Path(client).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return Docker(Path(client), {**_BUILDER, "DOCKER_HOST": _socket(), "PATH": path})


def _socket() -> str:
    return f"unix://{_folder() / 'docker.sock'}"


def _folder() -> Path:
    return paths.cache() / "docker"
