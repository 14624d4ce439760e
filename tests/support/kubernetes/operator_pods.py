"""The operator in pods, installed by the chart on a node."""

from support.kubernetes.pods import Pods
from testbed import helm
from testbed.cluster import Cluster
from testbed.product import NAMESPACE


def install(cluster: Cluster) -> Pods:
    """Install the operator, wait until its pods are ready, and return them."""
    pods = Pods(cluster, NAMESPACE)
    pods.create_namespace()
    helm.install(cluster, {}, NAMESPACE)
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "--timeout=240s", seconds=250)
    return pods
