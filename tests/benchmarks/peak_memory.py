"""Peak memory of a program and all that it starts: the marks of Linux for each process, summed up.

Shared memory counts for each process, and each counts with its own highest mark, whenever that was: the truth is less.
"""

import subprocess
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from benchmarks.processes import family

_TICK = 0.02
_MARK = "VmHWM:"


def of_command(command: Sequence[str], statuses: Collection[int] = (0,), stdin: str = "") -> int:
    """Return the peak in MiB. The command gets `stdin` on standard input. Raise RuntimeError for another status."""
    marks: dict[int, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        if process.stdin is not None:
            process.stdin.write(stdin)
            process.stdin.close()
        while process.poll() is None:
            marks |= {each: mark for each in family(process.pid) if (mark := mark(each))}
            time.sleep(_TICK)
    if process.returncode not in statuses:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return sum(marks.values()) // 1024


def mark(process: int) -> int:
    """Return the highest mark of a process, 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="latin-1").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(_MARK)), 0)
