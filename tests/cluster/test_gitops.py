"""The examples of docs/gitops.md: schemas in their own files, and remote bases."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from testbed import helm, install
from testbed.cluster import Cluster

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "manifests" / "examples"
SCHEMAS = EXAMPLES / "gitops" / "kustomize" / "schemas"


def made_by_kustomize(cluster: Cluster, _: str) -> list[dict[str, Any]]:
    return install.render(cluster, EXAMPLES / "gitops" / "kustomize")


def made_by_helm(_: Cluster, namespace: str) -> list[dict[str, Any]]:
    return helm.render({}, namespace, EXAMPLES / "gitops" / "helm")


@pytest.mark.parametrize("render", [made_by_kustomize, made_by_helm])
def test_schemas_in_their_own_files_become_resources(installed: Cluster, namespace: str, render: Any) -> None:
    documents = render(installed, namespace)
    created, shipped = sorted(documents, key=lambda each: str(each["metadata"]["name"]))
    assert created["spec"]["schema"] == (SCHEMAS / "order-created.avsc").read_text()
    assert shipped["spec"]["protobuf"]["files"] == {
        name: (SCHEMAS / name).read_text() for name in ("shop/address.proto", "shop/shipped.proto")
    }
    for each in documents:
        each["metadata"]["namespace"] = namespace
    installed.kubectl("apply", "--server-side", "-f", "-", stdin=install.as_list(documents))
    stored = installed.get("tsc", "orders-created", "-n", namespace)
    assert stored["spec"]["schema"] == created["spec"]["schema"]


def test_base_and_components_can_be_remote(cluster: Cluster, tmp_path: Path) -> None:
    repository, overlay = tmp_path / "repository", tmp_path / "overlay"
    overlay.mkdir()
    git = ("git", "-C", str(repository), "-c", "user.name=test", "-c", "user.email=test@example.com")
    shutil.copytree(REPOSITORY / "manifests", repository / "manifests")
    for command in ("init --quiet", "add --all", "commit --quiet --no-gpg-sign -m manifests", "tag v0.1.0"):
        subprocess.run([*git, *command.split()], check=True)
    local = EXAMPLES / "overlay"
    text = (local / "kustomization.yaml").read_text()
    for part in ("base", "components/cert-manager", "components/monitoring"):
        assert f"- ../../{part}\n" in text
        text = text.replace(f"- ../../{part}\n", f"- file://{repository}//manifests/{part}?ref=v0.1.0\n")
    (overlay / "kustomization.yaml").write_text(text)
    assert install.render(cluster, overlay) == install.render(cluster, local)
