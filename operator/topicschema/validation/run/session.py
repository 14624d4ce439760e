"""Spark's context for a driver that is a pod: its executors are pods that this pod owns, and call it by its address.

What executors may be is in the template that the Job mounts; here stands what Spark has to be told beside it.
"""

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from topicschema.validation.errors import RunError
from topicschema.validation.job.manifest import BLOCKS_PORT, DRIVER_PORT, EXECUTOR_TEMPLATE

_HEAP: Final = 512 * 1024**2
"""Of a JVM, which only hands on splits and tallies; the rest of a pod's memory is for Python's processes."""
SHORT_LIFE: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that hands on little is up in half the time where it is not compiled for long work."""
_LEAST_OVERHEAD: Final = 512 * 1024**2
_FAILURES_EACH: Final = 6
"""For each executor. A task that takes its executor along ends the run with its fourth try, and the reason is told; by
Spark's own bound, twice for each, its JVM would end before that, and without a word."""
_API_PATIENCE: Final = "60000"
"""Milliseconds for the API server's answer: Spark's own ten seconds are over on a busy node before its JVM is warm."""
_PODS_ALONE: Final[Mapping[str, str]] = {
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
}
"""Nothing but pods is made, listed or deleted: all that the driver's account needs is a role for these."""
_PREFIX: Final = 47
"""What Spark takes: a name has 63 letters, and it puts `-exec-` and a number behind."""
_SIGN: Final = 12
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_SERVER: Final = re.compile(r"Message: (.{1,2000}?)\.? Received status", re.DOTALL)
_GAVE_UP: Final = "Spark context stopped while waiting for backend"  # after ten pods that the API server refused
_TOLD: Final = 500
_UNITS: Final[Mapping[str, float]] = {
    "": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40
}  # fmt: skip
_NEEDED: Final = (
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "POD_IP",
    "POD_NAME",
    "POD_NAMESPACE",
    "TOPICSCHEMA_EXECUTOR_IMAGE",
)


def start(executors: int, folder: Path, environ: Mapping[str, str] = os.environ) -> Any:
    """A SparkContext with so many executors; RunError where this is no pod that may have any, and where Spark fails."""
    missing = [name for name in _NEEDED if not environ.get(name)]
    if missing:
        raise RunError(f"executors need a driver that is a pod: {', '.join(missing)} not set")
    from py4j.protocol import Py4JError  # noqa: PLC0415  # a JVM, where there are executors
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    told = settings(executors, folder / EXECUTOR_TEMPLATE, environ)
    try:
        context = SparkContext(conf=SparkConf().setAll(list(told.items())))
    except (Py4JError, PySparkException, ConnectionError) as error:
        raise RunError(f"Spark does not start: {told_by(error)}") from None
    context.pythonExec = sys.executable  # what Spark's settings name is for spark-submit alone
    context.setLogLevel("WARN")
    return context


def stop(context: Any) -> None:
    """End it, and with it its executors; one whose JVM is gone has none any more."""
    with suppress(ConnectionError):
        context.stop()


def told_by(error: Exception) -> str:
    """Why Spark failed: what began it, in the API server's own words where they are its, on one line, shortened."""
    began = getattr(error, "java_exception", None)
    while began is not None and began.getCause() is not None:
        began = began.getCause()
    text = str(error if began is None else began.toString())
    if _GAVE_UP in text:
        return "no executor can be made; the driver's log says why (a quota, perhaps)"
    from_server = _SERVER.search(text)
    return " ".join((text if from_server is None else from_server[1]).split())[:_TOLD]


def settings(executors: int, template: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    """What Spark is told."""
    address = f"https://{_bracketed(environ['KUBERNETES_SERVICE_HOST'])}:{environ['KUBERNETES_SERVICE_PORT']}"
    return {
        "spark.master": f"k8s://{address}",
        "spark.app.name": "topicschema-validation",
        "spark.submit.deployMode": "client",
        "spark.executor.instances": str(executors),
        "spark.executor.maxNumFailures": str(_FAILURES_EACH * executors),
        "spark.driver.host": _bracketed(environ["POD_IP"]),
        "spark.driver.port": str(DRIVER_PORT),
        "spark.blockManager.port": str(BLOCKS_PORT),
        "spark.driver.blockManager.port": str(BLOCKS_PORT),
        "spark.port.maxRetries": "0",
        "spark.driver.memory": f"{_HEAP >> 20}m",
        "spark.driver.extraJavaOptions": SHORT_LIFE,
        "spark.executor.extraJavaOptions": SHORT_LIFE,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",  # it ends no line: behind 16 KiB of it a marked one begins none
        "spark.kubernetes.driver.connectionTimeout": _API_PATIENCE,
        "spark.kubernetes.driver.requestTimeout": _API_PATIENCE,
        "spark.kubernetes.namespace": environ["POD_NAMESPACE"],
        "spark.kubernetes.driver.pod.name": environ["POD_NAME"],
        "spark.kubernetes.executor.podNamePrefix": _prefix(environ["POD_NAME"]),
        "spark.kubernetes.container.image": environ["TOPICSCHEMA_EXECUTOR_IMAGE"],
        "spark.kubernetes.container.image.pullPolicy": "IfNotPresent",
        "spark.kubernetes.executor.podTemplateFile": str(template),
        "spark.kubernetes.executor.podTemplateContainerName": "executor",
        **_PODS_ALONE,
        **_sizes(template),
    }


def _sizes(template: Path) -> Mapping[str, str]:
    """What Spark puts into the executors' pods itself, taken from the template that it would overwrite."""
    try:
        (container,) = json.loads(template.read_text(encoding="utf-8"))["spec"]["containers"]
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"the executors' template cannot be read: {type(error).__name__}") from None
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    memory = quantity(limits.get("memory") or requests.get("memory") or "2Gi")
    cores = quantity(requests.get("cpu") or limits.get("cpu") or "1")
    told = {
        "spark.executor.memory": f"{_HEAP >> 20}m",
        "spark.executor.memoryOverhead": f"{max(_LEAST_OVERHEAD, int(memory) - _HEAP) >> 20}m",
        "spark.executor.cores": str(max(1, math.ceil(cores))),
        "spark.kubernetes.executor.request.cores": f"{cores:g}",
    }
    return told | ({"spark.kubernetes.executor.limit.cores": str(limits["cpu"])} if "cpu" in limits else {})


def quantity(text: str) -> float:
    """A Kubernetes quantity as a number; RunError where it is none that resources are told in."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        raise RunError(f"{text!r} is no quantity")
    return float(found[1]) * _UNITS[found[2] or ""]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _prefix(pod: str) -> str:
    """A piece of the pod's name for people, and a sign of all of it: what makes a name unique stands at its end."""
    sign = hashlib.sha256(pod.encode()).hexdigest()[:_SIGN]
    return f"{re.sub(r'[^a-z0-9-]', '-', pod)[: _PREFIX - _SIGN - 1].strip('-')}-{sign}"
