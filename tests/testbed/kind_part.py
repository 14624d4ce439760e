"""The part `kind`: a cluster in which pods really run. `cluster` is in it.

With TOPICSCHEMA_TEST_KUBECONFIG it is that cluster, whose images are its owner's business; else one by kind.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed import cluster_part, docker, kind, pulsar, pulsar_part
from testbed.cluster import Cluster
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.kind import Node
from testbed.progress import Progress
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Access, Setup


@dataclass(frozen=True, slots=True)
class GivenNode:
    """A cluster that somebody else runs."""

    cluster: Cluster

    def load(self, archive: Path) -> None:
        """Do nothing: its owner gives it images."""


def why_absent() -> str | None:
    """Return why no pods can run here; None when they can."""
    if os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG"):
        return None
    reason = docker.why_absent()
    return reason and f"TOPICSCHEMA_TEST_KUBECONFIG names no cluster, and kind needs Docker: {reason}"


class KindPart:
    """See `testbed.parts.Part`."""

    name = "kind"

    def prepare(self, progress: Progress) -> None:
        """Build or pull what a node starts from; SourceMissingError where no pods can run."""
        reason = why_absent()
        if reason is not None:
            raise SourceMissingError(reason)
        if not os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG"):
            kind.prepare(progress)

    def start(self, instance: Instance, progress: Progress) -> None:
        """Start the node, or what of it does not run."""
        start(instance, progress)

    def environment(self, instance: Instance) -> dict[str, str]:  # noqa: ARG002 - as the protocol has it
        """Return nothing that the part `cluster` does not tell."""
        return {}

    def stop(self, instance: Instance) -> None:
        """Delete the cluster with everything on it."""
        cluster_part.ClusterPart().stop(instance)
        shutil.rmtree(instance.folder / "kind", ignore_errors=True)

    def status(self, instance: Instance) -> str:
        """Return which nodes there are, and whether they are ready."""
        template = "jsonpath={range .items[*]}{.metadata.name} {.status.conditions[-1:].type}{end}"
        told = cluster_part.of(instance).try_kubectl("get", "nodes", "-o", template, seconds=10)
        return told.stdout or f"not ready: {told.stderr.strip()}"


def start(instance: Instance, progress: Progress) -> Node | GivenNode:
    """Return the instance's node, started if it does not run."""
    folder = instance.folder / "kind"
    if (instance.folder / "cluster").exists() and not folder.exists():
        raise TestbedError(f"the instance {instance.name!r} has a cluster without a node: end that first")
    folder.mkdir(exist_ok=True)
    (instance.folder / "cluster").mkdir(exist_ok=True)
    given = os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG")
    started = GivenNode(cluster_part.start(instance, progress)) if given else Node.start(instance, progress)
    cluster_part.keep(instance, started.cluster)
    return started


def start_broker(node: Node | GivenNode) -> Pulsar:
    """Return a broker that pods reach: one that wants a token and speaks TLS, or the given one, which asks for neither.

    SourceMissingError where pods of this node can reach none.
    """
    if isinstance(node, Node):
        return pulsar.start(node.instance, "for-pods", Setup(access=Access.TOKEN, host=node.address))
    given = pulsar_part.given()
    if given is None:
        raise SourceMissingError("pods of a node that is not ours reach no broker of ours: set PULSAR_ADMIN_URL")
    return given
