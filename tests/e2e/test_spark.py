"""Spark on the node, with the validation image: a Job whose pod is the driver, and executors in pods of their own."""

import json
from typing import Any

import pytest

from pods import Pods, spec, with_files, with_scratch

_ROWS = 200_000
_PROGRAM = """
import os
from pyspark.sql import SparkSession

server = "k8s://https://%s:%s" % (os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
settings = {
    "spark.master": server,
    "spark.executor.instances": "2",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "384m",
    "spark.kubernetes.executor.request.cores": "100m",
    "spark.kubernetes.namespace": os.environ["NAMESPACE"],
    "spark.kubernetes.container.image": os.environ["IMAGE"],
    "spark.kubernetes.container.image.pullPolicy": "Never",
    "spark.kubernetes.driver.pod.name": os.environ["POD"],
    "spark.kubernetes.executor.podTemplateFile": "/given/executor.json",
    "spark.kubernetes.authenticate.caCertFile": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
    "spark.kubernetes.authenticate.oauthTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
    "spark.driver.host": os.environ["ADDRESS"],
    "spark.driver.port": "7078",
    "spark.blockManager.port": "7079",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.ui.enabled": "false",
}
building = SparkSession.builder
for key, value in settings.items():
    building = building.config(key, value)
session = building.getOrCreate()
rows = session.sparkContext.parallelize(range(ROWS), 8).mapPartitions(lambda part: [sum(1 for _ in part)]).sum()
hosts = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
print("ROWS", rows, "EXECUTORS", hosts - 1)
session.stop()
""".replace("ROWS", str(_ROWS), 1)
_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "driver"},
    "rules": [
        {"apiGroups": [""], "resources": ["pods", "configmaps", "services", "persistentvolumeclaims"], "verbs": ["*"]}
    ],
}
_BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "driver"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "driver"},
    "subjects": [{"kind": "ServiceAccount", "name": "driver"}],
}


@pytest.mark.timeout(600)  # of which most is for loading the image
def test_a_driver_and_two_executors_count_rows(pods: Pods, validation_image: str) -> None:
    pods.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "driver"}}, _ROLE, _BINDING)
    pods.files("program", {"count.py": _PROGRAM, "executor.json": _executor(validation_image)})

    pods.job("count", _driver(pods, validation_image), backoffLimit=0)
    pods.wait_for_job("count", "Complete", seconds=280)

    (driver,) = pods.of_job("count")
    log = pods.ended(driver["metadata"]["name"]).log
    assert f"ROWS {_ROWS} EXECUTORS 2" in log
    kept = pods.cluster.get("-n", pods.namespace, "pods", "-l", "spark-role=executor")["items"]
    assert all(each["metadata"].get("deletionTimestamp") for each in kept)


def _driver(pods: Pods, image: str) -> dict[str, Any]:
    told = {"NAMESPACE": pods.namespace, "IMAGE": image, "HOME": "/tmp", "SPARK_LOCAL_DIRS": "/tmp"}  # noqa: S108
    fields = {"POD": "metadata.name", "ADDRESS": "status.podIP"}
    env: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in told.items()]
    env += [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    made = with_scratch(with_files(spec(image, ["python", "/given/count.py"], env=env), "program"))
    return {**made, "serviceAccountName": "driver"}


def _executor(image: str) -> str:
    """The pod that executors are made of: as restricted as the driver's."""
    made = with_scratch(spec(image, ["executor"], env=[{"name": "HOME", "value": "/tmp"}]))  # noqa: S108
    del made["containers"][0]["args"]
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": made})
