"""The stage of the benchmarks: an owned control plane, the product on it, and topics with a registered schema."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.schemas import schema
from benchmarks.traffic import Request, Target, send
from testbed.controlplane import ControlPlane, owned
from testbed.product import Product
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection

NAMESPACE = "bench"
_PATH = f"/apis/topicschema.io/v1alpha1/namespaces/{NAMESPACE}/topicschemas"
_APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Stage:
    """A control plane, the product on it, and the address of the API server for the load."""

    plane: ControlPlane
    product: Product
    target: Target

    def wait_until_ready(self, count: int, seconds: float = 300) -> None:
        """Return once that many are Ready by the policy's status: a list of all would slow the measurement."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            output = self.plane.cluster.kubectl(
                "get", "nsp", "-n", NAMESPACE, "-o", "jsonpath={.items[*].status.topics.ready}"
            )
            if sum(map(int, output.split())) >= count:
                return
            time.sleep(0.5)
        raise TimeoutError(f"not {count} Ready after {seconds:.0f} s:\n{self.product.controller.log_tail()}")

    def client(self) -> ApiClient:
        """Return a client of the API server."""
        return ApiClient(ApiConnection.load(str(self.plane.cluster.kubeconfig)))


@contextlib.contextmanager
def stage(environment: Mapping[str, str] | None = None) -> Iterator[Stage]:
    """Start a fresh stage, gone afterwards. The product's processes get `environment` besides their own."""
    with owned() as plane:
        product = Product.install(plane.instance, plane.cluster, environment)
        pki = Path(plane.cluster.kubeconfig).parent / "pki"
        target = Target(plane.cluster.server(), pki / "ca.crt", pki / "admin.crt", pki / "admin.key", is_http2=True)
        plane.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(policy(NAMESPACE, "shop/orders")))
        yield Stage(plane, product, target)


def policy(namespace: str, pulsar_namespace: str, **spec: Any) -> dict[str, Any]:
    """Return a namespace and its policy `orders`, with BACKWARD if `spec` names no other strategy."""
    metadata = {"name": namespace, "annotations": {"topicschema.io/pulsar-namespaces": "shop/*"}}
    required = {"pulsarCluster": "pulsar", "pulsarNamespace": pulsar_namespace}
    version = {"brokerProfile": {"pulsarVersion": "4.0"}}
    resource = {
        "apiVersion": "topicschema.io/v1alpha1",
        "kind": "NamespaceSchemaPolicy",
        "metadata": {"name": "orders", "namespace": namespace},
        "spec": {**required, **version, "schemaCompatibilityStrategy": "BACKWARD", **spec},
    }
    items = [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, resource]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def topic_schema(name: str, text: str) -> dict[str, Any]:
    """Return a TopicSchema of the benchmark's policy."""
    return {
        "apiVersion": "topicschema.io/v1alpha1",
        "kind": "TopicSchema",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"topic": f"persistent://shop/orders/{name}", "type": "AVRO", "schema": text},
    }


def apply_request(stream: int, name: str, text: str, expect: int = 200) -> Request:
    """Return the request of a server-side apply of that schema."""
    body = json.dumps(topic_schema(name, text))
    return Request(stream, "PATCH", f"{_PATH}/{name}?fieldManager=bench&force=true", _APPLY, body, expect)


def create(on: Stage, prefix: str, count: int, size: int) -> list[str]:
    """Create that many TopicSchemas with a schema of about `size` bytes. Return their names."""
    names = [f"{prefix}-{number}" for number in range(count)]
    text = schema(size)
    send(on.target, [apply_request(number % 16, name, text, 201) for number, name in enumerate(names)])
    return names
