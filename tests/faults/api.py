"""A plain client of an owned API server, as its admin: cheap enough to be asked ten times a second for many worlds."""

import contextlib
import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from testbed.cluster import Cluster

_SECONDS = 60.0
_GROUPS = {
    "namespaces": "api/v1",
    "pods": "api/v1",
    "configmaps": "api/v1",
    "jobs": "apis/batch/v1",
    "leases": "apis/coordination.k8s.io/v1",
}
_PRODUCT = "apis/topicschema.io/v1alpha1"
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class RefusedError(Exception):
    """The API server refused a request."""


@dataclass(frozen=True, slots=True)
class Api:
    """Requests about objects that a plural, a namespace ("" for none) and a name tell; safe in any thread."""

    cluster: Cluster

    def get(self, plural: str, namespace: str, name: str) -> dict[str, Any] | None:
        """The object, or None when there is none."""
        return self._ask("GET", _path(plural, namespace, name))

    def list(self, plural: str, namespace: str, query: str = "") -> list[dict[str, Any]]:
        """The objects of the kind in the namespace."""
        found = self._ask("GET", f"{_path(plural, namespace)}?{query}") or {}
        items: list[dict[str, Any]] = found.get("items", [])
        return items

    def apply(self, plural: str, wire: dict[str, Any]) -> None:
        """Apply on the server's side, as the field manager `user`, who wins."""
        metadata = wire["metadata"]
        path = _path(plural, metadata.get("namespace", ""), metadata["name"])
        self._ask("PATCH", f"{path}?fieldManager=user&force=true", wire, _APPLY)

    def merge(self, plural: str, namespace: str, name: str, patch: dict[str, Any], part: str = "") -> None:
        """Merge the patch into the object, or into its part (`status`); nothing happens where it is not there."""
        path = _path(plural, namespace, name)
        self._ask("PATCH", f"{path}/{part}" if part else path, patch, _MERGE)

    def delete(self, plural: str, namespace: str, name: str) -> None:
        """Delete the object, without waiting until it is gone; nothing happens where it is not there."""
        self._ask("DELETE", _path(plural, namespace, name))

    def _ask(self, method: str, path: str, body: Any = None, content: str = "") -> dict[str, Any] | None:
        load = None if body is None else json.dumps(body)
        headers = {"Content-Type": content} if content else {}
        with contextlib.closing(self._connected()) as connection:
            connection.request(method, path, load, headers)
            answer = connection.getresponse()
            text = answer.read()
        if answer.status == http.HTTPStatus.NOT_FOUND:
            return None
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise RefusedError(f"{method} {path}: {text[:1000].decode(errors='replace')}")
        found: dict[str, Any] = json.loads(text)
        return found

    def _connected(self) -> http.client.HTTPSConnection:
        pki, config = self.cluster.kubeconfig.parent / "pki", json.loads(self.cluster.kubeconfig.read_text())
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        server = urlsplit(config["clusters"][0]["cluster"]["server"])
        return http.client.HTTPSConnection(server.hostname or "", server.port, timeout=_SECONDS, context=context)


def _path(plural: str, namespace: str, name: str = "") -> str:
    parts = ("", _GROUPS.get(plural, _PRODUCT), *(("namespaces", namespace) if namespace else ()), plural)
    return "/".join((*parts, name) if name else parts)
