"""The Spark settings of a driver in a pod."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from topicschema.validation.errors import RunError
from topicschema.validation.run import session

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LONGEST = 63 - len("-exec-") - len(str(2**31 - 1))
"""As Spark's Config.scala counts it (spark.kubernetes.executor.podNamePrefix)."""
POD = {
    "KUBERNETES_SERVICE_HOST": "fd00::1",
    "KUBERNETES_SERVICE_PORT": "443",
    "POD_IP": "10.0.0.7",
    "POD_NAME": "orders-check-1234.abc",
    "POD_NAMESPACE": "shop",
    "TOPICSCHEMA_EXECUTOR_IMAGE": "registry/validation:1",
}


@dataclass(frozen=True)
class Thrown:
    """A Java exception, as Py4J returns it."""

    text: str
    cause: "Thrown | None" = None

    def getCause(self) -> "Thrown | None":  # noqa: N802  # Java's name
        return self.cause

    def toString(self) -> str:  # noqa: N802
        return self.text


def template(folder: Path, resources: object) -> Path:
    path = folder / "executor.json"
    path.write_text(json.dumps({"spec": {"containers": [{"name": "executor", "resources": resources}]}}))
    return path


def test_executors_are_owned_by_the_drivers_pod_and_call_it_at_fixed_ports(tmp_path: Path) -> None:
    settings = session.settings(3, template(tmp_path, {}), POD)
    assert settings["spark.master"] == "k8s://https://[fd00::1]:443"
    assert settings["spark.kubernetes.driver.pod.name"] == POD["POD_NAME"]
    assert settings["spark.kubernetes.executor.podNamePrefix"].startswith("orders-check-1234-abc-")
    assert (settings["spark.driver.host"], settings["spark.driver.port"]) == ("10.0.0.7", "7078")
    assert settings["spark.blockManager.port"] == "7079"
    assert settings["spark.kubernetes.executor.disableConfigMap"] == "true"  # the driver's role is for pods alone
    assert settings["spark.kubernetes.driver.service.deleteOnTermination"] == "false"
    assert settings["spark.kubernetes.driver.ownPersistentVolumeClaim"] == "false"
    assert "spark.driver.bindAddress" not in settings  # executors would call 0.0.0.0
    assert settings["spark.executor.instances"] == "3"
    assert settings["spark.ui.showConsoleProgress"] == "false"  # marked lines must begin a line of the log
    assert int(settings["spark.executor.maxNumFailures"]) > 3 * 4  # a task's fourth failure ends the run first


def test_the_executors_of_two_drivers_have_names_of_their_own_that_spark_takes(tmp_path: Path) -> None:
    resources = template(tmp_path, {})
    long = "orders-created-by-the-shop-in-the-evening-" + "x" * 15
    drivers = [f"{long}-a1b2c", f"{long}-a1b2d", f"{long[:33]}.a", f"{long[:33]}-a", f"{long[:33]}--a", "a", "7" * 253]
    settings = [session.settings(1, resources, {**POD, "POD_NAME": each}) for each in drivers]
    prefixes = [each["spark.kubernetes.executor.podNamePrefix"] for each in settings]
    assert len(set(prefixes)) == len(drivers)
    assert all(LABEL.fullmatch(each) and len(each) <= LONGEST for each in prefixes), prefixes
    assert all(each[:20].startswith(driver[:20]) for each, driver in zip(prefixes, drivers, strict=True))


def test_executors_have_the_resources_of_the_template(tmp_path: Path) -> None:
    resources = {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"memory": "3Gi", "cpu": "2"}}
    settings = session.settings(1, template(tmp_path, resources), POD)
    assert (settings["spark.executor.memory"], settings["spark.executor.memoryOverhead"]) == ("512m", "2560m")
    assert settings["spark.executor.cores"] == "2"
    assert settings["spark.kubernetes.executor.request.cores"] == "1.5"
    assert settings["spark.kubernetes.executor.limit.cores"] == "2"


def test_a_template_that_is_none_and_a_driver_that_is_no_pod_are_run_failures(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="template cannot be read"):
        session.settings(1, tmp_path / "nowhere.json", POD)
    with pytest.raises(RunError, match="'much' is no quantity"):
        session.settings(1, template(tmp_path, {"limits": {"memory": "much"}}), POD)
    with pytest.raises(RunError, match="POD_IP not set"):
        session.settings(1, template(tmp_path, {}), {**POD, "POD_IP": ""})


def test_a_failed_start_of_spark_is_reported_with_the_api_servers_message() -> None:
    words = 'pods "a" is forbidden: User "b" cannot get resource "pods"'
    server = Thrown(
        f"io.fabric8.KubernetesClientException: Failure: GET at: https://a. Message: {words}. Received status: x"
    )
    error = ValueError("Py4J's words")
    error.java_exception = Thrown("SparkException: it cannot be\n instantiated", server)  # type: ignore[attr-defined]
    assert session.cause_of(error) == words
    error.java_exception = Thrown("IOException: no\n  space")  # type: ignore[attr-defined]
    assert session.cause_of(error) == "IOException: no space"
    error.java_exception = Thrown("IllegalStateException: Spark context stopped while waiting for backend")  # type: ignore[attr-defined]
    assert "a quota, perhaps" in session.cause_of(error)
    assert session.cause_of(ValueError("the gateway ended")) == "the gateway ended"


def test_an_event_log_is_copied_or_its_loss_is_written_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "spark-1").write_text("{}\n")
    session.copy_event_log(str(logs), f"file://{tmp_path}/audit/spark-events")
    assert (tmp_path / "audit" / "spark-events" / "spark-1").read_text() == "{}\n"
    session.copy_event_log(str(logs), "nowhere://key:secret@audit/spark-events")
    written = capsys.readouterr().err
    assert "event log was not written to nowhere://audit/spark-events" in written
    assert "secret" not in written
