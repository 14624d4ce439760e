"""A Kubernetes API server from whichever source this machine has."""

from testbed import kind, sources
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane
from testbed.instances import Instance
from testbed.progress import Progress


def start(instance: Instance, progress: Progress, *, manager: bool = True) -> Cluster:
    """Return the instance's cluster. Start it unless it runs; `manager` as for `sources.find`."""
    source = sources.find(progress, manager=manager)
    if isinstance(source, sources.Binaries):
        return ControlPlane.start(instance, source).cluster
    if isinstance(source, sources.Kind):
        return kind.Node.start(instance, progress).cluster
    return Cluster(source.kubeconfig, sources.kubectl(progress), source.webhook_host)
