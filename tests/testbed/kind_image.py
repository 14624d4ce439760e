"""The image of kind's nodes: kindest/node if that can be pulled, else one made of packages, which Docker stores.

The own image has the files of kind's module, installed as by its Dockerfile, on Debian's packages, and the pinned
Kubernetes. Only the network differs: a file configures CNI's plugins, not kindnet.
"""

import hashlib
import json
import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from testbed import debian, golang, packages, paths, sources
from testbed.build import Recipe, alone, build
from testbed.docker import Docker, run_in
from testbed.errors import SourceMissingError
from testbed.progress import Progress

PULLED: Final = f"kindest/node:{sources.KINDEST}"
_OWN: Final = "topicschema-node"
_FOLDER = Path(__file__).parent / "kind"
_SYSTEM = ("systemd-sysv", "dbus", "kmod", "procps", "util-linux", "mount", "ca-certificates", "jq")
_NETWORK = ("iptables", "nftables", "conntrack", "iproute2", "ethtool", "socat")
_CONTAINERS = ("containerd", "runc", "containernetworking-plugins")
_ON_THE_NODE = ("kubeadm", "kubelet", "kubectl")
_PLACES = ("", "usr/local/bin/")
_PRELOAD = """
containerd > /dev/null 2>&1 &
until ctr version > /dev/null 2>&1; do sleep 0.1; done
ctr --namespace k8s.io images import --all-platforms --no-unpack --digests /images/images.tar
kill $!
wait
"""
_START = 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]'


def ensure(docker: Docker, progress: Progress) -> str:
    """Return the name of an image that Docker has then; SourceMissingError where none can be had."""
    own = f"{_OWN}:{_key()}"
    with alone(paths.cache() / "kind.lock", progress):
        if docker.has_image(own):
            return own
        if docker.has_image(PULLED) or docker.pull(PULLED, progress):
            return PULLED
        if lacking := packages.supply(packages.DEBIAN, progress):
            why = f"{PULLED} cannot be pulled, and to build a node's image takes packages"
            raise SourceMissingError(f"{why} ({packages.install(lacking)})")
        _build(docker, own, progress)
    return own


def _key() -> str:
    """Return 16 hex digits that change when anything does that goes into the own image."""
    digest = hashlib.sha256(repr((_SYSTEM, _NETWORK, _CONTAINERS, debian.SUITE)).encode())
    for recipe in _recipes():
        digest.update(recipe.key.encode())
    files = (each for each in (_FOLDER / "files").rglob("*") if each.is_file())
    for file in (_FOLDER / "furnish.sh", *sorted(files)):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _recipes() -> tuple[Recipe, ...]:
    return sources.recipe(), sources.node_recipe(), sources.kind_recipe()


def _build(docker: Docker, name: str, progress: Progress) -> None:
    programs = {each: build(recipe, progress) / each for recipe in _recipes() for each in recipe.programs}
    programs["kubectl"] = sources.pinned_kubectl(progress)
    progress.write(f"{PULLED} cannot be pulled: making a node's image from packages, some minutes")
    images = _images_of_kubernetes(programs["kubeadm"])
    with tempfile.TemporaryDirectory(dir=paths.cache()) as temporary:
        folder = Path(temporary)
        files = _stage(folder / "files", {each: programs[each] for each in _ON_THE_NODE})
        furnish = f'chroot "$1" sh /kind/furnish.sh {images["pause"]}'
        _import(docker, folder, f"{_OWN}:base", (*_SYSTEM, *_NETWORK, *_CONTAINERS), (f"sync-in {files} /", furnish))
        copied = f"copy-in {programs['kube-proxy']} /usr/local/bin"
        _import(docker, folder, images["kube-proxy"], _NETWORK, (copied,))
        for each, image in images.items():
            if each != "kube-proxy":
                _import_program(docker, folder, image, programs[each])
        docker.run("save", "--output", folder / "images.tar", *images.values())
        _commit(docker, folder, name)
    present = docker.run("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", _OWN).split()
    docker.run("rmi", *images.values(), *(each for each in present if each != name))


def _images_of_kubernetes(kubeadm: Path) -> dict[str, str]:
    """Return the full names of the images that kubeadm starts, by the program in each."""
    listed = run_in({}, kubeadm, "config", "images", "list", "--kubernetes-version", f"v{sources.KUBERNETES}")
    return {each.rpartition("/")[2].partition(":")[0]: each for each in listed.split()}


def _stage(folder: Path, programs: Mapping[str, Path]) -> Path:
    """Write the files of a node beyond Debian's: those of kind's module, ours over them, and programs."""
    for source in (_module() / "images" / "base" / "files", _FOLDER / "files"):
        shutil.copytree(source, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    shutil.copyfile(_FOLDER / "furnish.sh", folder / "kind" / "furnish.sh")
    (folder / "kind" / "version").write_text(f"v{sources.KUBERNETES}", encoding="ascii")
    (folder / "usr" / "bin").mkdir()
    for each, program in programs.items():
        shutil.copyfile(program, folder / "usr" / "bin" / each)
    for file in folder.rglob("*"):
        file.chmod(0o755 if file.is_dir() or file.parent.name == "bin" else 0o644)
    return folder


def _module() -> Path:
    recipe = sources.kind_recipe()
    go = golang.find(golang.needed(recipe.module / "go.mod"), Progress())
    output = run_in(golang.environment(), go, "-C", recipe.module, "mod", "download", "-json", "sigs.k8s.io/kind")
    return Path(json.loads(output)["Dir"])


def _import(docker: Docker, folder: Path, image: str, debian_packages: Sequence[str], hooks: Sequence[str]) -> None:
    """Import a Debian with the packages, after the hooks, as an image."""
    archive = folder / "root.tar"
    debian.write(archive, debian_packages, hooks)
    docker.run("import", "--change", "ENV container=docker", archive, image)
    archive.unlink()


def _import_program(docker: Docker, folder: Path, image: str, program: Path) -> None:
    """Import an image with only a program, at the paths of kubeadm's manifests."""
    archive = folder / "program.tar"
    with tarfile.open(archive, "w") as written:
        for place in _PLACES:
            written.add(program, f"{place}{program.name}")
    docker.run("import", "--change", f'ENTRYPOINT ["/{program.name}"]', archive, image)


def _commit(docker: Docker, folder: Path, name: str) -> None:
    """Import the images into the containerd of a container of the base, and commit it as an image."""
    mounted = f"type=bind,source={folder},target=/images,readonly"
    started = ("run", "--detach", "--network=none", "--security-opt=seccomp=unconfined", f"--mount={mounted}")
    container = docker.run(*started, "--entrypoint=sleep", f"{_OWN}:base", "infinity").strip()
    try:
        docker.run("exec", container, "sh", "-euc", _PRELOAD)
        docker.run("commit", "--change", _START, "--change", "CMD []", container, name)
    finally:
        docker.run("rm", "--force", "--volumes", container)
