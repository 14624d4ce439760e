"""The life of programs: real processes, no cluster."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import instances, paths
from testbed.identity import ProcessIdentity
from testbed.instances import Instance
from testbed.programs import recorded_processes

_SLEEP = [sys.executable, "-c", "import time; print('awake', flush=True); time.sleep(600)"]
_OWNER = """
import os, sys, time
from testbed.instances import Instance
instance = Instance.owned()
instance.run("sleeper", [sys.executable, "-c", "import time; time.sleep(600)"])
forked = os.fork() if sys.argv[1] == "forking" else None
if forked == 0:
    time.sleep(600)
print(instance.folder, forked, flush=True)
time.sleep(600)
"""


@pytest.fixture
def instance() -> Iterator[Instance]:
    instance = Instance.owned()
    yield instance
    instance.end()


@pytest.fixture
def detached() -> Iterator[Instance]:
    yield Instance.open("mine")
    instances.remove("mine")


def _wait_for_the_end_of(processes: dict[str, ProcessIdentity]) -> None:
    deadline = time.monotonic() + 60
    while any(identity.alive() for identity in processes.values()):
        assert time.monotonic() < deadline, "a process outlived its time"
        time.sleep(0.01)


def test_a_program_gets_no_ambient_variable(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somewhere/else")
    program = instance.run("env", ["/usr/bin/env"], {"OWN": "1"})

    program.wait()

    assert "OWN=1" in program.log_tail()
    assert "KUBECONFIG" not in program.log_tail()


def test_commands_for_the_end_run_in_reverse_order_while_programs_run(detached: Instance, tmp_path: Path) -> None:
    program = detached.run("sleeper", _SLEEP)
    done = tmp_path / "done"
    for name in ("first", "second"):
        line = f"echo {name} >> {done}; kill -0 {program.pid} && echo runs >> {done}"
        detached.supervision.request("at_end", arguments=["sh", "-c", line])

    detached.end()

    assert done.read_text(encoding="ascii").split() == ["second", "runs", "first", "runs"]


@pytest.mark.parametrize("kind", ["alone", "forking"])
def test_the_programs_of_a_killed_owner_end_and_its_folder_is_removed(kind: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER, kind], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder, forked = owner.stdout.readline().split()
        processes = recorded_processes(Path(folder))
        assert processes.keys() == {"", "sleeper"}
        assert all(identity.alive() for identity in processes.values())

        owner.kill()
        _wait_for_the_end_of(processes)

        assert not Path(folder).exists()
        if forked != "None":
            os.kill(int(forked), signal.SIGKILL)


def test_a_process_with_a_pid_of_a_stale_record_is_not_killed(tmp_path: Path) -> None:
    # The record of a killed instance has the pid of this process, but with another start.
    folder = paths.instance("stale")
    folder.mkdir(parents=True)
    record = f'{{"": {{"pid": {os.getpid()}, "start_ticks": 1, "world": "then"}}}}'
    (folder / "supervisor.json").write_text(record, encoding="utf-8")

    assert instances.remove("stale")

    assert not folder.exists()
