"""Missing packages are installed for root, and reported to other users."""

import io
import os
from pathlib import Path

import pytest

from testbed import packages
from testbed.progress import Progress

_APT = '#!/bin/sh\necho "$*" >> {folder}/commands\ncp {folder}/apt-get {folder}/javac\n'


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install an apt-get that provides javac for any package, and return the file of its command lines."""
    program = tmp_path / "apt-get"
    program.write_text(_APT.format(folder=tmp_path), encoding="ascii")
    program.chmod(0o755)
    (tmp_path / "java").symlink_to(program)
    (tmp_path / "cp").symlink_to("/bin/cp")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "commands"


def test_for_root_packages_are_installed_and_the_still_missing_ones_returned(
    apt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    stream = io.StringIO()

    assert packages.supply(packages.JAVA, Progress(stream)) == ["maven"]

    assert apt.read_text(encoding="ascii").splitlines() == [
        "update --quiet",
        "install --quiet --yes --no-install-recommends default-jdk-headless maven",
    ]
    assert stream.getvalue() == "installing Debian's packages default-jdk-headless maven\n"


def test_for_other_users_missing_packages_are_returned(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert packages.supply(packages.JAVA, Progress(io.StringIO())) == ["default-jdk-headless", "maven"]
    assert not apt.exists()


def test_nothing_is_installed_if_nothing_is_missing(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert packages.supply(packages.SPARK, Progress(io.StringIO())) == []
    assert not apt.exists()
