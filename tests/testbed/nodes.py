"""A cluster in which pods really run.

With TOPICSCHEMA_TEST_KUBECONFIG it is that cluster, whose images are its owner's business; else one by kind.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from testbed import brokers, clusters, docker, kind, pulsar
from testbed.cluster import Cluster
from testbed.errors import SourceMissingError
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


def prepare(progress: Progress) -> None:
    """Build or pull what a node starts from; SourceMissingError where no pods can run."""
    reason = why_absent()
    if reason is not None:
        raise SourceMissingError(reason)
    if not os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG"):
        kind.prepare(progress)


def start(instance: Instance, progress: Progress) -> Node | GivenNode:
    """Return the instance's node, started if it does not run."""
    if os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG"):
        return GivenNode(clusters.start(instance, progress))
    return Node.start(instance, progress)


def start_broker(node: Node | GivenNode) -> Pulsar:
    """Return a broker that pods reach: one that wants a token and speaks TLS, or the given one, which asks for neither.

    SourceMissingError where pods of this node can reach none.
    """
    if isinstance(node, Node):
        return pulsar.start(node.instance, "for-pods", Setup(access=Access.TOKEN, host=node.address))
    given = brokers.given()
    if given is None:
        raise SourceMissingError("pods of a node that is not ours reach no broker of ours: set PULSAR_ADMIN_URL")
    return given
