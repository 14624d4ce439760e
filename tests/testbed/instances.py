"""An instance: a folder, its supervisor, and the programs in it."""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from testbed import paths
from testbed.build import alone
from testbed.programs import Program, Supervision, kill_leftovers, recorded_processes
from testbed.progress import Progress

_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Instance:
    """A running instance: `folder` holds everything that belongs to it."""

    name: str
    folder: Path
    supervision: Supervision

    @classmethod
    def find(cls, name: str) -> Self | None:
        """Return the detached instance of this name if its supervisor responds."""
        folder = paths.instance(name)
        supervision = Supervision.find(folder)
        return None if supervision is None else cls(name, folder, supervision)

    @classmethod
    def open(cls, name: str) -> Self:
        """Return the detached instance of this name. If no supervisor responds, kill leftovers and start one."""
        present = cls.find(name)
        if present is not None:
            return present
        folder = paths.instance(name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        kill_leftovers(folder)
        return cls(name, folder, Supervision.start(folder, owned=False))

    @classmethod
    def owned(cls) -> Self:
        """Start an instance that dies with this process, however that ends."""
        _remove_killed()
        name = f"owned-{os.getpid()}-{secrets.token_hex(3)}"
        folder = paths.instance(name)
        folder.mkdir(parents=True, mode=0o700)
        return cls(name, folder, Supervision.start(folder, owned=True))

    def program(self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Program:
        """Return the program `name`, not started.

        Of this process's environment only PATH, HOME, LANG and TMPDIR are passed on.
        """
        basis = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        return Program(self.supervision, name, arguments, {**basis, **(environment or {})}, logs / f"{name}.log")

    def run(self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Program:
        """Start the program `name` unless it runs, and return it. It ends with the instance."""
        program = self.program(name, arguments, environment)
        program.start()
        return program

    def end(self) -> None:
        self.supervision.end()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock of the instance `name`."""
    folder = paths.instance(name)
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with alone(folder.with_name(f".{name}.lock"), Progress()):
        yield


def remove(name: str) -> bool:
    """End the detached instance `name`, or what a kill -9 left of it; False when there was nothing."""
    instance, folder = Instance.find(name), paths.instance(name)
    if instance is not None:
        instance.end()
        return True
    if not folder.exists():
        return False
    kill_leftovers(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _remove_killed() -> None:
    """Remove the folders of owned instances whose owner and supervisor were both killed."""
    for name in names():
        owner = re.fullmatch(r"owned-(\d+)-[0-9a-f]+", name)
        supervisor = recorded_processes(paths.instance(name)).get("")
        if owner and not Path("/proc", owner[1]).exists() and not (supervisor and supervisor.alive()):
            remove(name)


def names() -> list[str]:
    """Return the names of all instances that have a folder, running or not."""
    folder = paths.instances()
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
