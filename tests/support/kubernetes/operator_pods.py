"""The operator in pods, installed by the chart on a node."""

from urllib.parse import urlsplit

from support.kubernetes.pods import Pods
from testbed import brokers, helm
from testbed.cluster import Cluster
from testbed.product import NAMESPACE


def install(cluster: Cluster) -> Pods:
    """Install the operator, wait until its pods are ready, and return them. It may call the brokers that pods reach."""
    pods = Pods(cluster, NAMESPACE)
    pods.create_namespace()
    helm.install(cluster, {"brokers": {"allowedHosts": _broker_hosts(cluster)}}, NAMESPACE)
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "--timeout=240s", seconds=250)
    return pods


def _broker_hosts(cluster: Cluster) -> list[str]:
    broker = brokers.from_environment()
    hosts = (cluster.webhook_host, broker and urlsplit(broker.admin_url).hostname)
    return [host for host in hosts if host]
