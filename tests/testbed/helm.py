"""Helm, of the pinned versions, and the project's chart. A user's own Helm configuration is not used."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed import paths, prebuilt
from testbed.build import Recipe, build
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.progress import Progress
from testbed.sources import KUBERNETES

CHART = paths.REPOSITORY / "charts" / "topicschema"
_RELEASE = "topicschema"


def recipe() -> Recipe:
    """Return the build of the pinned Helm 3."""
    return Recipe("helm", Path(__file__).parent / "helm", {"helm": "helm.sh/helm/v3/cmd/helm"}, "-s -w")


def program(progress: Progress | None = None) -> Path:
    """Return Helm 4 where a package ships it, else Helm 3, which is built; TOPICSCHEMA_TEST_HELM=3 selects that."""
    progress = progress or Progress()
    shipped = None if os.environ.get("TOPICSCHEMA_TEST_HELM") == "3" else prebuilt.program("helm", progress)
    return shipped or build(recipe(), progress) / "helm"


def render(values: Mapping[str, Any], namespace: str, chart: Path = CHART) -> list[dict[str, Any]]:
    """Render the chart with these values, without a cluster. Raise TestbedError with Helm's message if it fails."""
    import yaml  # noqa: PLC0415  # the quick start does without

    output = _helm(("template", "--kube-version", KUBERNETES), values, namespace, {}, chart)
    return [document for document in yaml.safe_load_all(output) if document]


def install(cluster: Cluster, values: Mapping[str, Any], namespace: str) -> None:
    """Install or upgrade the chart's release in the namespace, which is created if it does not exist."""
    _helm(("upgrade", "--install", "--create-namespace"), values, namespace, {"KUBECONFIG": str(cluster.kubeconfig)})


def uninstall(cluster: Cluster, namespace: str) -> None:
    _run(("uninstall", _RELEASE, "--namespace", namespace, "--wait"), "", {"KUBECONFIG": str(cluster.kubeconfig)})


def _helm(
    command: tuple[str, ...],
    values: Mapping[str, Any],
    namespace: str,
    variables: Mapping[str, str],
    chart: Path = CHART,
) -> str:
    rest = (_RELEASE, str(chart), "--namespace", namespace, "--values", "-")
    return _run((*command, *rest), json.dumps(values), variables)


def environment() -> dict[str, str]:
    """Return the variables that keep Helm from a user's own files."""
    return {f"HELM_{each}_HOME": str(paths.cache() / "helm" / each.lower()) for each in ("CACHE", "CONFIG", "DATA")}


def _run(arguments: tuple[str, ...], stdin: str, variables: Mapping[str, str]) -> str:
    output = subprocess.run(
        [program(), *arguments],
        input=stdin,
        env={**os.environ, "KUBECONFIG": os.devnull, **environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    if output.returncode:
        raise TestbedError(f"helm {arguments[0]}: {output.stderr.strip()}")
    return output.stdout
