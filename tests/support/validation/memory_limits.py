"""Pods that are given less memory than they need while they run, on a node of ours: the kernel kills what they run.

Whom it kills is settled, too: the container's first process, so that it ends as OOMKilled on any version of cgroups.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, field

from support.validation.executor_runs import ExecutedRuns, Object, until
from testbed.errors import TestbedError
from testbed.kind import Node

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
        while not (end := self.runs.end(driver)):
            for pod in until(lambda: self._others(driver), bool) - {driver}:
                with suppress(TestbedError):  # it may just have been deleted; else it is tried again
                    self.squeeze(pod)
        return end

    def _others(self, driver: str) -> set[str]:
        """The executors that are not squeezed yet; the driver once it has ended."""
        ended = {driver} if self.runs.end(driver) else set()
        return ended | (set(self.runs.executors_now()) - self.names)
