"""Pods and Jobs on a real node, as the strictest namespace takes them: no root, no privilege, nothing written."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.cluster import Cluster

ENFORCED = "pod-security.kubernetes.io/enforce=restricted"
_FILES = "/given"


def spec(image: str, arguments: Sequence[str], **container: Any) -> dict[str, Any]:
    """A pod's spec with one container that is called `main`; further fields of the container by name."""
    main = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "args": list(arguments),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        **container,
    }
    context = {"runAsNonRoot": True, "runAsUser": 65_532, "seccompProfile": {"type": "RuntimeDefault"}}
    return {"restartPolicy": "Never", "securityContext": context, "containers": [main]}


def with_files(made: dict[str, Any], config_map: str) -> dict[str, Any]:
    """The spec with the ConfigMap's members as files in `/given`."""
    mounts = made["containers"][0].setdefault("volumeMounts", [])
    mounts.append({"name": "given", "mountPath": _FILES, "readOnly": True})
    made.setdefault("volumes", []).append({"name": "given", "configMap": {"name": config_map}})
    return made


@dataclass(frozen=True, slots=True)
class Ended:
    """How a pod's container ended, and what it had said."""

    exit_code: int
    log: str


@dataclass(frozen=True, slots=True)
class Pods:
    """What runs in one namespace."""

    cluster: Cluster
    namespace: str

    def create_namespace(self) -> None:
        """Make the namespace, which takes restricted pods only."""
        self.cluster.kubectl("create", "namespace", self.namespace)
        self.cluster.kubectl("label", "namespace", self.namespace, ENFORCED)

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Apply the objects in the namespace."""
        documents = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.cluster.kubectl("-n", self.namespace, "apply", "-f", "-", stdin=json.dumps(documents))

    def files(self, name: str, members: Mapping[str, str]) -> None:
        """Put a ConfigMap there."""
        self.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(members)})

    def run(self, name: str, made: dict[str, Any], seconds: int = 240) -> Ended:
        """Run the pod to its end."""
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made})
        finished = "jsonpath={.status.containerStatuses[0].state.terminated}"
        self.cluster.kubectl(
            "-n", self.namespace, "wait", "pod", name, f"--for={finished}", f"--timeout={seconds}s", seconds=seconds + 9
        )
        return self.ended(name)

    def ended(self, name: str) -> Ended:
        """How the pod, which has ended, did."""
        state = self.cluster.get("-n", self.namespace, "pod", name)["status"]["containerStatuses"][0]["state"]
        log = self.cluster.kubectl("-n", self.namespace, "logs", name)
        return Ended(state["terminated"]["exitCode"], log)

    def job(self, name: str, made: dict[str, Any], **fields: Any) -> None:
        """Make a Job of that pod; further fields of its spec by name."""
        wanted = {"backoffLimit": 3, **fields, "template": {"spec": made}}
        self.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": wanted})

    def wait_for_job(self, name: str, condition: str, seconds: int = 240) -> dict[str, Any]:
        """The Job once it has ended, as `Complete` or `Failed`; AssertionError with its pods' words if otherwise."""
        deadline = time.monotonic() + seconds
        while not (found := self._ended_as(name)):
            if time.monotonic() > deadline:
                break
            time.sleep(0.5)
        job: dict[str, Any] = self.cluster.get("-n", self.namespace, "job", name)
        said = (
            "" if condition in found else self.cluster.try_kubectl("-n", self.namespace, "logs", f"job/{name}").stdout
        )
        assert condition in found, f"{json.dumps(job['status'])}\n{said[-4000:]}"
        return job

    def _ended_as(self, name: str) -> set[str]:
        conditions = self.cluster.get("-n", self.namespace, "job", name)["status"].get("conditions", [])
        return {each["type"] for each in conditions if each["status"] == "True"} & {"Complete", "Failed"}

    def of_job(self, name: str) -> list[dict[str, Any]]:
        """The Job's pods."""
        found: list[dict[str, Any]] = self.cluster.get(
            "-n", self.namespace, "pods", "-l", f"batch.kubernetes.io/job-name={name}"
        )["items"]
        return found
