"""Pods that are given less memory than they need while they run, on a node of ours: the kernel kills what they run.

Whom it kills is settled, too: the container's first process, so that it ends as OOMKilled on any version of cgroups.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from support.validation.executor_runs import ExecutedRuns, Object, until
from testbed.errors import TestbedError
from testbed.kind import Node

_SQUEEZE = """
runc="runc --root /run/containerd/runc/k8s.io"
echo 1000 > /proc/$($runc state $1 | jq .pid)/oom_score_adj
for room in 256M 320M 384M; do
  $runc update --memory $room $1 && exit
done
exit 1
"""
# The kernel refuses a limit below what is used at the moment; a JVM and a Python that judges need more than each.


@dataclass(frozen=True, slots=True)
class SqueezedPods:
    """Those among the pods of runs."""

    runs: ExecutedRuns
    node: Node
    names: set[str] = field(default_factory=set)

    def squeeze(self, pod: str) -> None:
        """Have it run out of memory as soon as it needs what such a pod needs; it must run."""
        container = self.runs.container(pod)
        self.node.inside("sh", "-euc", _SQUEEZE, "squeeze", container)
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
