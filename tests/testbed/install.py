"""Installing the project into a cluster, from the files that users install it from.

`crds/*.yaml` and what kustomize makes of `manifests/base`, without what only a node could run (Deployment and so on).
The webhook configuration is the shipped one, except that it names a URL on this machine instead of a Service.
"""

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from testbed.cluster import Cluster
from testbed.errors import TestbedError

REPOSITORY = Path(__file__).parents[2]
_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_NEED_A_NODE = ("Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy", "HorizontalPodAutoscaler")
_APPLY = ("apply", "--server-side", "--force-conflicts", "--field-manager=testbed", "-f", "-")


def install_crds(cluster: Cluster, folder: Path = REPOSITORY / "crds") -> None:
    """Apply the project's CRDs and wait until the API server serves them."""
    documents = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.yaml"))]
    crds = [document for document in documents if document["kind"] == "CustomResourceDefinition"]
    if not crds:
        raise TestbedError(f"no CRD in {folder}")
    cluster.kubectl(*_APPLY, stdin=as_list(crds))
    waiting = ("wait", "--for=condition=Established", "--timeout=180s")
    cluster.kubectl(*waiting, *(f"crd/{crd['metadata']['name']}" for crd in crds), seconds=200)
    cluster.kubectl("api-resources")  # kubectl remembers the kinds for hours, and looks for no category anew


def install_manifests(
    cluster: Cluster,
    webhook_url: str | None = None,
    ca: Path | None = None,
    folder: Path = REPOSITORY / "manifests" / "base",
) -> None:
    """Apply namespaces, accounts, roles and, if a URL is given, the webhook configuration.

    `webhook_url` is scheme, host and port (`https://127.0.0.1:9443`); the path stays as shipped. `ca` is the PEM bundle
    that vouches for the webhook's certificate.
    """
    documents = installable(render(cluster, folder), webhook_url, ca)
    namespaces = [document for document in documents if document["kind"] == "Namespace"]
    rest = [document for document in documents if document["kind"] != "Namespace"]
    for wave in (namespaces, rest):  # what lives in a namespace can only be applied once that is there
        if wave:
            cluster.kubectl(*_APPLY, stdin=as_list(wave))


def remove_webhooks(cluster: Cluster, folder: Path = REPOSITORY / "manifests" / "base") -> None:
    """Delete the project's webhook configurations."""
    for document in render(cluster, folder):
        if document["kind"] in _WEBHOOKS:
            cluster.kubectl("delete", document["kind"], document["metadata"]["name"], "--ignore-not-found")


def render(cluster: Cluster, folder: Path) -> list[dict[str, Any]]:
    """The objects that kustomize makes of the folder."""
    return [document for document in yaml.safe_load_all(cluster.kubectl("kustomize", folder)) if document]


def installable(documents: list[dict[str, Any]], webhook_url: str | None, ca: Path | None) -> list[dict[str, Any]]:
    """The objects that mean something without nodes, webhook configurations calling the URL or left out."""
    kept = []
    for document in documents:
        if document["kind"] in _WEBHOOKS:
            if webhook_url is None:
                continue
            point_at(document, webhook_url, ca)
        if document["kind"] not in _NEED_A_NODE:
            kept.append(document)
    return kept


def point_at(configuration: dict[str, Any], webhook_url: str, ca: Path | None) -> None:
    """Let every webhook of the configuration call the URL instead of its Service; paths stay."""
    if ca is None:
        raise TestbedError("a webhook URL needs the CA bundle that vouches for it")
    bundle = base64.b64encode(ca.read_bytes()).decode("ascii")
    for webhook in configuration["webhooks"]:
        path = webhook["clientConfig"].get("service", {}).get("path", "")
        webhook["clientConfig"] = {"url": f"{webhook_url.rstrip('/')}{path}", "caBundle": bundle}


def as_list(documents: list[dict[str, Any]]) -> str:
    """The objects as one JSON text that kubectl takes."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
