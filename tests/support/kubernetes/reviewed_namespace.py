"""A Kubernetes namespace on a real API server whose edits the webhook reviews, with the controller away.

What the controller would put on record is put there by the test, so that a test decides when.
"""

import json
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from support.kubernetes.plain_api import Api
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api import PULSAR_NAMESPACES_ANNOTATION
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection
from topicschema.core import formats
from topicschema.core.history import Origin, Owner
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage

Told = subprocess.CompletedProcess[str]


@dataclass(frozen=True, slots=True)
class Shop:
    """The namespace, and its Pulsar namespace `shop/NAMESPACE`."""

    cluster: Cluster
    namespace: str
    client: ApiClient

    @property
    def api(self) -> Api:
        """The cluster's API, without kubectl."""
        return Api(self.cluster)

    @property
    def pulsar_namespace(self) -> str:
        return f"shop/{self.namespace}"

    def topic_schema(self, schema: str, name: str = "created", **spec: Any) -> dict[str, Any]:
        topic = f"persistent://{self.pulsar_namespace}/{name}"
        return self._object("TopicSchema", name, {"topic": topic, "type": "AVRO", "schema": schema, **spec})

    def policy(self, name: str = "orders", **spec: Any) -> dict[str, Any]:
        members = {
            "pulsarCluster": "pulsar",
            "pulsarNamespace": self.pulsar_namespace,
            "brokerProfile": {"pulsarVersion": "4.0"},
            **spec,
        }
        return self._object("NamespaceSchemaPolicy", name, members)

    def allow_claims(self) -> None:
        annotations = {PULSAR_NAMESPACES_ANNOTATION: "shop/*"}
        self.api.merge("namespaces", "", self.namespace, {"metadata": {"annotations": annotations}})

    async def govern(self, **spec: Any) -> None:
        """Apply the policy and give it the claim."""
        self.allow_claims()
        told = self.apply(self.policy(**spec))
        assert told.returncode == 0, told.stderr
        there = await self.client.get(NAMESPACE_SCHEMA_POLICY, self.namespace, "orders")
        storage = KubernetesStorage(self.client, SYSTEM)
        stored = await storage.get_claim(PulsarNamespaceKey("pulsar", "shop", self.namespace))
        await storage.put_claim(stored, Owner(self.namespace, "orders", there["metadata"]["uid"]))

    async def register(self, *texts: str, name: str = "created") -> None:
        """Put AVRO schemas on record as the topic's next versions."""
        storage = KubernetesStorage(self.client, SYSTEM)
        stored = await storage.get_history(TopicKey("pulsar", Topic("shop", self.namespace, name)))
        for text in texts:
            schema = formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()))
            history = stored.history.with_version(schema, Origin.SPEC, "2026-11-21T05:30:00Z")
            stored = await storage.put(stored, history, (schema.info,))

    async def hold(self, name: str, uid: str) -> None:
        """Write the resource into the topic's history as its holder."""
        storage = KubernetesStorage(self.client, SYSTEM)
        stored = await storage.get_history(TopicKey("pulsar", Topic("shop", self.namespace, name)))
        await storage.put(stored, stored.history.claimed_by(Owner(self.namespace, name, uid)))

    def run(self, verb: str, *arguments: str, objects: tuple[Mapping[str, Any], ...] = ()) -> Told:
        """How `kubectl VERB ARGUMENTS` ended in the namespace, with these objects on its standard input."""
        if not objects:
            return self.cluster.try_kubectl(verb, "-n", self.namespace, *arguments)
        wire = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        one = json.dumps(objects[0])
        text = one if len(objects) == 1 else wire
        return self.cluster.try_kubectl(verb, "-n", self.namespace, *arguments, "-f", "-", stdin=text)

    def apply(self, *objects: Mapping[str, Any]) -> Told:
        """How `kubectl apply --server-side` ended."""
        return self.run("apply", "--server-side", objects=objects)

    def schema_of(self, name: str = "created") -> str:
        return str(self.cluster.get("tsc", name, "-n", self.namespace)["spec"]["schema"])

    def _object(self, kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


@asynccontextmanager
async def opened(cluster: Cluster, namespace: str) -> AsyncIterator[Shop]:
    """The shop of this namespace, with an admin's client."""
    async with ApiClient(Connection.load(str(cluster.kubeconfig))) as client:
        yield Shop(cluster, namespace, client)


def reviews(metrics: str) -> int:
    """How many reviews the webhook's metrics count."""
    lines = [line for line in metrics.splitlines() if line.startswith("topicschema_admission_reviews_total{")]
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)
