"""The operator in pods, installed by the chart on a node."""

import time
from collections.abc import Mapping
from typing import Any, Final

from support.kubernetes.pods import Pods
from testbed import helm
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.product import NAMESPACE

_POLICY: Final = """
apiVersion: topicschema.io/v1alpha1
kind: NamespaceSchemaPolicy
metadata: {name: none, namespace: default}
spec: {registry: none, pulsarNamespace: shop/orders}
"""
_SECONDS: Final = 30.0


def install(cluster: Cluster) -> Pods:
    """Install the operator, wait until its pods are ready, and return them."""
    pods = Pods(cluster, NAMESPACE)
    pods.create_namespace()
    upgrade(cluster, {})
    _wait_until_admitted(cluster)
    return pods


def _wait_until_admitted(cluster: Cluster) -> None:
    """Wait until the API server reaches the webhook, which kube-proxy permits a moment after the pods are ready."""
    deadline = time.monotonic() + _SECONDS
    while "failed calling webhook" in (
        error := cluster.try_kubectl("create", "--dry-run=server", "-f", "-", stdin=_POLICY).stderr
    ):
        if time.monotonic() > deadline:
            raise TestbedError(f"the API server does not reach the webhook: {error.strip()}")
        time.sleep(0.2)


def upgrade(cluster: Cluster, values: Mapping[str, Any]) -> None:
    """Install or upgrade the release with these values in its namespace, and wait until its pods are ready.

    Runs start executors for any number of messages. The registry of a test without executors has maxExecutors: 0.
    """
    always = [{"name": "TOPICSCHEMA_SPARK_FROM_SECONDS", "value": "0.001"}]
    controller = {"extraEnv": always, **values.get("controller", {})}
    helm.install(cluster, {**values, "controller": controller}, NAMESPACE)
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "--timeout=240s", seconds=250)
