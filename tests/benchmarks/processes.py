"""A program with all that it started, and their processor time: with other work on the machine, wall time misleads."""

import contextlib
import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _FIRST, _BEHIND = 1, 11, 15
"""The fields of /proc/PID/stat behind the program's name: its parent, and its own times and those of ended children."""


def family(program: int) -> dict[int, list[str]]:
    """Return the process of the program and all below it, with their fields behind the name."""
    fields: dict[int, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields[int(stat.parent.name)] = stat.read_text(encoding="latin-1").rpartition(")")[2].split()
    processes = [program]
    for process in processes:
        processes += [each for each, of in fields.items() if int(of[_PARENT]) == process]
    return {process: fields[process] for process in processes if process in fields}


def cpu_seconds(program: int) -> float:
    """Return the processor time of the program and all below it so far."""
    return sum(sum(map(int, fields[_FIRST:_BEHIND])) for fields in family(program).values()) / _TICKS
