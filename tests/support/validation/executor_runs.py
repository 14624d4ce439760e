"""Runs whose driver creates executors on a real node: their pods and their progress."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import yaml

from support.kubernetes.pods import Pods
from testbed import audit
from testbed.images import reference
from testbed.paths import REPOSITORY
from topicschema.validation.job.log_protocol import progress_in
from topicschema.validation.job.manifest import NAMESPACE_LABEL, ROLE_LABEL

Object = dict[str, Any]
T = TypeVar("T")

ACCOUNT = "topicschema-validation"
_ROLES = REPOSITORY / "manifests" / "base" / "validation.yaml"
_SECONDS = 400.0


def allowed() -> set[tuple[str, str]]:
    """Return each resource and verb that the account of drivers may use."""
    documents = yaml.safe_load_all(_ROLES.read_text(encoding="utf-8"))
    (role,) = [one for one in documents if (one["kind"], one["metadata"]["name"]) == ("Role", ACCOUNT)]
    return {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


@dataclass(frozen=True, slots=True)
class ExecutedRuns:
    """The pods of the runs for the TopicSchemas of the Kubernetes namespace `tenant`.

    Drivers are those from that image: the image without Spark, or that of runs with executors.
    """

    pods: Pods
    tenant: str
    image: str = "validation"

    def driver(self, other_than: str = "") -> str:
        """Return the driver once there is one that is not ending and has another name."""
        (name,) = wait_for(lambda: [name for name in self._living("driver") if name != other_than], bool)
        return name

    def executors(self, number: int) -> list[str]:
        """Return the running executors once there is that number."""
        return wait_for(self.executors_now, lambda names: len(names) == number)

    def executors_now(self) -> list[str]:
        return self._living("executor", "Running")

    def no_executor_is_left(self, driver: str) -> bool:
        """Wait until all executors of the driver are gone, including ended ones. Return True."""
        return wait_for(lambda: self._executors_of(driver), lambda names: not names) == []

    def wait_for_end(self, driver: str) -> Object:
        """Return the driver's end once it has ended: exitCode and message."""
        return wait_for(lambda: self.end(driver), bool)

    def end(self, driver: str) -> Object:
        """Return the driver's end; nothing before it has ended."""
        end: Object = self._container(driver).get("state", {}).get("terminated", {})
        return end

    def container(self, pod: str) -> str:
        """Return the id of the pod's container; "" while it does not run."""
        container = self._container(pod)
        return container["containerID"].rpartition("/")[2] if "running" in container.get("state", {}) else ""

    def wait_for_reading(self, driver: str) -> str:
        """Return the driver once its run reads messages."""
        wait_for(lambda: self.percent(driver), lambda percent: percent >= 0)
        return driver

    def percent(self, driver: str) -> int:
        """Return the progress in the driver's log; -1 while it has none."""
        progress = progress_in(self.log(driver).splitlines()) or {}
        return int(progress.get("percent", -1))

    def log(self, driver: str) -> str:
        return self.pods.cluster.try_kubectl("-n", self.pods.namespace, "logs", driver).stdout

    def delete(self, pod: str) -> None:
        """Delete the pod and wait until it is gone."""
        self.pods.cluster.kubectl("-n", self.pods.namespace, "delete", "pod", pod, "--grace-period=1", seconds=120)

    @property
    def audit_log(self) -> Path:
        """The audit log of the API server, which runs on a node of the testbed."""
        log = self.pods.cluster.audit_log
        assert log is not None
        return log

    def requests(self, since: int) -> set[tuple[str, str]]:
        """Return resources and verbs of the drivers' requests after that position of the log. None was refused."""
        user = f"system:serviceaccount:{self.pods.namespace}:{ACCOUNT}"
        audit.settled(self.audit_log, counts=lambda request: request.user == user)
        requests = [one for one in audit.requests(self.audit_log, since, user) if one.resource]
        refused = [one for one in requests if one.code == HTTPStatus.FORBIDDEN]
        assert not refused, refused
        return {(one.resource, one.verb) for one in requests}

    def evict(self, pod: str) -> None:
        """Start the pod's eviction, as `kubectl drain` does."""
        path = f"/api/v1/namespaces/{self.pods.namespace}/pods/{pod}/eviction"
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        self.pods.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))

    def _container(self, pod: str) -> Object:
        status = self.pods.cluster.get("-n", self.pods.namespace, "pod", pod)["status"]
        return next(iter(status.get("containerStatuses", ())), {})

    def _living(self, role: str, *phases: str) -> list[str]:
        expected = phases or ("Pending", "Running")
        living = [pod for pod in self._pods(role) if pod["status"]["phase"] in expected]
        return [pod["metadata"]["name"] for pod in living if not pod["metadata"].get("deletionTimestamp")]

    def _executors_of(self, driver: str) -> list[str]:
        owned = ((pod["metadata"]["name"], pod["metadata"]["ownerReferences"]) for pod in self._pods("executor"))
        return [name for name, owners in owned if owners[0]["name"] == driver]

    def _pods(self, role: str) -> list[Object]:
        pods = self.pods.cluster.get(
            "-n", self.pods.namespace, "pods", "-l", f"{NAMESPACE_LABEL}={self.tenant},{ROLE_LABEL}={role}"
        )
        items: list[Object] = pods["items"]
        return [each for each in items if role == "executor" or _image_of(each).endswith(reference(self.image))]


def _image_of(pod: Object) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def wait_for(fetch: Callable[[], T], matches: Callable[[T], bool]) -> T:
    """Return the first value that matches. Raise AssertionError with the last one if none does in time."""
    deadline = time.monotonic() + _SECONDS
    while not matches(value := fetch()):
        assert time.monotonic() < deadline, value
        time.sleep(0.2)
    return value
