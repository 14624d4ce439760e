"""How much memory a program and all that it starts have at most: what Linux keeps of each process, summed up.

What processes share counts for each, and each counts with its own highest mark, whenever that was: the truth is less.
"""

import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

_TICK = 0.02
_MARK = "VmHWM:"


def of_command(command: Sequence[str], statuses: Collection[int] = (0,), given: str = "") -> int:
    """In MiB; the command gets `given` on standard input. RuntimeError where it ends with no such status."""
    marks: dict[int, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        if process.stdin is not None:
            process.stdin.write(given)
            process.stdin.close()
        while process.poll() is None:
            marks |= _below(process.pid)
            time.sleep(_TICK)
    if process.returncode not in statuses:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return sum(marks.values()) // 1024


def _below(program: int) -> Mapping[int, int]:
    """The highest marks (KiB) of a program and of all below it, by process."""
    parents = dict(filter(None, map(_parent, Path("/proc").glob("[0-9]*"))))
    found, waiting = {}, [program]
    while waiting:
        process = waiting.pop()
        found[process] = _mark(process)
        waiting += [below for below, parent in parents.items() if parent == process]
    return {process: mark for process, mark in found.items() if mark}


def _parent(process: Path) -> tuple[int, int] | None:
    """A process and its parent; None where it has ended."""
    try:
        return int(process.name), int((process / "stat").read_text(encoding="latin-1").rpartition(")")[2].split()[1])
    except OSError:
        return None


def _mark(process: int) -> int:
    """0 where it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="latin-1").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(_MARK)), 0)
