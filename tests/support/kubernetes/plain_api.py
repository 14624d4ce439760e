"""A plain client of an API server, for frequent requests: one takes a fiftieth of the time of kubectl."""

import contextlib
import functools
import http.client
import json
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from testbed.cluster import Cluster
from topicschema.cluster.connection import ApiConnection

_SECONDS = 60.0
_GROUPS = {
    "namespaces": "api/v1",
    "pods": "api/v1",
    "secrets": "api/v1",
    "resourcequotas": "api/v1",
    "configmaps": "api/v1",
    "jobs": "apis/batch/v1",
    "subjectaccessreviews": "apis/authorization.k8s.io/v1",
    "leases": "apis/coordination.k8s.io/v1",
}
_PRODUCT = "apis/topicschema.io/v1alpha1"
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class RefusedError(Exception):
    """The API server refused a request."""


@dataclass(frozen=True, slots=True)
class Api:
    """Requests for objects by plural, namespace ("" for none) and name. Safe in any thread."""

    cluster: Cluster

    def get(self, plural: str, namespace: str, name: str) -> dict[str, Any] | None:
        """Return the object, or None if there is none."""
        return self._request("GET", _path(plural, namespace, name))

    def list(self, plural: str, namespace: str, query: str = "") -> list[dict[str, Any]]:
        """Return the objects of the kind in the namespace."""
        response = self._request("GET", f"{_path(plural, namespace)}?{query}") or {}
        items: list[dict[str, Any]] = response.get("items", [])
        return items

    def apply(self, plural: str, wire: dict[str, Any], *, manager: str = "user", force: bool = True) -> None:
        """Apply on the server's side. With `force`, the manager takes fields from other managers."""
        metadata = wire["metadata"]
        path = _path(plural, metadata.get("namespace", ""), metadata["name"])
        query = urlencode({"fieldManager": manager, "force": str(force).lower(), "fieldValidation": "Strict"})
        self._request("PATCH", f"{path}?{query}", wire, _APPLY)

    def create(self, plural: str, namespace: str, wire: dict[str, Any]) -> dict[str, Any]:
        """Create the object and return what is stored."""
        return self._request("POST", _path(plural, namespace), wire, "application/json") or {}

    def merge(self, plural: str, namespace: str, name: str, patch: dict[str, Any], part: str = "") -> None:
        """Merge the patch into the object, or into its part (`status`); do nothing if it does not exist."""
        path = _path(plural, namespace, name)
        self._request("PATCH", f"{path}/{part}" if part else path, patch, _MERGE)

    def delete(self, plural: str, namespace: str, name: str) -> bool:
        """Start the deletion of the object. Return True if it existed."""
        return self._request("DELETE", _path(plural, namespace, name)) is not None

    def _request(self, method: str, path: str, body: Any = None, content: str = "") -> dict[str, Any] | None:
        load = None if body is None else json.dumps(body)
        headers = {"Content-Type": content} if content else {}
        connection = _connection(str(self.cluster.kubeconfig))
        server = urlsplit(connection.server)
        client = http.client.HTTPSConnection(
            server.hostname or "", server.port, timeout=_SECONDS, context=connection.ssl
        )
        with contextlib.closing(client):
            client.request(method, path, load, headers | connection.headers())
            response = client.getresponse()
            text = response.read()
        if response.status == http.HTTPStatus.NOT_FOUND:
            return None
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise RefusedError(f"{method} {path}: {text[:1000].decode(errors='replace')}")
        wire: dict[str, Any] = json.loads(text)
        return wire


_LOADING = threading.Lock()


def _connection(kubeconfig: str) -> ApiConnection:
    with _LOADING:  # kubernetes' loader names a file of a certificate before it has written it
        return _loaded(kubeconfig)


@functools.lru_cache
def _loaded(kubeconfig: str) -> ApiConnection:
    return ApiConnection.load(kubeconfig)


def _path(plural: str, namespace: str, name: str = "") -> str:
    parts = ("", _GROUPS.get(plural, _PRODUCT), *(("namespaces", namespace) if namespace else ()), plural)
    return "/".join((*parts, name) if name else parts)
