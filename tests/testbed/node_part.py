"""The part `node`: a cluster in which pods really run, from whichever source this machine has.

With TOPICSCHEMA_TEST_KUBECONFIG that cluster, whose images are its owner's business; with Docker one by `kind`
(untested); else a node of our own. `cluster` is in it.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed import cluster_part, kind, node, node_packages, sources
from testbed.build import build
from testbed.cluster import Cluster
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.node import Node
from testbed.progress import Progress


@dataclass(frozen=True, slots=True)
class GivenNode:
    """A cluster whose nodes are not ours: one of kind's, or somebody else's."""

    cluster: Cluster
    kind_cluster: str | None = None

    def load(self, archive: Path) -> None:
        """Give the nodes the images of an OCI archive, where kind can."""
        if self.kind_cluster is not None:
            kind.load(self.kind_cluster, archive)


def why_absent() -> str | None:
    """Why no pods can run here; None when they can."""
    if os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG") or (shutil.which("kind") and sources.docker_answers()):
        return None
    lacking = ["root"] if os.geteuid() != 0 else []
    if packages := node_packages.missing(node_packages.NODE):
        lacking.append(f"packages ({node_packages.install(packages)})")
    if lacking:
        without = "there is neither kind with Docker nor TOPICSCHEMA_TEST_KUBECONFIG"
        return f"{without}, and a node of our own takes {' and '.join(lacking)}"
    return _why_confined()


def _why_confined() -> str | None:
    """Why root may not here what a node does; None when it may."""
    if not os.access("/sys/fs/cgroup", os.W_OK) or not any(Path("/sys/fs/cgroup").glob("*/cgroup.procs")):
        return "no control groups can be made under /sys/fs/cgroup"
    if os.system("unshare --mount --net --pid --fork true 2>/dev/null"):  # noqa: S605, S607 - a fixed text
        return "no namespaces can be made (unshare --mount --net --pid)"
    return None


class NodePart:
    """See `testbed.parts.Part`."""

    name = "node"

    def prepare(self, progress: Progress) -> None:
        """Build what has to be built; SourceMissingError where no pods can run."""
        reason = why_absent()
        if reason is not None:
            raise SourceMissingError(reason)
        if isinstance(sources.find(progress), sources.Binaries):
            for recipe in sources.node_recipes():
                build(recipe, progress)

    def start(self, instance: Instance, progress: Progress) -> None:
        """Start the node, or what of it does not run."""
        start(instance, progress)

    def environment(self, instance: Instance) -> dict[str, str]:  # noqa: ARG002 - as the protocol has it
        """Nothing that the part `cluster` does not tell."""
        return {}

    def stop(self, instance: Instance) -> None:
        """End the node with everything on it, and the cluster, which is inside."""
        node.go_down(instance)
        cluster_part.ClusterPart().stop(instance)
        shutil.rmtree(instance.folder / "node", ignore_errors=True)

    def status(self, instance: Instance) -> str:
        """Which nodes there are, and whether they are ready."""
        template = "jsonpath={range .items[*]}{.metadata.name} {.status.conditions[-1:].type}{end}"
        told = cluster_part.of(instance).try_kubectl("get", "nodes", "-o", template, seconds=10)
        return told.stdout or f"not ready: {told.stderr.strip()}"


def start(instance: Instance, progress: Progress) -> Node | GivenNode:
    """The instance's node, started if it does not run."""
    folder = instance.folder / "cluster"
    if folder.exists() and not (instance.folder / "node").exists():
        raise TestbedError(f"the instance {instance.name!r} has a cluster without a node: end that first")
    folder.mkdir(exist_ok=True)
    source = sources.find(progress)
    if isinstance(source, sources.Binaries):
        started: Node | GivenNode = Node.start(instance, progress)
    else:
        (instance.folder / "node").mkdir(exist_ok=True)
        name = kind.name_of(instance) if isinstance(source, sources.Kind) else None
        started = GivenNode(cluster_part.start(instance, progress), name)
    cluster_part.keep(instance, started.cluster)
    return started
