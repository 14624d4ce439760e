"""The supervisor process: runs an instance's programs, and ends them with itself.

`python -m testbed.supervisor FOLDER [owned|detached]`. Owned: standard input is a pipe from the owner. When that closes
or the owner is gone, the programs end and the folder is removed. Detached: it ends on request. When the supervisor
itself is killed, the kernel kills its programs (PDEATHSIG, which counts per thread: there is one).

It accepts one JSON request per connection on the socket `control` in the folder and responds with one JSON line;
`testbed.programs` is the client. The processes are recorded in `supervisor.json`, for the next one after a kill -9.
It uses only the standard library: it needs about 15 MB.
"""

import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.identity import ProcessIdentity

RECORD = "supervisor.json"
SOCKET = "control"
_GRACE = 3.0  # seconds; `Supervision.end` documents it
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def _die_with(parent: int) -> None:
    """In the child, before its program starts: let the kernel kill it when its parent dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the line above
        os._exit(1)


class Supervisor:
    """The programs of one instance, by name, in the order of their first start."""

    def __init__(self, folder: Path, *, owned: bool) -> None:
        self.folder = folder
        self.owned = owned
        self.running = True
        self.has_grace = False
        self.programs: dict[str, subprocess.Popen[bytes]] = {}
        self.end_commands: list[list[str]] = []
        self._operations: dict[str, Callable[[dict[str, Any]], Any]] = {
            "start": self.start,
            "signal": self.signal,
            "list": self.list,
            "at_end": self.at_end,
            "end": self.end,
        }

    def respond(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response to one request: `{"result": ...}` or `{"error": ...}`. A bad request raises nothing."""
        try:
            return {"result": self._operations[request["do"]](request)}
        except (KeyError, ValueError, OSError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def start(self, request: dict[str, Any]) -> int:
        """Start the program unless it runs, and return its pid."""
        name = request["name"]
        present = self.programs.get(name)
        if present is not None and present.poll() is None:
            return present.pid
        supervisor = os.getpid()
        with Path(request["log"]).open("ab") as log:
            child = subprocess.Popen(
                request["arguments"],
                env=request["environment"],
                cwd=request["folder"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: _die_with(supervisor),  # noqa: PLW1509 - safe: this process has one thread
            )
        self.programs[name] = child
        self.write_record()
        return child.pid

    def signal(self, request: dict[str, Any]) -> bool:
        """Send the signal to the program's process group. Return False if it does not run."""
        child = self.programs[request["name"]]
        if child.poll() is not None:
            return False
        os.killpg(child.pid, request["signal"])
        return True

    def list(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Return each program's pid and exit status (null while it runs, negative for a signal)."""
        return {name: {"pid": child.pid, "exit_status": child.poll()} for name, child in self.programs.items()}

    def at_end(self, request: dict[str, Any]) -> None:
        """Register a command to run before the instance's programs end, for what is no child process (a container)."""
        self.end_commands.append(request["arguments"])

    def end(self, _request: dict[str, Any]) -> None:
        """Respond to no more requests, end all programs, and end."""
        self.running, self.has_grace = False, True

    def finish(self) -> None:
        """Run the commands of `at_end`, last first, and end all programs: first by SIGTERM if there is time."""
        for arguments in reversed(self.end_commands):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(arguments, check=False, stdin=subprocess.DEVNULL, timeout=120)
        if self.has_grace:
            self._terminate_programs()
        for child in self.programs.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def _terminate_programs(self) -> None:
        """Send the programs SIGTERM, last started first, and wait a moment."""
        for sign in (signal.SIGTERM, signal.SIGCONT):
            for name in reversed(self.programs):
                self.signal({"name": name, "signal": sign})
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and any(child.poll() is None for child in self.programs.values()):
            time.sleep(0.02)

    def write_record(self) -> None:
        """Record the processes for later supervisors."""
        pids = {"": os.getpid()} | {name: child.pid for name, child in self.programs.items()}
        identities = {name: ProcessIdentity.of(pid) for name, pid in pids.items()}
        record = {name: identity.to_record() for name, identity in identities.items() if identity is not None}
        paths.write_atomically(self.folder / RECORD, json.dumps(record))

    def serve(self, listener: socket.socket) -> None:
        """Serve requests until one ends the supervisor, or until the owner is gone."""
        with selectors.DefaultSelector() as selector, _child_exits() as exits:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(exits, selectors.EVENT_READ)
            if self.owned:
                selector.register(sys.stdin, selectors.EVENT_READ)
                owner = os.pidfd_open(os.getppid())  # a fork may hold the pipe
                selector.register(owner, selectors.EVENT_READ, "owner")
            while self.running:
                keys = [key for key, _ in selector.select()]
                ready = [key.fileobj for key in keys]
                if listener in ready:
                    self._serve_one(listener)
                if exits in ready:
                    exits.recv(4096)
                    self.list({})  # reaps ended children
                if sys.stdin in ready or any(key.data == "owner" for key in keys):
                    self.running = False
            self.finish()

    def _serve_one(self, listener: socket.socket) -> None:
        """Accept one connection with one request. Ignore a client that disconnects."""
        with contextlib.suppress(OSError, ValueError):
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as stream:
                connection.settimeout(5)
                stream.write(json.dumps(self.respond(json.loads(stream.readline()))).encode() + b"\n")


@contextlib.contextmanager
def _child_exits() -> Iterator[socket.socket]:
    """Yield a socket that becomes readable when a child exits or the supervisor receives a signal."""
    reader, writer = socket.socketpair()
    writer.settimeout(0)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with reader, writer:
        yield reader


def main() -> None:
    """Run the supervisor of the folder named on the command line."""
    folder, owned = Path(sys.argv[1]), sys.argv[2] == "owned"
    if not owned and os.fork():
        os._exit(0)  # the caller waits for this process; the child has no parent
    supervisor = Supervisor(folder, owned=owned)
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, lambda *_: setattr(supervisor, "running", False))
    with socket.socket(socket.AF_UNIX) as listener:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        (folder / SOCKET).unlink(missing_ok=True)
        listener.bind(f"/proc/self/fd/{directory}/{SOCKET}")  # a socket's own path may be 107 bytes at most
        listener.listen(64)
        supervisor.write_record()
        os.write(1, b"ready\n")
        os.dup2(2, 1)
        supervisor.serve(listener)
    if owned:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
