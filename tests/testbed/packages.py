"""Debian's packages that this machine lacks for Docker, for images made of packages, and for a broker."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

from testbed import paths
from testbed.build import alone
from testbed.progress import Progress

DOCKER: Final = {"dockerd": "docker.io", "unshare": "util-linux"}
DEBIAN: Final = {"mmdebstrap": "mmdebstrap"}
SPARK: Final = {"java": "default-jdk-headless"}
JAVA: Final = {**SPARK, "javac": "default-jdk-headless", "mvn": "maven"}
SHELL: Final = {"curl": "curl", "jq": "jq"}
"""The package of each program."""


def missing(packages: Mapping[str, str]) -> list[str]:
    """Return the packages of the programs that are not here, each once."""
    return list(dict.fromkeys(package for program, package in packages.items() if shutil.which(program) is None))


def install(packages: list[str]) -> str:
    """Return the command that installs them."""
    return f"apt-get install --no-install-recommends {' '.join(packages)}"


def supply(packages: Mapping[str, str], progress: Progress) -> list[str]:
    """Install what is not here, if this is root on a Debian; return the packages that are missing then."""
    if missing(packages) and os.geteuid() == 0 and shutil.which("apt-get"):
        paths.cache().mkdir(parents=True, exist_ok=True)
        with alone(paths.cache() / "packages.lock", progress):
            if lacking := missing(packages):
                progress.write(f"installing Debian's packages {' '.join(lacking)}")
                _run("apt-get", "update", "--quiet")
                _run("apt-get", "install", "--quiet", "--yes", "--no-install-recommends", *lacking)
    return missing(packages)


def _run(*command: str) -> None:
    """Run the command; if it fails, the packages stay missing."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
