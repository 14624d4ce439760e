"""Where Docker comes from, and what its runtime takes away where CAP_SYS_RESOURCE is missing."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from testbed import docker
from testbed.docker import RUNTIME

_CAPABILITIES = {"bounding": ["CAP_KILL", "CAP_SYS_RESOURCE"], "effective": ["CAP_SYS_RESOURCE"]}
_PROCESS = {"oomScoreAdj": -999, "args": ["init"], "capabilities": _CAPABILITIES}
_RESTRICTED = {"args": ["init"], "capabilities": {"bounding": ["CAP_KILL"], "effective": []}}


def _client(folder: Path, answers: str) -> Path:
    folder.mkdir()
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\n{answers}\n", encoding="ascii")
    program.chmod(0o755)
    return program


def test_the_docker_that_answers_is_the_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _client(tmp_path / "bin", "exit 0")
    monkeypatch.setenv("PATH", str(program.parent))

    found = docker.found()

    assert found is not None
    assert (found.program, "DOCKER_HOST" in found.environment) == (program, False)


def test_a_docker_without_a_daemon_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(_client(tmp_path / "bin", "exit 1").parent))

    assert docker.found() is None


def test_one_that_another_instance_started_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(_client(tmp_path / "bin", 'test -n "$DOCKER_HOST"').parent))
    monkeypatch.setattr("testbed.docker.CLIENTS", "")

    found = docker.found()

    assert found is not None
    assert found.environment["DOCKER_HOST"].startswith("unix://")


@pytest.mark.parametrize("command", ["create", "exec"])
def test_the_runtime_asks_for_nothing_that_takes_the_capability(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, document = {
        "create": (["--bundle", str(tmp_path)], {"hostname": "node", "process": _PROCESS}),
        "exec": (["--process", str(tmp_path / "config.json")], _PROCESS),
    }[command]
    (tmp_path / "config.json").write_text(json.dumps(document), encoding="utf-8")

    asked = _called(tmp_path, monkeypatch, "--log", "a", command, *named, "id")

    assert asked == ["--log", "a", command, *named, "id"]
    expected = {"hostname": "node", "process": _RESTRICTED} if command == "create" else _RESTRICTED
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8")) == expected


def test_the_runtime_hands_on_what_else_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _called(tmp_path, monkeypatch, "state", "id") == ["state", "id"]


def _called(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """Return what the runtime hands on to runc."""
    runc = folder / "runc"
    runc.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="ascii")
    runc.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return subprocess.run([RUNTIME, *arguments], capture_output=True, text=True, check=True).stdout.splitlines()
