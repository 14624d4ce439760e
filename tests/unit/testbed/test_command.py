"""What `python -m testbed` says when there is no cluster to talk of."""

import shlex
import subprocess
from pathlib import Path

import pytest

from testbed import parts
from testbed.__main__ import exports, main
from testbed.instances import Instance


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "kafka"]) == 1
    assert "there is no part 'kafka'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "../up", "Capital", "a" * 50])
def test_a_name_that_could_leave_the_folder_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", "--name", name]) == 1
    assert "not a name for an instance" in capsys.readouterr().err


def test_down_with_nothing_running_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down"]) == 0
    assert capsys.readouterr().out == "default: nothing is running\n"


def test_env_of_nothing_says_how_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "--name", "mine"]) == 1
    assert "python -m testbed up --name mine" in capsys.readouterr().err


def test_status_tells_an_instance_that_was_killed_from_none(
    cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status"]) == 1
    assert capsys.readouterr().out == "default: not running\n"
    (cache_folder / "testbed" / "default").mkdir(parents=True)

    assert main(["status"]) == 1

    assert "an earlier one was killed" in capsys.readouterr().out


def test_status_names_a_program_that_ended(capsys: pytest.CaptureFixture[str]) -> None:
    instance = Instance.open("default")
    try:
        instance.run("short", ["/bin/sh", "-c", "exit 3"]).wait()

        assert main(["status"]) == 1

        assert "short: ended with status 3" in capsys.readouterr().out
    finally:
        assert main(["down"]) == 0


def test_what_env_prints_is_safe_in_a_shell_and_keeps_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    lines = exports({"KUBECONFIG": "/a folder/it's", "PATH": "/own tools:/usr/bin:/bin"})
    script = "\n".join([*lines, 'printf "%s\\n%s" "$KUBECONFIG" "$PATH"'])

    told = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout

    assert told.splitlines() == ["/a folder/it's", "/own tools:/usr/bin:/bin"]
    assert shlex.split(lines[0])[1] == "KUBECONFIG=/a folder/it's"


def test_every_part_that_is_built_has_a_place_in_the_help() -> None:
    assert parts.NAMES == ("cluster", "pulsar", "kind")
