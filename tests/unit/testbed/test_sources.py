"""The source of a cluster: the first that exists, and never an ambient context."""

import io
from pathlib import Path

import pytest

from testbed import sources
from testbed.errors import TestbedError
from testbed.progress import Progress


@pytest.fixture
def quiet() -> Progress:
    return Progress(io.StringIO())


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOPICSCHEMA_TEST_KUBECONFIG", raising=False)
    monkeypatch.delenv("TOPICSCHEMA_TEST_WEBHOOK_HOST", raising=False)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    folder = tmp_path / "assets"
    folder.mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (folder / name).touch()
    return folder


def test_an_explicit_kubeconfig_comes_before_everything(
    assets: Path, tmp_path: Path, quiet: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.setenv("TOPICSCHEMA_TEST_KUBECONFIG", str(kubeconfig))

    assert sources.find(quiet) == sources.External(kubeconfig)

    monkeypatch.setenv("TOPICSCHEMA_TEST_WEBHOOK_HOST", "192.0.2.7")
    assert sources.find(quiet) == sources.External(kubeconfig, webhook_host="192.0.2.7")


def test_an_explicit_kubeconfig_that_is_not_there_is_an_error_and_nothing_else_is_taken(
    assets: Path, tmp_path: Path, quiet: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.setenv("TOPICSCHEMA_TEST_KUBECONFIG", str(tmp_path / "nothing"))

    with pytest.raises(TestbedError, match="TOPICSCHEMA_TEST_KUBECONFIG names"):
        sources.find(quiet)


def test_an_ambient_kubeconfig_is_not_used(
    assets: Path, tmp_path: Path, quiet: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ambient").touch()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "ambient"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    assert sources.find(quiet) == sources.Binaries(assets, assets / "kubectl")


def test_control_plane_and_node_are_of_the_pinned_version() -> None:
    recipe = sources.recipe()
    module = (recipe.module / "go.mod").read_text(encoding="utf-8")

    assert f"k8s.io/kubernetes v{sources.KUBERNETES}" in module
    assert f"k8s.io/component-base/version.gitVersion=v{sources.KUBERNETES}" in recipe.linker_flags
    assert sources.KINDEST.rpartition(".")[0] == f"v{sources.KUBERNETES.rpartition('.')[0]}"
