"""SparkSession of a driver pod. Its executors are pods that this pod owns, and connect to its IP.

The Job mounts the template of the executors. This module adds Spark's other settings.
"""

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from topicschema.validation.errors import RunError
from topicschema.validation.job.manifest import BLOCKS_PORT, DRIVER_PORT
from topicschema.validation.request import shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEAP: Final = 512 * 1024**2
"""Heap of a JVM in bytes. It only transfers splits and tallies. Python's processes get the rest of a pod's memory."""
SHORT_LIFE: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM options for a short run with little work in the JVM. They halve its start time."""
_LEAST_OVERHEAD: Final = 512 * 1024**2
_FAILURES_EACH: Final = 6
"""Maximum executor failures for each executor of the run.

If a task kills its executor, its fourth attempt ends the run with a reason. Spark's own limit, two for each executor,
would end the JVM earlier and without a reason.
"""
_API_TIMEOUT: Final = "60000"
"""Timeout of the API server in milliseconds. On a busy node, Spark's ten seconds pass before its JVM is warm."""
_PODS_ALONE: Final[Mapping[str, str]] = {
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
}
"""Settings by which Spark creates, lists and deletes only pods. The driver's account needs a role for pods alone."""
AUDIT_SETTINGS: Final[Mapping[str, str]] = {
    "spark.app.name": "topicschema audit",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of an audit, in a pod and on a user's machine."""
_PREFIX: Final = 47
"""Maximum length of Spark's prefix: a name has 63 characters, and Spark appends `-exec-` and a number."""
_SIGN: Final = 12
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_SERVER: Final = re.compile(r"Message: (.{1,2000}?)\.? Received status", re.DOTALL)
_GAVE_UP: Final = "Spark context stopped while waiting for backend"  # after the API server rejected ten pods
_MAX_LENGTH: Final = 500
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


@contextmanager
def started(spark_settings: Mapping[str, str], event_log: str | None = None) -> "Iterator[SparkSession]":
    """Yield a SparkSession with these settings, and stop it. Raises RunError if Spark does not start.

    Afterwards, Spark's event log is in the folder with the URI `event_log`, if it is set and can be written to.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415  # a JVM, only if there are executors
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    with TemporaryDirectory() as logs:
        all_settings = spark_settings if event_log is None else {**spark_settings, **event_log_settings(logs)}
        try:
            context = SparkContext(conf=SparkConf().setAll(list(all_settings.items())))
        except (Py4JError, PySparkException, ConnectionError) as error:
            raise RunError(f"Spark does not start: {cause_of(error)}") from None
        context.pythonExec = sys.executable  # Spark's setting for the Python executable applies to spark-submit only
        context.setLogLevel("WARN")
        try:
            yield SparkSession(context)
        finally:
            with suppress(ConnectionError):  # if the JVM is gone, it has no executors
                context.stop()
            if event_log is not None:
                copy_event_log(logs, event_log)


def event_log_settings(folder: str) -> Mapping[str, str]:
    """Return the settings by which Spark writes one event log."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.rolling.enabled": "false",
    }


def copy_event_log(folder: str, uri: str) -> None:
    """Copy the files of the folder to that of the URI. Write a failure to standard error: it is none of the run."""
    from pyarrow import ArrowException, fs  # noqa: PLC0415

    try:
        system, path = fs.FileSystem.from_uri(uri)
        system.create_dir(path)
        fs.copy_files(folder, path, destination_filesystem=system)
    except (OSError, ValueError, ArrowException) as error:
        why = " ".join(str(error).replace(uri, shown(uri)).split())[:300]
        sys.stderr.write(f"Spark's event log was not written to {shown(uri)}: {why}\n")


def cause_of(error: Exception) -> str:
    """Return the root cause of Spark's failure on one line, shortened, in the API server's words if it has any."""
    began = getattr(error, "java_exception", None)
    while began is not None and began.getCause() is not None:
        began = began.getCause()
    text = str(error if began is None else began.toString())
    if _GAVE_UP in text:
        return "no executor can be made; the driver's log says why (a quota, perhaps)"
    from_server = _SERVER.search(text)
    return " ".join((text if from_server is None else from_server[1]).split())[:_MAX_LENGTH]


def settings(executors: int, template: Path, environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return Spark's settings for this number of executors. Raises RunError if this is not a pod that may create them.

    `template` is the file with the pod of an executor.
    """
    missing = [name for name in _NEEDED if not environ.get(name)]
    if missing:
        raise RunError(f"executors need a driver that is a pod: {', '.join(missing)} not set")
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
        "spark.ui.showConsoleProgress": "false",  # it ends no line: after 16 KiB of it, no marked line begins a line
        "spark.kubernetes.driver.connectionTimeout": _API_TIMEOUT,
        "spark.kubernetes.driver.requestTimeout": _API_TIMEOUT,
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


def dynamic_settings(most: int, template: Path, environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the settings for one executor and, while there are tasks for more, at most `most`. See `settings`."""
    return {
        **settings(1, template, environ),
        "spark.executor.maxNumFailures": str(_FAILURES_EACH * most),
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": str(most),
    }


def _sizes(template: Path) -> Mapping[str, str]:
    """Return the executor settings for which Spark would overwrite the values of the template, with those values."""
    requests, limits = _resources(template)
    memory = quantity(limits.get("memory") or requests.get("memory") or "2Gi")
    cores = quantity(requests.get("cpu") or limits.get("cpu") or "1")
    sizes = {
        "spark.executor.memory": f"{_HEAP >> 20}m",
        "spark.executor.memoryOverhead": f"{max(_LEAST_OVERHEAD, int(memory) - _HEAP) >> 20}m",
        "spark.executor.cores": str(cores_of(template)),
        "spark.kubernetes.executor.request.cores": f"{cores:g}",
    }
    return sizes | ({"spark.kubernetes.executor.limit.cores": str(limits["cpu"])} if "cpu" in limits else {})


def cores_of(template: Path) -> int:
    """Return the cores of each pod of a run, rounded up. `template` is as in `settings`."""
    requests, limits = _resources(template)
    return max(1, math.ceil(quantity(requests.get("cpu") or limits.get("cpu") or "1")))


def _resources(template: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the requests and the limits of the template's container."""
    try:
        (container,) = json.loads(template.read_text(encoding="utf-8"))["spec"]["containers"]
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"the executors' template cannot be read: {type(error).__name__}") from None
    resources = container.get("resources") or {}
    return resources.get("requests") or {}, resources.get("limits") or {}


def quantity(text: str) -> float:
    """Return a Kubernetes quantity as a number. Raises RunError if it is not a quantity of resources."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise RunError(f"{text!r} is no quantity")
    return float(match[1]) * _UNITS[match[2] or ""]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _prefix(pod: str) -> str:
    """Return a part of the pod's name and a hash of all of it. The unique part of a name is at its end."""
    sign = hashlib.sha256(pod.encode()).hexdigest()[:_SIGN]
    return f"{re.sub(r'[^a-z0-9-]', '-', pod)[: _PREFIX - _SIGN - 1].strip('-')}-{sign}"
