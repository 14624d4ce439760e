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
    """Install or upgrade the release with these values in its namespace, and wait until its pods are ready.

    Runs start executors for any number of messages. The registry of a test without executors has maxExecutors: 0.
    """
    always = [{"name": "TOPICSCHEMA_SPARK_FROM_SECONDS", "value": "0.001"}]
    controller = {"extraEnv": always, **values.get("controller", {})}
    helm.install(cluster, {**values, "controller": controller}, NAMESPACE)
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "--timeout=240s", seconds=250)
