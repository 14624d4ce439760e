"""Debian's packages that this machine lacks for a node of our own, for images and for a broker of our own."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PLUGINS: Final = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
"""The folders of CNI's plugins: of Debian's package, and of everybody else."""
NODE: Final = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "mount": "mount",
    "nft": "nftables",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
IMAGES: Final = {"buildah": "buildah", "mmdebstrap": "mmdebstrap"}
BROKER: Final = {"java": "default-jdk-headless", "javac": "default-jdk-headless", "mvn": "maven"}
"""The package of each program."""


def missing(packages: Mapping[str, str]) -> list[str]:
    """The packages of the programs that are not here, each once; for NODE also that of CNI's plugins."""
    found = [package for program, package in packages.items() if shutil.which(program) is None]
    if packages is NODE and not any((folder / "bridge").exists() for folder in PLUGINS):
        found.append("containernetworking-plugins")
    return list(dict.fromkeys(found))


def install(packages: list[str]) -> str:
    """The command that installs them."""
    return f"apt-get install --no-install-recommends {' '.join(packages)}"
