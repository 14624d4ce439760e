"""Building pinned Go programs into the cache: once per go.mod, go.sum and source, however many ask at a time."""

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
"""Makes one program: its package, the file to write, where to tell how far it is."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to build: a folder with go.mod and go.sum, the programs (file name -> package), the linker's flags."""

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
        """Where the programs are, or will be."""
        return paths.cache() / self.name / self.key

    def missing(self) -> list[str]:
        """The programs that are not built yet."""
        return [name for name in self.programs if not (self.folder / name).is_file()]


def build(
    recipe: Recipe, progress: Progress, compile_one: Compile | None = None, without: Collection[str] = ()
) -> Path:
    """The folder of the built programs, `without` some; what an interrupted build made is kept.

    Of several callers at once one builds and the others wait. Each program appears whole or not at all.
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
                progress.say(f"building {name} ({position} of {len(missing)})")
                _build_one(recipe, name, compile_one, progress)
    return recipe.folder


def _build_one(recipe: Recipe, name: str, compile_one: Compile, progress: Progress) -> None:
    for leftover in recipe.folder.glob(f".{name}.*"):
        leftover.unlink(missing_ok=True)
    temporary = recipe.folder / f".{name}.{os.getpid()}"  # a compiler that outlived its killed builder writes elsewhere
    started = time.monotonic()
    compile_one(recipe.programs[name], temporary, progress)
    temporary.replace(recipe.folder / name)
    progress.say(f"  {name} built in {time.monotonic() - started:.0f} s")


@contextlib.contextmanager
def alone(lock: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock; the kernel gives it back when the holder dies."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another process builds this: waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def go_compiler(recipe: Recipe, progress: Progress) -> Compile:
    """The real compiler: `go build` with the recipe's flags, counting packages as they are compiled."""
    go = golang.find(golang.needed(recipe.module / "go.mod"), progress)

    def compile_one(package: str, target: Path, told: Progress) -> None:
        total = _package_count(go, recipe.module, package, told)
        flags = ["-mod=readonly", "-trimpath", _NO_DEBUG_INFORMATION, "-ldflags", recipe.linker_flags, "-v"]
        done = 0
        for line in _lines([str(go), "build", *flags, "-o", str(target), package], recipe.module):
            done += not line.startswith("go: ")
            told.step(f"  {package}: {done} packages compiled, of at most {total}")

    return compile_one


def _package_count(go: Path, module: Path, package: str, progress: Progress) -> int:
    """How many packages the program consists of; downloads the modules that are not here yet."""
    count = 0
    for line in _lines([str(go), "list", "-mod=readonly", "-deps", package], module):
        if line.startswith("go: downloading"):
            progress.step(f"  {line.strip()}")
        count += not line.startswith("go: ")
    return count


def _lines(command: Sequence[str], folder: Path) -> Iterator[str]:
    """The command's output, line by line; TestbedError with its last lines when it fails."""
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
