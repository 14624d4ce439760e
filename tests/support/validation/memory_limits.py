"""Pods on a node of the testbed whose memory limit is lowered while they run, so that the kernel kills them.

The kernel kills the container's first process, so that it ends as OOMKilled on any version of cgroups.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from support.validation.executor_runs import ExecutedRuns, Object, wait_for
from testbed.errors import TestbedError
from testbed.kind import Node

_SQUEEZE = """
runc="runc --root /run/containerd/runc/k8s.io"
echo 1000 > /proc/$($runc state $1 | jq .pid)/oom_score_adj
for limit in 256M 320M 384M; do
  $runc update --memory $limit $1 && exit
done
exit 1
"""
# The kernel refuses a limit below the current usage. A JVM and a Python that validates need more than each of these.


@dataclass(frozen=True, slots=True)
class SqueezedPods:
    """Pods of runs whose memory limit is lowered."""

    runs: ExecutedRuns
    node: Node
    names: set[str] = field(default_factory=set)

    def squeeze(self, pod: str) -> None:
        """Lower the limit of a running pod, so that it soon runs out of memory."""
        container = self.runs.container(pod)
        self.node.inside("sh", "-euc", _SQUEEZE, "squeeze", container)
        self.names.add(pod)

    def squeeze_all_until_ended(self, driver: str) -> Object:
        """Squeeze each executor of the driver until the driver ends, and return its end."""
        while not (end := self.runs.end(driver)):
            for pod in wait_for(lambda: self._others(driver), bool) - {driver}:
                with suppress(TestbedError):  # it may just have been deleted; otherwise the next turn tries again
                    self.squeeze(pod)
        return end

    def _others(self, driver: str) -> set[str]:
        """Return the executors that are not squeezed yet, or the driver once it has ended."""
        ended = {driver} if self.runs.end(driver) else set()
        return ended | (set(self.runs.executors_now()) - self.names)
