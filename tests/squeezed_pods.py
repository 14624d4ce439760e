"""Pods that are given less memory than they need while they run, on a node of ours: the kernel kills what they run.

Whom it kills is settled, too: the container's first process, so that it ends as OOMKilled on any version of cgroups.
"""

import json
from dataclasses import dataclass, field

from executed_runs import ExecutedRuns, Object, until
from testbed.node import Node

_ROOM = 256 << 20  # a JVM and a Python that judges need more together
_FIRST_TO_GO = 1000
_RUNC = ("runc", "--root", "/run/containerd/runc/k8s.io")


@dataclass(frozen=True, slots=True)
class SqueezedPods:
    """Those among the pods of runs."""

    runs: ExecutedRuns
    node: Node
    names: set[str] = field(default_factory=set)

    def squeeze(self, pod: str) -> None:
        """Have it run out of memory as soon as it needs what such a pod needs; it must run."""
        container = self.runs.container(pod)
        pid = json.loads(self.node.inside(*_RUNC, "state", container))["pid"]
        self.node.inside("sh", "-c", f"echo {_FIRST_TO_GO} > /proc/{pid}/oom_score_adj")
        self.node.inside(*_RUNC, "update", "--memory", str(_ROOM), container)
        self.names.add(pod)

    def squeeze_all_until_ended(self, driver: str) -> Object:
        """Squeeze each executor that the driver makes, until it gives up; how it ended."""

        def ended() -> Object:
            for pod in set(self.runs.executors_now()) - self.names:
                self.squeeze(pod)
            return self.runs.end(driver)

        return until(ended, bool)
