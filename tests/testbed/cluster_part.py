"""The part `cluster`: a Kubernetes API server from whichever source this machine has."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from testbed import kind, sources
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane
from testbed.errors import TestbedError
from testbed.instances import Instance
from testbed.paths import write_atomically
from testbed.progress import Progress

_RECORD = "cluster.json"


class ClusterPart:
    """See `testbed.parts.Part`."""

    name = "cluster"

    def prepare(self, progress: Progress) -> None:
        """Build what has to be built."""
        sources.find(progress)

    def start(self, instance: Instance, progress: Progress) -> None:
        """Start the cluster, or what of it does not run."""
        (instance.folder / "cluster").mkdir(exist_ok=True)
        keep(instance, start(instance, progress))

    def environment(self, instance: Instance) -> dict[str, str]:
        """KUBECONFIG, where kubectl keeps what it remembers, and the folder of its kubectl in PATH."""
        own = of(instance).environment()
        return {key: own[key] for key in ("KUBECONFIG", "KUBECACHEDIR", "PATH")}

    def stop(self, instance: Instance) -> None:
        """Kill the control plane's programs, or delete the kind cluster, and forget its objects."""
        kind.delete(instance)
        running = instance.supervision.ask("list")
        for name in ("controller-manager", "apiserver", "etcd"):
            if name in running:
                instance.program(name, []).kill()
        shutil.rmtree(instance.folder / "cluster", ignore_errors=True)

    def status(self, instance: Instance) -> str:
        """Whether the API server answers, and where."""
        cluster = of(instance)
        told = cluster.try_kubectl("get", "--raw", "/readyz", seconds=10)
        return f"ready, KUBECONFIG={cluster.kubeconfig}" if told.stdout == "ok" else f"not ready: {told.stderr.strip()}"


def start(instance: Instance, progress: Progress) -> Cluster:
    """The instance's cluster, started if it does not run."""
    source = sources.find(progress)
    if isinstance(source, sources.Binaries):
        return ControlPlane.start(instance, source).cluster
    if isinstance(source, sources.Kind):
        return kind.Node.start(instance, progress).cluster
    another_instance = _read_record(source.kubeconfig.absolute().parent)
    return another_instance or Cluster(source.kubeconfig, sources.kubectl(progress), source.webhook_host)


def running(name: str = "default") -> Cluster:
    """The cluster of the named instance that `up` started."""
    instance = Instance.find(name)
    if instance is None:
        raise TestbedError(f"no instance {name!r} is running: python -m testbed up cluster --name {name}")
    return of(instance)


def of(instance: Instance) -> Cluster:
    """The cluster that was started in the instance."""
    cluster = _read_record(instance.folder / "cluster")
    if cluster is None:
        raise TestbedError(f"the instance {instance.name!r} has no cluster")
    return cluster


def keep(instance: Instance, cluster: Cluster) -> None:
    """Keep what is known of the instance's cluster for those who come later."""
    record = {key: None if value is None else str(value) for key, value in asdict(cluster).items()}
    write_atomically(instance.folder / "cluster" / _RECORD, json.dumps(record))


def _read_record(folder: Path) -> Cluster | None:
    """What was kept of the cluster in that folder, if anything was."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except OSError:
        return None
    return Cluster(
        kubeconfig=Path(record["kubeconfig"]),
        kubectl_program=Path(record["kubectl_program"]),
        webhook_host=record["webhook_host"],
        audit_log=Path(record["audit_log"]) if record["audit_log"] else None,
    )
