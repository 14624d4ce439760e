"""Processor time of programs, for machines with other work: there wall time misleads."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _FIRST, _BEHIND = 1, 11, 15
"""The fields of /proc/PID/stat behind the program's name: its parent, and its own times and those of ended children."""


def seconds(program: int) -> float:
    """Return the processor time of the program and all below it so far."""
    processes = dict(filter(None, map(_read, Path("/proc").glob("[0-9]*/stat"))))
    below: dict[int, list[int]] = {}
    for process, (parent, _) in processes.items():
        below.setdefault(parent, []).append(process)
    taken, waiting = 0, [program]
    while waiting:
        process = waiting.pop()
        taken += processes[process][1] if process in processes else 0
        waiting += below.get(process, [])
    return taken / _TICKS


def _read(stat: Path) -> tuple[int, tuple[int, int]] | None:
    """Return a process, its parent and its ticks, or None if it has ended."""
    try:
        fields = stat.read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return None
    return int(stat.parent.name), (int(fields[_PARENT]), sum(map(int, fields[_FIRST:_BEHIND])))
