"""The identity of a process whose pid is recorded: the kernel reuses pids, so a pid alone must not get a signal."""

import os
import select
import signal
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Self

# A killed process may be in the kernel for a moment, a large one for longer.
_END_SECONDS = 10


@cache
def _pid_namespace() -> str:
    """Return this boot and pid namespace: in another one the same pid is another process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def _start_ticks(pid: int) -> int | None:
    """Return the start of the process in clock ticks since boot; None if there is none or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the name before may hold blanks and brackets
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process: pid, start time, boot and pid namespace together are never used twice."""

    pid: int
    start_ticks: int
    world: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Return the identity of the process that has this pid now; None if none has."""
        ticks = _start_ticks(pid)
        return None if ticks is None else cls(pid, ticks, _pid_namespace())

    @classmethod
    def from_record(cls, record: dict[str, object]) -> Self:
        """Return the identity of a record that `to_record` created."""
        return cls(int(str(record["pid"])), int(str(record["start_ticks"])), str(record["world"]))

    def to_record(self) -> dict[str, object]:
        return asdict(self)

    def alive(self) -> bool:
        """Return True if this process still runs. A zombie does not."""
        return self.world == _pid_namespace() and _start_ticks(self.pid) == self.start_ticks

    def kill(self) -> bool:
        """Kill -9 this process, never another one, and wait for its end. Return False if it is gone."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive():  # after the descriptor is open, the pid cannot be reused
                return False
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            ended.poll(_END_SECONDS * 1000)
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)
        return True
