"""Pods and Jobs on a real node, as the strictest namespace accepts them: no root, no privilege, no writes."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.cluster import Cluster

ENFORCED = "pod-security.kubernetes.io/enforce=restricted"
_FILES = "/files"


def spec(image: str, arguments: Sequence[str], **container: Any) -> dict[str, Any]:
    """Return a pod's spec with one container, `main`. Further fields of the container are given by name."""
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


def with_files(pod_spec: dict[str, Any], config_map: str) -> dict[str, Any]:
    """Add the ConfigMap's members to the spec as files in `/files`, and return it."""
    mounts = pod_spec["containers"][0].setdefault("volumeMounts", [])
    mounts.append({"name": "files", "mountPath": _FILES, "readOnly": True})
    pod_spec.setdefault("volumes", []).append({"name": "files", "configMap": {"name": config_map}})
    return pod_spec


@dataclass(frozen=True, slots=True)
class PodResult:
    exit_code: int
    log: str


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of one namespace."""

    cluster: Cluster
    namespace: str

    def create_namespace(self) -> None:
        """Create the namespace, which accepts restricted pods only."""
        self.cluster.kubectl("create", "namespace", self.namespace)
        self.cluster.kubectl("label", "namespace", self.namespace, ENFORCED)

    def apply(self, *objects: Mapping[str, Any]) -> None:
        documents = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.cluster.kubectl("-n", self.namespace, "apply", "-f", "-", stdin=json.dumps(documents))

    def files(self, name: str, members: Mapping[str, str]) -> None:
        self.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(members)})

    def run(self, name: str, pod_spec: dict[str, Any], seconds: int = 240) -> PodResult:
        """Run the pod until it ends."""
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec})
        finished = "jsonpath={.status.containerStatuses[0].state.terminated}"
        self.cluster.kubectl(
            "-n", self.namespace, "wait", "pod", name, f"--for={finished}", f"--timeout={seconds}s", seconds=seconds + 9
        )
        return self.result(name)

    def result(self, name: str) -> PodResult:
        """Return the exit code and the log of a pod that has ended."""
        state = self.cluster.get("-n", self.namespace, "pod", name)["status"]["containerStatuses"][0]["state"]
        log = self.cluster.kubectl("-n", self.namespace, "logs", name)
        return PodResult(state["terminated"]["exitCode"], log)

    def job(self, name: str, pod_spec: dict[str, Any], **fields: Any) -> None:
        """Create a Job of that pod. Further fields of its spec are given by name."""
        job_spec = {"backoffLimit": 3, **fields, "template": {"spec": pod_spec}}
        self.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": job_spec})

    def wait_for_job(self, name: str, condition: str, seconds: int = 240) -> dict[str, Any]:
        """Return the Job once it has ended. Raise AssertionError with its pods' logs if it lacks the condition."""
        deadline = time.monotonic() + seconds
        while not (conditions := self._end_conditions(name)):
            if time.monotonic() > deadline:
                break
            time.sleep(0.5)
        job: dict[str, Any] = self.cluster.get("-n", self.namespace, "job", name)
        log = (
            ""
            if condition in conditions
            else self.cluster.try_kubectl("-n", self.namespace, "logs", f"job/{name}").stdout
        )
        assert condition in conditions, f"{json.dumps(job['status'])}\n{log[-4000:]}"
        return job

    def _end_conditions(self, name: str) -> set[str]:
        conditions = self.cluster.get("-n", self.namespace, "job", name)["status"].get("conditions", [])
        return {each["type"] for each in conditions if each["status"] == "True"} & {"Complete", "Failed"}

    def pods_of_job(self, name: str) -> list[dict[str, Any]]:
        pods: list[dict[str, Any]] = self.cluster.get(
            "-n", self.namespace, "pods", "-l", f"batch.kubernetes.io/job-name={name}"
        )["items"]
        return pods
