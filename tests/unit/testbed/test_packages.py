"""What the machine lacks is installed for root, and named to others."""

import io
import os
from pathlib import Path

import pytest

from testbed import packages
from testbed.progress import Progress

_APT = '#!/bin/sh\necho "$*" >> {folder}/asked\ncp {folder}/apt-get {folder}/javac\n'


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An apt-get that installs javac, whatever it is asked for: the file of what it was asked."""
    program = tmp_path / "apt-get"
    program.write_text(_APT.format(folder=tmp_path), encoding="ascii")
    program.chmod(0o755)
    (tmp_path / "java").symlink_to(program)
    (tmp_path / "cp").symlink_to("/bin/cp")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "asked"


def test_root_has_it_installed_and_hears_what_is_still_missing(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    said = io.StringIO()

    assert packages.supply(packages.JAVA, Progress(said)) == ["maven"]

    assert apt.read_text(encoding="ascii").splitlines() == [
        "update --quiet",
        "install --quiet --yes --no-install-recommends default-jdk-headless maven",
    ]
    assert said.getvalue() == "installing Debian's packages default-jdk-headless maven\n"


def test_others_hear_what_is_missing(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert packages.supply(packages.JAVA, Progress(io.StringIO())) == ["default-jdk-headless", "maven"]
    assert not apt.exists()


def test_nothing_is_installed_where_nothing_is_missing(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert packages.supply(packages.SPARK, Progress(io.StringIO())) == []
    assert not apt.exists()
