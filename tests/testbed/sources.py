"""The sources of a cluster: the first that this machine has is used."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed import docker, prebuilt
from testbed.build import Recipe, build
from testbed.errors import TestbedError
from testbed.progress import Progress

KUBERNETES = "1.34.4"
KINDEST = "v1.34.0"
"""The tag of kind's own image for its nodes, of the version that this project pins."""
ON_THE_NODE = ("coredns", "pause")
"""The programs of `kind_recipe` that only a node image of our own has."""
_KUBERNETES = Path(__file__).parent / "controlplane"
_NEEDED = ("etcd", "kube-apiserver", "kubectl")
_MANAGER = "kube-controller-manager"


@dataclass(frozen=True, slots=True)
class External:
    """A cluster that the testbed did not start, with an explicit kubeconfig.

    `webhook_host` is the address by which its API server reaches this machine, if it is known.
    """

    kubeconfig: Path
    webhook_host: str | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A cluster in containers, made by the `kind` program (`testbed.kind`)."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with etcd and kube-apiserver, and kube-controller-manager if it is there; and a kubectl."""

    folder: Path
    kubectl: Path


Source = External | Kind | Binaries


def recipe() -> Recipe:
    """Return the build of the pinned control plane."""
    programs = {**_commands("kube-apiserver"), "etcd": "go.etcd.io/etcd/server/v3", **_commands(_MANAGER)}
    return Recipe("controlplane", _KUBERNETES, programs, _linker_flags())


def kubectl_recipe() -> Recipe:
    """Return what makes `kubectl` where no package ships it."""
    return Recipe("kubectl", _KUBERNETES, _commands("kubectl"), _linker_flags())


def kind_recipe() -> Recipe:
    """Return what makes `kind`, and of its node image the DNS server and the program that holds a pod's namespaces."""
    programs = {"kind": "sigs.k8s.io/kind", "coredns": "./dns", "pause": "./pause"}
    return Recipe("kind", _KUBERNETES.with_name("kind"), programs, "-s -w")


def node_recipe() -> Recipe:
    """Return what makes the programs of Kubernetes that a node image has beyond the control plane's."""
    programs = _commands("kubeadm", "kubelet", "kube-proxy", "kube-scheduler")
    return Recipe("node", _KUBERNETES, programs, _linker_flags())


def _commands(*names: str) -> dict[str, str]:
    return {name: f"k8s.io/kubernetes/cmd/{name}" for name in names}


def _linker_flags() -> str:
    major, minor, _ = KUBERNETES.split(".")
    flags = ["-s", "-w"]
    for package in ("component-base/version", "client-go/pkg/version"):  # otherwise the server reports v0.0.0-master
        variables = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor, "gitCommit": "unknown"}
        flags += [f"-X k8s.io/{package}.{key}={value}" for key, value in {**variables, "gitTreeState": "clean"}.items()]
    return " ".join(flags)


def find(progress: Progress, *, manager: bool = True) -> Source:
    """Return the source of clusters on this machine, with its programs built. Raise SourceMissingError without one.

    Without `manager`, no controller-manager is built.
    """
    explicit = os.environ.get("TOPICSCHEMA_TEST_KUBECONFIG")
    if explicit:
        webhook_host = os.environ.get("TOPICSCHEMA_TEST_WEBHOOK_HOST") or None
        return External(_existing(Path(explicit), "TOPICSCHEMA_TEST_KUBECONFIG"), webhook_host)
    if shutil.which("kind") and docker.of_the_machine():
        return Kind()
    return binaries(progress, manager=manager)


def binaries(progress: Progress, *, manager: bool = True) -> Binaries:
    """Return the programs of a control plane: those of KUBEBUILDER_ASSETS, else built ones."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        return Binaries(build(recipe(), progress, without=() if manager else (_MANAGER,)), pinned_kubectl(progress))
    folder = _existing(Path(assets), "KUBEBUILDER_ASSETS").absolute()
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise TestbedError(f"KUBEBUILDER_ASSETS={folder} lacks {', '.join(missing)}")
    return Binaries(folder, folder / "kubectl")


def kubectl(progress: Progress) -> Path:
    """Return a kubectl for an external cluster: the one on the PATH, else the pinned one."""
    present = shutil.which("kubectl")
    return Path(present) if present else pinned_kubectl(progress)


def pinned_kubectl(progress: Progress) -> Path:
    """Return the kubectl of this project: as a package ships it, else built."""
    return prebuilt.program("kubectl", progress) or build(kubectl_recipe(), progress) / "kubectl"


def _existing(path: Path, variable: str) -> Path:
    if not path.exists():
        raise TestbedError(f"{variable} names {path}, which does not exist")
    return path
