"""The control groups of a node's pods: one of that name in every hierarchy, made before the kubelet and removed last.

`python -m testbed.node_cgroups NAME` removes them; standard library only, as the supervisor runs it.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_MOUNTED = Path("/sys/fs/cgroup")
_PREFIX = "topicschema-"
_PATIENCE = 60.0  # seconds that the kernel may need to let go of killed processes


def name_of(instance: str) -> str:
    """The control group of the instance's node."""
    return f"{_PREFIX}{instance}"


def create(name: str) -> None:
    """Make the group in every hierarchy; OSError where this process may not."""
    for hierarchy in _hierarchies():
        (hierarchy / name).mkdir(exist_ok=True)


def remove(name: str) -> None:
    """Remove the group and all below it, once what was in it has ended; what still runs is left alone."""
    deadline = time.monotonic() + _PATIENCE
    while _present(name) and time.monotonic() < deadline:
        for group in _present(name):
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        if _present(name):
            time.sleep(0.1)


def leftovers() -> set[str]:
    """The instances whose nodes have control groups here."""
    return {found.name.removeprefix(_PREFIX) for place in _hierarchies() for found in place.glob(f"{_PREFIX}*")}


def _present(name: str) -> list[Path]:
    return [hierarchy / name for hierarchy in _hierarchies() if (hierarchy / name).is_dir()]


def _hierarchies() -> Iterator[Path]:
    """The one hierarchy of cgroup v2, or each of v1 (and its hybrid)."""
    if (_MOUNTED / "cgroup.controllers").exists():
        yield _MOUNTED
        return
    for entry in sorted(_MOUNTED.iterdir()) if _MOUNTED.is_dir() else []:
        if not entry.is_symlink() and (entry / "cgroup.procs").exists():
            yield entry


if __name__ == "__main__":
    remove(sys.argv[1])
