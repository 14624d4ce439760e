"""Packages that a machine lacks are named at once, and CI installs them."""

from pathlib import Path

import pytest

from testbed import kind_part, packages
from testbed.install import REPOSITORY

_ALL = (packages.DOCKER, packages.DEBIAN, packages.BROKER)


def test_a_machine_that_lacks_all_is_told_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOPICSCHEMA_TEST_KUBECONFIG", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("os.geteuid", lambda: 0)

    reason = kind_part.why_absent()

    assert reason is not None
    assert "apt-get install --no-install-recommends docker.io util-linux" in reason
    assert packages.missing(packages.BROKER) == ["default-jdk-headless", "maven"]


def test_only_root_is_told_to_install_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOPICSCHEMA_TEST_KUBECONFIG", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    reason = kind_part.why_absent()

    assert reason is not None
    assert "only root can start it" in reason


def test_only_the_packages_of_what_is_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "unshare").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert packages.missing(packages.DOCKER) == ["docker.io"]


def test_ci_installs_each_package() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")

    assert [name for each in _ALL for name in each.values() if name not in script] == []
