"""Installing the project into a cluster, from the files that users install it from.

`crds/*.yaml` and what kustomize makes of `manifests/base`, without what only a node could run (Deployment and so on).
The webhook configuration is the shipped one, except that it names a URL on this machine instead of a Service.
"""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.paths import REPOSITORY

_MANIFESTS = REPOSITORY / "manifests" / "base"
_WEBHOOKS = "ValidatingWebhookConfiguration"
_GUARDS = _MANIFESTS / "guards.yaml"
_NEED_A_NODE = ("Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy", "HorizontalPodAutoscaler")
_APPLY = ("apply", "--server-side", "--force-conflicts", "--field-manager=testbed", "-f", "-")


def install_crds(cluster: Cluster) -> None:
    """Apply the project's CRDs and wait until the API server serves them."""
    files = sorted((REPOSITORY / "crds").glob("*.yaml"))
    crds = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    cluster.kubectl(*_APPLY, stdin=as_list(crds))
    waiting = ("wait", "--for=condition=Established", "--timeout=180s")
    cluster.kubectl(*waiting, *(f"crd/{crd['metadata']['name']}" for crd in crds), seconds=200)
    cluster.kubectl("api-resources")  # kubectl caches the kinds for hours, and does not refresh categories


def install_manifests(cluster: Cluster, webhook_url: str | None = None, ca: Path | None = None) -> None:
    """Apply namespaces, accounts, roles and, if a URL is given, the webhook configuration, but not the guards.

    `webhook_url` is scheme, host and port (`https://127.0.0.1:9443`); the path stays as shipped. `ca` is the PEM bundle
    that vouches for the webhook's certificate.
    """
    guarding = [each["metadata"]["name"] for each in yaml.safe_load_all(_GUARDS.read_text(encoding="utf-8"))]
    rendered = [each for each in render(cluster, _MANIFESTS) if each["metadata"]["name"] not in guarding]
    documents = [each for each in rendered if each["kind"] not in _NEED_A_NODE]
    if webhook_url is None or ca is None:
        documents = [each for each in documents if each["kind"] != _WEBHOOKS]
    else:
        for each in documents:
            if each["kind"] == _WEBHOOKS:
                point_at(each, webhook_url, ca)
    namespaces = [document for document in documents if document["kind"] == "Namespace"]
    rest = [document for document in documents if document["kind"] != "Namespace"]
    for wave in (namespaces, rest):  # what lives in a namespace can only be applied once that is there
        cluster.kubectl(*_APPLY, stdin=as_list(wave))


@contextmanager
def guards(cluster: Cluster) -> Iterator[None]:
    """Apply the guards, and remove them at the end. Tests write histories that only the controller may write."""
    cluster.kubectl("apply", "--server-side", "-f", _GUARDS)
    deadline = time.monotonic() + 60
    while cluster.try_kubectl("delete", "crd", "topicschemas.topicschema.io", "--dry-run=server").returncode == 0:
        if time.monotonic() > deadline:
            raise TestbedError("the API server does not enforce the guards")
        time.sleep(0.2)  # a new policy is enforced a little later
    try:
        yield
    finally:
        cluster.kubectl("delete", "-f", _GUARDS)


@contextmanager
def without_record(cluster: Cluster, namespace: str) -> Iterator[None]:
    """Install the CRDs and the manifests, and clear the operator's record in its namespace, now and at the end."""
    install_crds(cluster)
    install_manifests(cluster)
    clear_record(cluster, namespace)
    yield
    clear_record(cluster, namespace)


def clear_record(cluster: Cluster, namespace: str) -> None:
    """Delete all objects of the operator's record in its namespace."""
    for kind in ("schemahistories", "schemaversions", "pulsarnamespaceclaims"):
        # The API server enforces the guards for some time after they were removed.
        cluster.try_kubectl("annotate", kind, "--all", "-n", namespace, "topicschema.io/allow-deletion=true")
        cluster.kubectl("delete", kind, "--all", "-n", namespace)


def remove_webhooks(cluster: Cluster) -> None:
    cluster.kubectl("delete", _WEBHOOKS, "topicschema", "--ignore-not-found")


def render(cluster: Cluster, folder: Path) -> list[dict[str, Any]]:
    """Return the objects of the folder, built by kustomize."""
    return [document for document in yaml.safe_load_all(cluster.kubectl("kustomize", folder)) if document]


def point_at(configuration: dict[str, Any], webhook_url: str, ca: Path) -> None:
    """Let every webhook of the configuration call the URL instead of its Service; paths stay."""
    bundle = base64.b64encode(ca.read_bytes()).decode("ascii")
    for webhook in configuration["webhooks"]:
        path = webhook["clientConfig"]["service"]["path"]
        webhook["clientConfig"] = {"url": f"{webhook_url}{path}", "caBundle": bundle}


def as_list(documents: list[dict[str, Any]]) -> str:
    """Return the objects as one JSON text for kubectl."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
