"""Runs whose driver makes executors on a real node: their pods, and how far they are."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import yaml

from support.kubernetes.pods import Pods
from testbed import audit
from topicschema.validation.job.log_protocol import progress_in

Object = dict[str, Any]
T = TypeVar("T")

ACCOUNT = "topicschema-validation"
_DOCUMENT = Path(__file__).parents[3] / "docs" / "validation.md"
_RIGHTS = re.compile(r"\n### Executors\n.*?```yaml\n(.*?)```", re.DOTALL)
_SECONDS = 400.0


def rights(namespace: str) -> list[Object]:
    """The account, its role and their binding, as the documentation tells people to make them."""
    found = _RIGHTS.search(_DOCUMENT.read_text(encoding="utf-8"))
    assert found is not None
    return list(yaml.safe_load_all(found[1].replace("namespace: shop", f"namespace: {namespace}")))


def allowed(role: Object) -> set[tuple[str, str]]:
    """Which resources the role lets drivers ask for, and how."""
    return {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


@dataclass(frozen=True, slots=True)
class ExecutedRuns:
    """The pods of a namespace's runs."""

    pods: Pods

    def driver(self, besides: str = "") -> str:
        """The driver, once there is one that is not ending and has another name."""
        (found,) = until(lambda: [name for name in self._living("driver") if name != besides], bool)
        return found

    def executors(self, number: int) -> list[str]:
        """The executors that run, once they are so many."""
        return until(self.executors_now, lambda found: len(found) == number)

    def executors_now(self) -> list[str]:
        """The executors that run."""
        return self._living("executor", "Running")

    def no_executor_is_left(self, driver: str) -> bool:
        """Whether all of that driver are gone, those that ended among them; waits for it."""
        return until(lambda: self._executors_of(driver), lambda found: not found) == []

    def ended(self, driver: str) -> Object:
        """How that driver ended, once it has: its exitCode and message."""
        return until(lambda: self.end(driver), bool)

    def end(self, driver: str) -> Object:
        """How that driver ended; nothing while it has not."""
        found: Object = self._container(driver).get("state", {}).get("terminated", {})
        return found

    def container(self, pod: str) -> str:
        """The id of the pod's container; "" while it does not run."""
        found = self._container(pod)
        return found["containerID"].rpartition("/")[2] if "running" in found.get("state", {}) else ""

    def begun(self, driver: str) -> str:
        """The driver, once its run reads messages."""
        until(lambda: self.percent(driver), lambda told: told >= 0)
        return driver

    def percent(self, driver: str) -> int:
        """How far the driver's log says that it is; -1 while that says nothing."""
        told = progress_in(self.log(driver).splitlines()) or {}
        return int(told.get("percent", -1))

    def log(self, driver: str) -> str:
        """What the driver has written."""
        return self.pods.cluster.try_kubectl("-n", self.pods.namespace, "logs", driver).stdout

    def delete(self, pod: str) -> None:
        """Delete the pod; returns when it is gone."""
        self.pods.cluster.kubectl("-n", self.pods.namespace, "delete", "pod", pod, "--grace-period=1", seconds=120)

    @property
    def audit_log(self) -> Path:
        """Where the API server writes down who asked for what; on a node of ours it does."""
        log = self.pods.cluster.audit_log
        assert log is not None
        return log

    def asked(self, since: int) -> set[tuple[str, str]]:
        """Which resources drivers asked for, and how, after that position of the audit log; nothing was refused."""
        user = f"system:serviceaccount:{self.pods.namespace}:{ACCOUNT}"
        audit.settled(self.audit_log, counts=lambda request: request.user == user)
        found = [one for one in audit.requests(self.audit_log, since, user) if one.resource]
        refused = [one for one in found if one.code == HTTPStatus.FORBIDDEN]
        assert not refused, refused
        return {(one.resource, one.verb) for one in found}

    def evict(self, pod: str) -> None:
        """Have the pod go as `kubectl drain` has it, by the Eviction API; returns at once."""
        place = f"/api/v1/namespaces/{self.pods.namespace}/pods/{pod}/eviction"
        wanted = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        self.pods.cluster.kubectl("create", "--raw", place, "-f", "-", stdin=json.dumps(wanted))

    def _container(self, pod: str) -> Object:
        found = self.pods.cluster.get("-n", self.pods.namespace, "pod", pod)["status"]
        return next(iter(found.get("containerStatuses", ())), {})

    def _living(self, role: str, *phases: str) -> list[str]:
        wanted = phases or ("Pending", "Running")
        living = [pod for pod in self._pods(role) if pod["status"]["phase"] in wanted]
        return [pod["metadata"]["name"] for pod in living if not pod["metadata"].get("deletionTimestamp")]

    def _executors_of(self, driver: str) -> list[str]:
        owned = ((pod["metadata"]["name"], pod["metadata"]["ownerReferences"]) for pod in self._pods("executor"))
        return [name for name, owners in owned if owners[0]["name"] == driver]

    def _pods(self, role: str) -> list[Object]:
        found = self.pods.cluster.get("-n", self.pods.namespace, "pods", "-l", f"topicschema.io/role={role}")
        items: list[Object] = found["items"]
        return items


def until(ask: Callable[[], T], is_well: Callable[[T], bool]) -> T:
    """The first answer that is well; AssertionError with the last one when none ever is."""
    deadline = time.monotonic() + _SECONDS
    while not is_well(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)
    return answer
