"""The registry as a process of its own, with its own service account, and clients of it."""

import contextlib
import json
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed import ports
from testbed.certificates import Authority
from testbed.cluster import Cluster
from testbed.install import as_list
from testbed.paths import REPOSITORY
from testbed.product import NAMESPACE, Product, wait_until_ready

_RBAC = REPOSITORY / "manifests" / "components" / "registry" / "rbac.yaml"


@dataclass(frozen=True, slots=True)
class Response:
    """A response. `text` is its body."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text) if self.text else None


@dataclass(frozen=True, slots=True)
class RegistryClient:
    """A client of the registry with a token. `url` has no path."""

    cluster: Cluster
    url: str
    ca: Path
    token: str

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        """Send a request and return the response, whatever the status. `body` is sent as JSON, bytes unchanged."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        default = {"Accept": "application/json", "Content-Type": "application/json"}
        default |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(self.url + path, sent, {**default, **(headers or {})}, method=method)  # noqa: S310
        context = ssl.create_default_context(cafile=str(self.ca))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(request, timeout=60) as response:
                return Response(response.status, response.read().decode(), dict(response.headers))
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, error.read().decode(), dict(error.headers))

    def as_account(self, namespace: str, name: str) -> "RegistryClient":
        """Return a client with the token of a service account, which exists."""
        token = self.cluster.kubectl("create", "token", "-n", namespace, name).strip()
        return replace(self, token=token)


@contextlib.contextmanager
def run_registry(
    product: Product, more: Mapping[str, str] | None = None, name: str = "registry"
) -> Iterator[RegistryClient]:
    """Run the registry beside the installed product. The client is an administrator's. `more` is of the environment."""
    cluster, folder = product.cluster, product.instance.folder / "product"
    cluster.kubectl("apply", "--server-side", "-f", _RBAC)
    admin = {"name": "registry-test-admin", "namespace": NAMESPACE}
    binding: dict[str, Any] = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    binding |= {"metadata": {"name": admin["name"]}, "subjects": [{"kind": "ServiceAccount", **admin}]}
    binding |= {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": admin}
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=as_list([account, binding]))
    certificate = Authority.at(folder / "pki").issue(name, [ports.LOOPBACK, "localhost"])
    port, probe = ports.free(), ports.free()
    kubeconfig = cluster.service_account_kubeconfig(NAMESPACE, "topicschema-registry", folder / f"{name}.kubeconfig")
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "TOPICSCHEMA_NAMESPACE": NAMESPACE,
        "TOPICSCHEMA_REGISTRY_PORT": str(port),
        "TOPICSCHEMA_REGISTRY_CERT": str(certificate.certificate),
        "TOPICSCHEMA_REGISTRY_KEY": str(certificate.key),
        "TOPICSCHEMA_PROBE_PORT": str(probe),
        **(more or {}),
    }
    program = product.instance.program(name, [sys.executable, "-m", "topicschema", "registry"], environment)
    program.start()
    try:
        wait_until_ready(program, f"http://{ports.LOOPBACK}:{probe}")
        client = RegistryClient(cluster, f"https://{ports.LOOPBACK}:{port}", certificate.ca, "")
        yield client.as_account(NAMESPACE, admin["name"])
    finally:
        if program.pid is not None:
            program.terminate()
