"""Programs live as long as they should, and not longer. Real processes, no cluster."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import instances, paths
from testbed.errors import TestbedError
from testbed.identity import ProcessIdentity
from testbed.instances import Instance
from testbed.programs import recorded

_SLEEP = [sys.executable, "-c", "import time; print('awake', flush=True); time.sleep(600)"]
_STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('awake', flush=True); time.sleep(600)",
]
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


def _wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or text not in path.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline, f"{text} never came"
        time.sleep(0.01)


def _wait_for_the_end_of(processes: dict[str, ProcessIdentity]) -> None:
    deadline = time.monotonic() + 60
    while any(identity.alive() for identity in processes.values()):
        assert time.monotonic() < deadline, "a process outlived its time"
        time.sleep(0.01)


def test_a_programs_words_go_to_its_log_and_its_exit_status_is_kept(instance: Instance) -> None:
    program = instance.run("speaker", ["/bin/sh", "-c", "echo $WORD; echo broken >&2; exit 7"], {"WORD": "hello"})

    assert program.wait() == 7
    assert program.exit_status == 7
    assert program.pid is None
    assert program.log_tail() == "hello\nbroken\n"


def test_a_program_gets_no_ambient_variable(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somewhere/else")
    program = instance.run("env", ["/usr/bin/env"], {"OWN": "1"})

    program.wait()

    assert "OWN=1" in program.log_tail()
    assert "KUBECONFIG" not in program.log_tail()


def test_a_running_program_is_not_started_twice(instance: Instance) -> None:
    program = instance.run("sleeper", _SLEEP)
    assert instance.run("sleeper", _SLEEP).pid == program.pid


def test_a_killed_program_can_be_started_again(instance: Instance) -> None:
    program = instance.run("sleeper", _SLEEP)
    first = program.pid

    assert program.kill() == -signal.SIGKILL
    assert program.exit_status == -signal.SIGKILL
    program.start()

    assert program.pid not in (None, first)
    assert program.exit_status is None


def test_a_program_that_will_not_end_is_told_of(instance: Instance) -> None:
    program = instance.run("stubborn", _STUBBORN)
    _wait_for(program.log, "awake")

    with pytest.raises(TestbedError, match="stubborn still runs"):
        program.terminate(seconds=0.1)


def test_a_program_that_does_not_exist_is_an_error_and_the_supervisor_goes_on(instance: Instance) -> None:
    with pytest.raises(TestbedError, match="FileNotFoundError"):
        instance.run("nothing", ["/no/such/program"])

    assert instance.run("sleeper", _SLEEP).pid is not None


def test_ending_an_instance_ends_even_the_stubborn_and_leaves_no_folder(detached: Instance) -> None:
    program = detached.run("stubborn", _STUBBORN)
    _wait_for(program.log, "awake")
    processes = recorded(detached.folder)

    detached.end()

    assert not any(identity.alive() for identity in processes.values())
    assert not detached.folder.exists()


def test_what_is_to_be_done_at_the_end_is_done_last_first_while_programs_run(
    detached: Instance, tmp_path: Path
) -> None:
    program = detached.run("sleeper", _SLEEP)
    done = tmp_path / "done"
    for name in ("first", "second"):
        line = f"echo {name} >> {done}; kill -0 {program.pid} && echo runs >> {done}"
        detached.supervision.ask("at_end", arguments=["sh", "-c", line])

    detached.end()

    assert done.read_text(encoding="ascii").split() == ["second", "runs", "first", "runs"]


@pytest.mark.parametrize("kind", ["alone", "forking"])
def test_what_a_killed_owner_started_dies_and_leaves_no_folder(kind: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER, kind], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder, forked = owner.stdout.readline().split()
        processes = recorded(Path(folder))
        assert processes.keys() == {"", "sleeper"}
        assert all(identity.alive() for identity in processes.values())

        owner.kill()
        _wait_for_the_end_of(processes)

        assert not Path(folder).exists()
        if forked != "None":
            os.kill(int(forked), signal.SIGKILL)


def test_programs_die_with_a_killed_supervisor(detached: Instance) -> None:
    detached.run("sleeper", _SLEEP)
    processes = recorded(detached.folder)

    assert processes[""].kill()

    _wait_for_the_end_of(processes)


def test_an_instance_whose_supervisor_was_killed_opens_again(detached: Instance) -> None:
    detached.run("sleeper", _SLEEP)
    kept = detached.folder / "kept"
    kept.touch()
    processes = recorded(detached.folder)
    assert processes[""].kill()
    _wait_for_the_end_of(processes)
    assert Instance.find("mine") is None

    again = Instance.open("mine")

    assert kept.exists()
    assert again.run("sleeper", _SLEEP).pid is not None


def test_a_paused_supervisor_and_its_programs_can_be_removed(
    detached: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    detached.run("sleeper", _SLEEP)
    processes = recorded(detached.folder)
    os.kill(processes[""].pid, signal.SIGSTOP)
    monkeypatch.setattr("testbed.programs._SILENT_SECONDS", 0.2)

    assert instances.remove("mine")

    assert not any(identity.alive() for identity in processes.values())


def test_opening_twice_gives_the_same_supervisor(detached: Instance) -> None:
    before = recorded(detached.folder)[""]

    Instance.open("mine")

    assert recorded(detached.folder)[""] == before


def test_of_two_that_change_an_instance_the_second_waits_and_no_lock_stays_behind(tmp_path: Path) -> None:
    """Nobody's instance: the first removes the lock's file under the one that waits for it, a third finds none."""
    inside: list[int] = []
    most: list[int] = []

    def change() -> None:
        for _ in range(50):
            with instances.locked("mine"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=change) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1] * 200
    assert list(paths.instances().iterdir()) == []


def test_what_a_stale_record_names_by_chance_is_left_alone(tmp_path: Path) -> None:
    """The record of a killed instance names our own pid, but with another start."""
    folder = paths.instance("stale")
    folder.mkdir(parents=True)
    record = f'{{"": {{"pid": {os.getpid()}, "start_ticks": 1, "world": "then"}}}}'
    (folder / "supervisor.json").write_text(record, encoding="utf-8")

    assert instances.remove("stale")

    assert not folder.exists()


def test_folders_of_owners_that_were_killed_with_their_supervisor_are_removed_by_the_next(tmp_path: Path) -> None:
    left = paths.instance("owned-4194999-abcdef")  # above the largest pid that Linux gives
    left.mkdir(parents=True)

    Instance.owned().end()

    assert not left.exists()


def test_a_folder_with_a_long_path_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("long" * 40)))
    instance = Instance.owned()
    assert instance.run("sleeper", _SLEEP).pid is not None
    instance.end()
