"""Which process a recorded pid meant: pids come back, so a pid alone is never reason enough to send a signal."""

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
def _world() -> str:
    """This boot and pid namespace: outside of it the same pid is another process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def _start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when there is none or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the name before may hold blanks and brackets
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, for good: pid, start time, boot and pid namespace together are never used twice."""

    pid: int
    start_ticks: int
    world: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The identity of the process that has this pid now; None when none has."""
        ticks = _start_ticks(pid)
        return None if ticks is None else cls(pid, ticks, _world())

    @classmethod
    def from_record(cls, record: dict[str, object]) -> Self:
        """The identity that `record` (made by `to_record`, read back from JSON) tells of."""
        return cls(int(str(record["pid"])), int(str(record["start_ticks"])), str(record["world"]))

    def to_record(self) -> dict[str, object]:
        """The identity as JSON takes it."""
        return asdict(self)

    def alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        return self.world == _world() and _start_ticks(self.pid) == self.start_ticks

    def kill(self) -> bool:
        """Kill -9 this very process and wait for its end; False when it is gone, and no other process is ever hit."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive():  # asked after the descriptor was taken: from here on the pid cannot change hands
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
