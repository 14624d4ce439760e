"""Kubernetes clusters by kind, with one node, on which pods really run. They end with their instances."""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final, Self

from testbed import audit, docker, kind_image, paths, sources
from testbed.build import build
from testbed.cluster import Cluster
from testbed.docker import Docker
from testbed.errors import TestbedError
from testbed.instances import Instance
from testbed.paths import write_atomically
from testbed.programs import Supervision
from testbed.progress import Progress

_PREFIX: Final = "topicschema-"
_CONFIGURATION = Path(__file__).parent / "kind" / "cluster.yaml"
_START_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Node:
    """The node of an instance's cluster, which is ready."""

    instance: Instance
    cluster: Cluster
    docker: Docker

    @classmethod
    def start(cls, instance: Instance, progress: Progress) -> Self:
        """Return the instance's node; its cluster is created unless it is there, and started if it is down."""
        engine = docker.start(instance, progress)
        kubeconfig = instance.folder / "cluster" / "kubeconfig"
        kubeconfig.parent.mkdir(exist_ok=True)
        if name_of(instance) in clusters(engine, progress):
            engine.run("start", _container(instance))
            where = ("--name", name_of(instance), "--kubeconfig", kubeconfig)
            _run(engine, progress, "export", "kubeconfig", *where)
        else:
            _create(instance, engine, kubeconfig, progress)
        cluster = Cluster(kubeconfig, sources.kubectl(progress), _gateway(engine), _audit_log(instance))
        node = cls(instance, cluster, engine)
        node._wait_until_ready()
        return node

    @property
    def address(self) -> str:
        """The address of this machine that pods reach: the gateway of Docker's network `kind`."""
        return self.cluster.webhook_host or ""

    def inside(self, *command: str | Path, stdin: str | None = None) -> str:
        """Return what a command prints that runs on the node; raise TestbedError with its error text when it fails."""
        return self.docker.run("exec", "--interactive", _container(self.instance), *command, stdin=stdin)

    def load(self, archive: Path) -> None:
        """Give the node the images of an archive; those of the same name are replaced."""
        program, name = _program(Progress()), name_of(self.instance)
        docker.run_in(self.docker.environment, program, "load", "image-archive", archive, "--name", name)

    def go_down(self) -> None:
        """Take the node's power away: what runs there is killed, and what is on its disk is there for `Node.start`."""
        self.docker.run("kill", _container(self.instance))

    def _wait_until_ready(self) -> None:
        """Return once the node is ready and DNS answers in pods; raise TestbedError when they never are."""
        deadline = time.monotonic() + _START_SECONDS
        ready = ("wait", "node", "--all", "--for=condition=Ready", "--timeout=10s")
        dns = ("-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=10s")
        for command in (ready, dns):
            while (done := self.cluster.try_kubectl(*command)).returncode:
                if time.monotonic() > deadline:
                    raise TestbedError(f"the node is not ready after {_START_SECONDS:.0f} s: {done.stderr.strip()}")
                time.sleep(0.2)


def prepare(progress: Progress) -> None:
    """Build or pull what a node starts from, unless it is here."""
    _program(progress)
    sources.kubectl(progress)
    instance = Instance.owned()
    try:
        kind_image.ensure(docker.start(instance, progress), progress)
    finally:
        instance.end()


def name_of(instance: Instance) -> str:
    return f"{_PREFIX}{instance.name}"


def _container(instance: Instance) -> str:
    return f"{name_of(instance)}-control-plane"


def _create(instance: Instance, engine: Docker, kubeconfig: Path, progress: Progress) -> None:
    image, name = kind_image.ensure(engine, progress), name_of(instance)
    variables = (f"{key}={value}" for key, value in engine.environment.items())
    delete = ["env", *variables, str(_program(progress)), "delete", "cluster", "--name", name]
    instance.supervision.request("at_end", arguments=delete)
    folder = _audit_log(instance).parent
    folder.mkdir(exist_ok=True)
    write_atomically(folder / "policy.json", json.dumps(audit.POLICY))
    _audit_log(instance).touch()  # as ours, or only root may read what the API server writes
    configuration = instance.folder / "cluster" / "kind.yaml"
    write_atomically(configuration, Template(_CONFIGURATION.read_text(encoding="utf-8")).substitute(audit=folder))
    progress.write(f"creating the kind cluster {name}: a minute")
    options = ("--name", name, "--image", image, "--config", configuration, "--kubeconfig", kubeconfig)
    _run(engine, progress, "create", "cluster", *options, "--wait", "180s")


def clusters(engine: Docker, progress: Progress) -> list[str]:
    """Return the names of the clusters that are here, once those are deleted whose instances were killed."""
    names = _run(engine, progress, "get", "clusters").split()
    for name in [each for each in names if each.startswith(_PREFIX)]:
        if Supervision.find(paths.instance(name.removeprefix(_PREFIX))) is None:
            _run(engine, progress, "delete", "cluster", "--name", name)
            names.remove(name)
    return names


def _gateway(engine: Docker) -> str:
    """Return this machine's address as kind's containers see it."""
    network = json.loads(engine.run("network", "inspect", "kind"))[0]
    gateways: list[str] = [entry.get("Gateway", "") for entry in network["IPAM"]["Config"]]
    return next(gateway for gateway in gateways if gateway and ":" not in gateway)


def _audit_log(instance: Instance) -> Path:
    return instance.folder / "cluster" / "audit" / "audit.log"


def _program(progress: Progress) -> Path:
    """Return the machine's kind, else the pinned one."""
    present = shutil.which("kind")
    return Path(present) if present else build(sources.kind_recipe(), progress, without=sources.ON_THE_NODE) / "kind"


def _run(engine: Docker, progress: Progress, *arguments: str | Path) -> str:
    return docker.run_in(engine.environment, _program(progress), *arguments)
