"""A cluster in which pods really run.

With TOPICSCHEMA_TEST_KUBECONFIG it is that cluster, whose owner loads images; else one by kind.
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
class ExistingNode:
    """A cluster that the testbed did not start."""

    cluster: Cluster

    def load(self, archive: Path) -> None:
        """Do nothing: its owner loads images."""


def why_absent() -> str | None:
    """Return why no pods can run here; None when they can."""
    if os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG"):
        return None
    reason = docker.why_absent()
    return reason and f"TOPICSCHEMA_TEST_KUBECONFIG names no cluster, and kind needs Docker: {reason}"


def prepare(progress: Progress) -> None:
    """Build or pull the inputs of a node. Raise SourceMissingError if no pods can run."""
    reason = why_absent()
    if reason is not None:
        raise SourceMissingError(reason)
    if not os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG"):
        kind.prepare(progress)


def start(instance: Instance, progress: Progress) -> Node | ExistingNode:
    """Return the instance's node, started if it does not run."""
    if os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG"):
        return ExistingNode(clusters.start(instance, progress))
    return Node.start(instance, progress)


def start_broker(node: Node | ExistingNode) -> Pulsar:
    """Return a broker that pods reach: one with tokens and TLS, or the environment's, which has neither.

    Raise SourceMissingError if pods of this node can reach none.
    """
    if isinstance(node, Node):
        return pulsar.start(node.instance, "for-pods", Setup(access=Access.TOKEN, host=node.address))
    broker = brokers.from_environment()
    if broker is None:
        raise SourceMissingError("pods of an external node reach no broker of the testbed: set PULSAR_ADMIN_URL")
    return broker
