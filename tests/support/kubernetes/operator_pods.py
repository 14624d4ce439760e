"""The operator in pods, installed by the chart on a node."""

from collections.abc import Mapping
from typing import Any

from support.kubernetes.pods import Pods
from testbed import helm
from testbed.cluster import Cluster
from testbed.product import NAMESPACE


def install(cluster: Cluster) -> Pods:
    """Install the operator, wait until its pods are ready, and return them."""
    pods = Pods(cluster, NAMESPACE)
    pods.create_namespace()
    upgrade(cluster, {})
    return pods


def upgrade(cluster: Cluster, values: Mapping[str, Any]) -> None:
    """Install or upgrade the release with these values in its namespace, and wait until its pods are ready."""
    helm.install(cluster, values, NAMESPACE)
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "--timeout=240s", seconds=250)
