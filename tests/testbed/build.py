"""Builds pinned Go programs into the cache: once per go.mod, go.sum and source, whatever the number of callers."""

import contextlib
import fcntl
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed import golang, paths
from testbed.errors import TestbedError
from testbed.progress import Progress

_NO_DEBUG_INFORMATION: Final = "-gcflags=all=-dwarf=false"  # the linker's -s drops it anyway
Compile = Callable[[str, Path, Progress], None]
"""A function that builds one program from its package into a file and reports its progress."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The input of a build: a folder with go.mod and go.sum, the programs (file name -> package), linker flags."""

    name: str
    module: Path
    programs: dict[str, str]
    linker_flags: str

    @property
    def key(self) -> str:
        """16 hex digits that change when anything does that goes into the programs."""
        digest = hashlib.sha256()
        sources = sorted(self.module.rglob("*.go"))
        for part in (self.module / "go.mod", self.module / "go.sum", *sources):
            digest.update(hashlib.sha256(part.read_bytes()).digest())
        digest.update(repr((sorted(self.programs.items()), self.linker_flags)).encode())
        return digest.hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """The folder of the programs, which need not exist."""
        return paths.cache() / self.name / self.key

    def missing(self) -> list[str]:
        """Return the programs that are not built yet."""
        return [name for name in self.programs if not (self.folder / name).is_file()]


def build(
    recipe: Recipe, progress: Progress, compile_one: Compile | None = None, without: Collection[str] = ()
) -> Path:
    """Build the programs, `without` some, and return their folder. An interrupted build continues.

    Of several callers at once, one builds and the others wait. Each program appears whole or not at all.
    """
    if not set(recipe.missing()).difference(without):
        return recipe.folder
    recipe.folder.mkdir(parents=True, exist_ok=True)
    with alone(recipe.folder.with_suffix(".lock"), progress):
        missing = [name for name in recipe.missing() if name not in without]
        if missing and compile_one is None:
            compile_one = go_compiler(recipe, progress)
        for position, name in enumerate(missing, 1):
            if compile_one is not None:
                progress.write(f"building {name} ({position} of {len(missing)})")
                _build_one(recipe, name, compile_one, progress)
    return recipe.folder


def _build_one(recipe: Recipe, name: str, compile_one: Compile, progress: Progress) -> None:
    for leftover in recipe.folder.glob(f".{name}.*"):
        leftover.unlink(missing_ok=True)
    temporary = recipe.folder / f".{name}.{os.getpid()}"  # a compiler that outlived its killed builder writes elsewhere
    started = time.monotonic()
    compile_one(recipe.programs[name], temporary, progress)
    temporary.replace(recipe.folder / name)
    progress.write(f"  {name} built in {time.monotonic() - started:.0f} s")


@contextlib.contextmanager
def alone(lock: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock. The kernel releases it when the holder dies."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.write("another process does this: waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_once(target: Path, make: Callable[[], object], progress: Progress) -> Path:
    """Return the file or folder. If it does not exist, one of several callers at once makes it, the others wait."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone(target.with_suffix(".lock"), progress):
            if not target.exists():
                make()
    return target


def go_compiler(recipe: Recipe, progress: Progress) -> Compile:
    """Return a compiler that runs `go build` with the recipe's flags and counts the compiled packages."""
    go = golang.find(golang.needed(recipe.module / "go.mod"), progress)

    def compile_one(package: str, target: Path, progress: Progress) -> None:
        total = _package_count(go, recipe.module, package, progress)
        flags = ["-mod=readonly", "-trimpath", _NO_DEBUG_INFORMATION, "-ldflags", recipe.linker_flags, "-v"]
        done = 0
        for line in _lines([str(go), "build", *flags, "-o", str(target), package], recipe.module):
            done += not line.startswith("go: ")
            progress.step(f"  {package}: {done} packages compiled, of at most {total}")

    return compile_one


def _package_count(go: Path, module: Path, package: str, progress: Progress) -> int:
    """Return the number of the program's packages. Download missing modules."""
    count = 0
    for line in _lines([str(go), "list", "-mod=readonly", "-deps", package], module):
        if line.startswith("go: downloading"):
            progress.step(f"  {line.strip()}")
        count += not line.startswith("go: ")
    return count


def _lines(command: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield the lines of the command's output. Raise TestbedError with the last ones if it fails."""
    last: list[str] = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=golang.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            last = [*last[-19:], line]
            yield line
    if process.returncode:
        raise TestbedError(f"{os.path.basename(command[0])} {command[1]} failed:\n{''.join(last)}")  # noqa: PTH119 - text
