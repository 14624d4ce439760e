"""The caller's side of the supervisor: start it or find it, and the programs it keeps."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from testbed.errors import TestbedError
from testbed.identity import ProcessIdentity
from testbed.supervisor import RECORD, SOCKET

_SILENT_SECONDS = 8.0  # longer than the supervisor takes to end its programs; after that it is ended itself
_BUSY_SECONDS = 60.0


@contextlib.contextmanager
def _connected(folder: Path, seconds: float) -> Iterator[socket.socket]:
    """Connect to the supervisor of the folder. Raise OSError if none responds."""
    with socket.socket(socket.AF_UNIX) as connection:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            connection.settimeout(seconds)
            connection.connect(f"/proc/self/fd/{directory}/{SOCKET}")
        finally:
            os.close(directory)
        yield connection


@dataclass(slots=True)
class Supervision:
    """A supervisor that answers; of an owned one, also the pipe whose closing ends it."""

    folder: Path
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @classmethod
    def start(cls, folder: Path, *, owned: bool) -> Self:
        """Start a supervisor for the folder: owned, it dies with this process; else it stays."""
        kind = "owned" if owned else "detached"
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        with (folder / "supervisor.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "testbed.supervisor", str(folder), kind],
                env=environment,
                stdin=subprocess.PIPE if owned else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                cwd="/",
            )
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            process.kill()
            process.communicate()
            raise TestbedError(f"the supervisor did not start: see {folder / 'supervisor.log'}")
        process.stdout.close()
        if owned:
            return cls(folder, process)
        process.wait()
        return cls(folder)

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """Return the supervisor of the folder if one responds."""
        try:
            with _connected(folder, _SILENT_SECONDS):
                return cls(folder)
        except OSError:
            return None

    def request(self, do: str, **details: Any) -> Any:
        """Send the request `do` and return the result. Raise TestbedError with the supervisor's error if it fails."""
        try:
            with (
                _connected(self.folder, _SILENT_SECONDS if do == "end" else _BUSY_SECONDS) as connection,
                connection.makefile("rwb") as stream,
            ):
                stream.write(json.dumps({"do": do, **details}).encode() + b"\n")
                stream.flush()
                answer = json.loads(stream.readline() or b"{}")
        except OSError as error:
            raise TestbedError(f"the supervisor in {self.folder} does not answer: {error}") from error
        if "result" not in answer:
            raise TestbedError(f"the supervisor in {self.folder}: {answer.get('error', 'no answer')}")
        return answer["result"]

    def end(self) -> None:
        """End all programs and the supervisor, and wait until it is gone.

        Detached: programs get SIGTERM and are killed 3 s later. Owned: they are killed, as when the owner dies.
        """
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
            return
        identity = recorded_processes(self.folder).get("")
        try:
            self.request("end")
        except TestbedError:  # paused, or killed
            kill_leftovers(self.folder)
        while identity is not None and identity.alive():
            time.sleep(0.02)


def recorded_processes(folder: Path) -> dict[str, ProcessIdentity]:
    """Return the recorded processes of the folder's last supervisor, itself under the empty name; alive or not."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return {name: ProcessIdentity.from_record(entry) for name, entry in record.items()}
    except (OSError, ValueError, KeyError):
        return {}


def kill_leftovers(folder: Path) -> None:
    """Kill the remaining processes of an earlier supervisor that does not respond, and nothing else."""
    for identity in recorded_processes(folder).values():
        identity.kill()


@dataclass(frozen=True, slots=True)
class Program:
    """One program under the supervisor: its command, and operations on it."""

    supervision: Supervision = field(repr=False)
    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    log: Path

    def start(self) -> int:
        """Start the program unless it runs, and return its pid."""
        pid: int = self.supervision.request(
            "start",
            name=self.name,
            arguments=[str(argument) for argument in self.arguments],
            environment=dict(self.environment),
            log=str(self.log),
            folder=str(self.log.parent),
        )
        return pid

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.supervision.request("list").get(self.name, {"pid": None, "exit_status": None})
        return state

    @property
    def pid(self) -> int | None:
        """The pid while it runs, else None."""
        state = self._state()
        return state["pid"] if state["exit_status"] is None else None

    @property
    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs or before it was started."""
        status: int | None = self._state()["exit_status"]
        return status

    def send(self, sign: signal.Signals) -> None:
        """Send a signal; do nothing if the program does not run."""
        self.supervision.request("signal", name=self.name, signal=int(sign))

    def kill(self) -> int:
        """Kill -9 the program and wait until it is gone."""
        self.send(signal.SIGKILL)
        return self.wait()

    def terminate(self, seconds: float = 120) -> int:
        """Send SIGTERM and return the exit status. Raise TestbedError if it still runs after that many seconds."""
        self.send(signal.SIGTERM)
        return self.wait(seconds)

    def pause(self) -> None:
        """Stop the program (SIGSTOP): connections stay open, nothing responds."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the program after `pause`."""
        self.send(signal.SIGCONT)

    def wait(self, seconds: float = 120) -> int:
        """Return the exit status once it has ended. Raise TestbedError if it still runs after that many seconds."""
        deadline = time.monotonic() + seconds
        while (state := self._state())["exit_status"] is None and state["pid"] is not None:
            if time.monotonic() > deadline:
                raise TestbedError(f"{self.name} still runs after {seconds:.0f} s")
            time.sleep(0.02)
        return int(state["exit_status"] or 0)

    def log_tail(self, size: int = 3000) -> str:
        try:
            return self.log.read_bytes()[-size:].decode("utf-8", errors="replace")
        except OSError:
            return ""
