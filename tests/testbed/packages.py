"""Debian's packages that this machine lacks for Docker, for images made of packages, and for a broker."""

import shutil
from collections.abc import Mapping
from typing import Final

DOCKER: Final = {"dockerd": "docker.io", "unshare": "util-linux"}
DEBIAN: Final = {"mmdebstrap": "mmdebstrap"}
BROKER: Final = {"java": "default-jdk-headless", "javac": "default-jdk-headless", "mvn": "maven"}
"""The package of each program."""


def missing(packages: Mapping[str, str]) -> list[str]:
    """Return the packages of the programs that are not here, each once."""
    return list(dict.fromkeys(package for program, package in packages.items() if shutil.which(program) is None))


def install(packages: list[str]) -> str:
    """Return the command that installs them."""
    return f"apt-get install --no-install-recommends {' '.join(packages)}"
