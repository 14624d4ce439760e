"""The operator in pods, as the chart installs it on a node."""

from urllib.parse import urlsplit

from support.kubernetes.pods import Pods
from testbed import helm, pulsar_part
from testbed.cluster import Cluster
from testbed.node_room import ADDRESS
from testbed.product import NAMESPACE


def installed(cluster: Cluster) -> Pods:
    """All its pods ready; it may call the brokers that pods reach. The pods of its namespace."""
    made = Pods(cluster, NAMESPACE)
    made.create_namespace()
    helm.install(cluster, {"brokers": {"allowedHosts": _broker_hosts()}}, NAMESPACE)
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "--timeout=240s", seconds=250)
    return made


def _broker_hosts() -> list[str]:
    given = pulsar_part.given()
    return [ADDRESS, *([] if given is None else [urlsplit(given.admin_url).hostname or ""])]
