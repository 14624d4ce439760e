"""A Kubernetes namespace on a real API server whose edits the webhook reviews, without a controller.

The test stores the versions and claims that a controller would store, so that it decides when.
"""

import json
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from support.kubernetes.admission import OWN_STORE
from support.kubernetes.plain_api import Api
from support.kubernetes.registries import registry
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core import formats
from topicschema.core.history import Origin, Owner
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage

KubectlResult = subprocess.CompletedProcess[str]


@dataclass(frozen=True, slots=True)
class Shop:
    """The namespace, and its Pulsar namespace `shop/NAMESPACE`."""

    cluster: Cluster
    namespace: str
    client: ApiClient

    @property
    def api(self) -> Api:
        """A client of the API server, without kubectl."""
        return Api(self.cluster)

    @property
    def pulsar_namespace(self) -> str:
        return f"shop/{self.namespace}"

    def topic_schema(self, schema: str, name: str = "created", **spec: Any) -> dict[str, Any]:
        topic = f"persistent://{self.pulsar_namespace}/{name}"
        return self._object("TopicSchema", name, {"topic": topic, "type": "AVRO", "schema": schema, **spec})

    def policy(self, name: str = "orders", **spec: Any) -> dict[str, Any]:
        members = {
            "registry": self.namespace,
            "pulsarNamespace": self.pulsar_namespace,
            "constraints": {
                "allowedStrategies": [each.value for each in Strategy],
                "allowedDeletionPolicies": ["Retain", "Delete"],
                "mayRelaxValidation": True,
            },
            **spec,
        }
        return self._object("NamespaceSchemaPolicy", name, members)

    def apply_registry(self, pulsar: Mapping[str, Any] | None = None, **spec: Any) -> None:
        """Apply the SchemaRegistry of this namespace's name. Without more, it allows all, and has no broker."""
        wire = registry(self.namespace, None if pulsar is None else dict(pulsar), **spec)
        self.api.apply("schemaregistries", wire)

    def key(self, topic: str = "created") -> TopicKey:
        """Return the key of the topic of that local name."""
        return TopicKey(self.namespace, Topic("shop", self.namespace, topic))

    @property
    def pulsar_namespace_key(self) -> PulsarNamespaceKey:
        return PulsarNamespaceKey(self.namespace, "shop", self.namespace)

    async def govern(self, **spec: Any) -> None:
        """Apply registry and policy, and write the policy's claim and status as a controller would."""
        self.apply_registry()
        result = self.apply(self.policy(**spec))
        assert result.returncode == 0, result.stderr
        policy = await self.client.get(NAMESPACE_SCHEMA_POLICY, self.namespace, "orders")
        self.api.merge(NAMESPACE_SCHEMA_POLICY.plural, self.namespace, "orders", {"status": dict(OWN_STORE)}, "status")
        storage = KubernetesStorage(self.client, SYSTEM)
        stored = await storage.get_claim(self.pulsar_namespace_key)
        await storage.put_claim(stored, Owner(self.namespace, "orders", policy["metadata"]["uid"]), "")

    async def register(self, *texts: str, name: str = "created") -> None:
        """Store AVRO schemas as the topic's next versions."""
        storage = KubernetesStorage(self.client, SYSTEM)
        stored = await storage.get_history(self.key(name))
        for text in texts:
            schema = formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()))
            history = stored.history.with_version(schema, Origin.SPEC, "2026-11-21T05:30:00Z")
            stored = await storage.put(stored, history, (schema.info,))

    def run(self, verb: str, *arguments: str, objects: tuple[Mapping[str, Any], ...] = ()) -> KubectlResult:
        """Run `kubectl VERB ARGUMENTS` in the namespace, with these objects on its standard input."""
        if not objects:
            return self.cluster.try_kubectl(verb, "-n", self.namespace, *arguments)
        wire = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        return self.cluster.try_kubectl(verb, "-n", self.namespace, *arguments, "-f", "-", stdin=json.dumps(wire))

    def apply(self, *objects: Mapping[str, Any]) -> KubectlResult:
        return self.run("apply", "--server-side", objects=objects)

    def schema_of(self, name: str = "created") -> str:
        return str(self.cluster.get("tsc", name, "-n", self.namespace)["spec"]["schema"])

    def _object(self, kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


@asynccontextmanager
async def open_shop(cluster: Cluster, namespace: str) -> AsyncIterator[Shop]:
    """Yield the shop of this namespace, with an admin's client. Its registry is deleted in the end."""
    async with ApiClient(ApiConnection.load(str(cluster.kubeconfig))) as client:
        shop = Shop(cluster, namespace, client)
        yield shop
        shop.api.delete("schemaregistries", "", namespace)


def reviews(metrics: str) -> int:
    """Return the number of reviews in the webhook's metrics."""
    lines = [line for line in metrics.splitlines() if line.startswith("topicschema_admission_reviews_total{")]
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)
