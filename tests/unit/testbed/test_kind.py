"""Clusters that a killed run left."""

import io
from pathlib import Path

import pytest

from testbed import kind
from testbed.docker import Docker
from testbed.instances import Instance
from testbed.progress import Progress


def test_clusters_of_killed_instances_are_deleted_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = "topicschema-mine topicschema-killed other"
    program = tmp_path / "kind"
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/commands\necho {listed}\n', encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    instance = Instance.open("mine")
    try:
        names = kind.clusters(Docker(Path("docker"), {}), Progress(io.StringIO()))
    finally:
        instance.end()

    assert names == ["topicschema-mine", "other"]
    commands = (tmp_path / "commands").read_text(encoding="ascii").splitlines()
    assert commands == ["get clusters", "delete cluster --name topicschema-killed"]
