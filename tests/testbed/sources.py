"""Where a cluster comes from: the first that this machine has."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from testbed.build import Recipe, build
from testbed.errors import TestbedError
from testbed.progress import Progress

KUBERNETES = "1.34.4"
_KUBERNETES = Path(__file__).parent / "controlplane"
_NEEDED = ("etcd", "kube-apiserver", "kubectl")


@dataclass(frozen=True, slots=True)
class External:
    """A cluster that somebody else runs, reached by an explicit kubeconfig.

    `webhook_host` is the address at which its API server reaches this machine, if its owner told it.
    """

    kubeconfig: Path
    webhook_host: str | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A cluster in containers, made by the `kind` program."""

    program: Path


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with etcd, kube-apiserver and kubectl, and kube-controller-manager if it is there."""

    folder: Path

    @property
    def kubectl(self) -> Path:
        """The kubectl that belongs to the server."""
        return self.folder / "kubectl"


Source = External | Kind | Binaries


def recipe() -> Recipe:
    """The control plane as this project pins it."""
    programs = {
        "etcd": "go.etcd.io/etcd/server/v3",
        **_commands("kube-apiserver", "kubectl", "kube-controller-manager"),
    }
    return Recipe("controlplane", _KUBERNETES, programs, _linker_flags())


def node_recipes() -> tuple[Recipe, Recipe]:
    """What a node has beyond that, as this project pins it: of Kubernetes, and a DNS server with what holds pods."""
    programs = _commands("kubelet", "kube-proxy", "kube-scheduler")
    kubernetes = Recipe("node", _KUBERNETES, programs, _linker_flags())
    return kubernetes, Recipe("node", _KUBERNETES.with_name("node"), {"coredns": "./dns", "pause": "./pause"}, "-s -w")


def _commands(*names: str) -> dict[str, str]:
    return {name: f"k8s.io/kubernetes/cmd/{name}" for name in names}


def _linker_flags() -> str:
    major, minor, _ = KUBERNETES.split(".")
    flags = ["-s", "-w"]
    for package in (
        "k8s.io/component-base/version",
        "k8s.io/client-go/pkg/version",
    ):  # else the server says v0.0.0-master
        told = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor, "gitCommit": "unknown"}
        flags += [f"-X {package}.{key}={value}" for key, value in {**told, "gitTreeState": "clean"}.items()]
    return " ".join(flags)


def find(progress: Progress) -> Source:
    """Where clusters come from here, programs built if need be; SourceMissingError when from nowhere."""
    explicit = os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG")
    if explicit:
        webhook_host = os.environ.get("TOPICSCHEMA_TEST_WEBHOOK_HOST") or None
        return External(_existing(Path(explicit), "TOPICSCHEMA_TEST_KUBECONFIG"), webhook_host)
    kind = shutil.which("kind")
    if kind is not None and docker_answers():
        return Kind(Path(kind))
    return binaries(progress)


def binaries(progress: Progress) -> Binaries:
    """The programs of a control plane of our own: those of KUBEBUILDER_ASSETS, else built ones."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        return Binaries(build(recipe(), progress))
    folder = _existing(Path(assets), "KUBEBUILDER_ASSETS").absolute()
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise TestbedError(f"KUBEBUILDER_ASSETS={folder} lacks {', '.join(missing)}")
    return Binaries(folder)


def kubectl(progress: Progress) -> Path:
    """A kubectl for a cluster that is not ours: the one on the PATH, else the pinned one."""
    present = shutil.which("kubectl")
    return Path(present) if present else binaries(progress).kubectl


def docker_answers() -> bool:
    """Whether a container engine answers within 10 s."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    try:
        told = subprocess.run([docker, "info"], capture_output=True, check=False, timeout=10)
    except subprocess.TimeoutExpired:
        return False
    return told.returncode == 0


def _existing(path: Path, variable: str) -> Path:
    if not path.exists():
        raise TestbedError(f"{variable} names {path}, which does not exist")
    return path
