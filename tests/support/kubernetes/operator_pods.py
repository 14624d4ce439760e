"""The operator in pods, as the chart installs it on a node."""

from urllib.parse import urlsplit

from support.kubernetes.pods import Pods
from testbed import brokers, helm
from testbed.cluster import Cluster
from testbed.product import NAMESPACE


def installed(cluster: Cluster) -> Pods:
    """All its pods ready; it may call the brokers that pods reach. The pods of its namespace."""
    made = Pods(cluster, NAMESPACE)
    made.create_namespace()
    helm.install(cluster, {"brokers": {"allowedHosts": _broker_hosts(cluster)}}, NAMESPACE)
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "--timeout=240s", seconds=250)
    return made


def _broker_hosts(cluster: Cluster) -> list[str]:
    given = brokers.given()
    hosts = (cluster.webhook_host, given and urlsplit(given.admin_url).hostname)
    return [host for host in hosts if host]
