"""The objects of the operator's record in the cluster of the kubeconfig."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kubernetes import client
from urllib3.exceptions import HTTPError

from topicschema.api import API_VERSION, GROUP
from topicschema.api.kinds import Kind
from topicschema.cli.inputs import cluster
from topicschema.cli.inputs.cluster import ClusterError
from topicschema.cli.record import Object

_PAGE: Final = 100
_SECONDS: Final = 60.0


class RecordCluster:
    """The record in one namespace. Each method raises ClusterError."""

    def __init__(self, api: client.CustomObjectsApi, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def listed(self, kind: Kind) -> Iterator[Object]:
        """Yield all objects of the kind, from one snapshot."""
        token = ""
        while True:
            page = self._call("list_namespaced_custom_object", kind, limit=_PAGE, _continue=token)
            for item in page["items"]:
                yield {"apiVersion": kind.api_version, "kind": kind.name, **item}
            token = page["metadata"].get("continue") or ""
            if not token:
                return

    def create(self, kind: Kind, saved: Object) -> None:
        """Create an object."""
        metadata = {**saved["metadata"], "namespace": self._namespace}
        self._call("create_namespaced_custom_object", kind, body={**saved, "metadata": metadata})

    def replace(self, kind: Kind, known: Object, spec: Any) -> None:
        """Replace the spec of the object `known`, unless it has changed since."""
        metadata = known["metadata"]
        patch = [  # the controller's account may patch, and not update
            {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
            {"op": "replace", "path": "/spec", "value": spec},
        ]
        options = {"name": metadata["name"], "body": patch, "_content_type": "application/json-patch+json"}
        self._call("patch_namespaced_custom_object", kind, **options)

    def _call(self, method: str, kind: Kind, **arguments: Any) -> Any:
        try:
            return getattr(self._api, method)(
                group=GROUP,
                version=API_VERSION,
                namespace=self._namespace,
                plural=kind.plural,
                _request_timeout=_SECONDS,
                **arguments,
            )
        except client.ApiException as error:
            raise ClusterError(f"{kind.plural}: HTTP {error.status}: {str(error.body)[:500]}") from None
        except HTTPError as error:
            raise ClusterError(f"the API server does not answer: {error}") from None


@contextmanager
def connect(namespace: str, user: str = "") -> Iterator[RecordCluster]:
    """Yield the record in that namespace of the cluster. With `user`, act as that account.

    Raise UsageError if there is no cluster.
    """
    with cluster.connect(user=user) as connected:
        yield RecordCluster(client.CustomObjectsApi(connected.connection), namespace)
