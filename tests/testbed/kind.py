"""A cluster in containers by `kind`.

Untested: written from kind's and Docker's documentation on a machine without a container engine. One node, no audit
log. The cluster is deleted when its instance ends, but not when the supervisor is killed -9: the next `up` of that name
uses it again.
"""

import json
import shutil
import subprocess
from pathlib import Path

from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.instances import Instance
from testbed.progress import Progress


def start(instance: Instance, kind: Path, kubectl: Path, progress: Progress) -> Cluster:
    """The instance's kind cluster, created unless it is there."""
    name, kubeconfig = name_of(instance), instance.folder / "cluster" / "kubeconfig"
    if name in _run(kind, "get", "clusters").split():
        _run(kind, "export", "kubeconfig", "--name", name, "--kubeconfig", kubeconfig)
    else:
        progress.say(f"creating the kind cluster {name}")
        _run(kind, "create", "cluster", "--name", name, "--kubeconfig", kubeconfig, "--wait", "180s")
        instance.supervision.ask("at_end", arguments=[str(kind), "delete", "cluster", "--name", name])
    return Cluster(kubeconfig, kubectl, webhook_host=_gateway())


def name_of(instance: Instance) -> str:
    """What the instance's cluster is called."""
    return f"topicschema-{instance.name}"


def load(name: str, archive: Path) -> None:
    """Give the nodes of the cluster the images of the archive."""
    _run(shutil.which("kind") or "kind", "load", "image-archive", archive, "--name", name)


def _gateway() -> str | None:
    """This machine's address as kind's containers see it."""
    docker = shutil.which("docker")
    if docker is None:
        return None
    network = json.loads(_run(docker, "network", "inspect", "kind"))[0]
    gateways = [entry.get("Gateway") for entry in network["IPAM"]["Config"]]
    return next((gateway for gateway in gateways if gateway and ":" not in gateway), None)


def _run(*command: str | Path) -> str:
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if told.returncode:
        raise TestbedError(f"{' '.join(map(str, command))}: {told.stderr.strip()[-2000:]}")
    return told.stdout
