"""What a fault may not touch: the resources of one scenario, and what must be true of them in the end."""

import base64
import json
import secrets
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey

_SECONDS = 60.0


def avro(*names: str) -> str:
    """An Avro record with optional text fields of those names, beside an id."""
    fields: list[dict[str, Any]] = [{"name": "id", "type": "string"}]
    fields += [{"name": name, "type": ["null", "string"], "default": None} for name in names]
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


@dataclass(frozen=True, slots=True)
class World:
    """One Kubernetes namespace with a policy of its own Pulsar namespace and one topic."""

    cluster: Cluster
    name: str = field(default_factory=lambda: f"f-{secrets.token_hex(4)}")

    @property
    def topic(self) -> str:
        """The topic's name in Pulsar."""
        return f"persistent://faults/{self.name}/orders"

    def is_concerned(self, path: str, body: bytes) -> bool:
        """Whether a request is about this world: its namespace, its topic's record or its claim."""
        key = TopicKey("pulsar", Topic.parse(self.topic))
        claim = PulsarNamespaceKey.parse("pulsar", key.topic.pulsar_namespace)
        names = (self.name, key.history_name, claim.claim_name)
        return any(name in path or name.encode() in body for name in names)

    def create_namespace(self) -> None:
        """The namespace, allowed to claim its Pulsar namespace."""
        annotations = {"topicschema.io/pulsar-namespaces": f"faults/{self.name}"}
        metadata = {"name": self.name, "annotations": annotations}
        self._apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    def create_policy(self, strategy: str = "BACKWARD_TRANSITIVE") -> None:
        """The policy."""
        spec = {
            "pulsarCluster": "pulsar",
            "pulsarNamespace": f"faults/{self.name}",
            "schemaCompatibilityStrategy": strategy,
        }
        self._apply(self._object("NamespaceSchemaPolicy", "policy", spec))

    def apply(self, schema: str, **more: Any) -> None:
        """The topic's resource with that schema."""
        spec = {"topic": self.topic, "type": "AVRO", "schema": schema, **more}
        self._apply(self._object("TopicSchema", "orders", spec))

    def delete_topic_schema(self) -> None:
        """Delete the resource, without waiting."""
        self.cluster.kubectl("delete", "tsc", "orders", "-n", self.name, "--wait=false", "--ignore-not-found")

    def remove(self) -> None:
        """Delete everything of this world, without waiting for it."""
        self.cluster.kubectl("delete", "namespace", self.name, "--wait=false", "--ignore-not-found")

    def read(self) -> dict[str, Any] | None:
        """The resource, or None when there is none."""
        told = self.cluster.try_kubectl("get", "tsc", "orders", "-n", self.name, "-o", "json")
        return json.loads(told.stdout) if told.returncode == 0 else None

    def condition(self, kind: str) -> tuple[str, str] | None:
        """Status and reason of a condition that speaks of the current generation."""
        resource = self.read() or {}
        generation = resource.get("metadata", {}).get("generation")
        for condition in resource.get("status", {}).get("conditions", []):
            if condition["type"] == kind and condition.get("observedGeneration") == generation:
                return condition["status"], condition["reason"]
        return None

    def history(self) -> dict[str, Any] | None:
        """The topic's SchemaHistory, or None."""
        told = self.cluster.get("schemahistories", "-n", SYSTEM)["items"]
        found = [one for one in told if one["spec"]["pulsarNamespace"] == f"faults/{self.name}"]
        assert len(found) <= 1, f"{len(found)} histories of one topic"
        return found[0] if found else None

    def recorded_texts(self) -> list[str]:
        """The schema texts on record, by version number; asserts that no number and no payload is missing."""
        history = self.history()
        if history is None:
            return []
        payloads = {
            one["spec"]["schemaVersion"]: one
            for one in self.cluster.get("schemaversions", "-n", SYSTEM)["items"]
            if one["metadata"]["name"].startswith(history["metadata"]["name"] + "-")
        }
        count = len(history["spec"].get("versions", []))
        assert set(range(count)) <= set(payloads), f"payloads {sorted(payloads)} of {count} versions"
        return [text_of(payloads[number]) for number in range(count)]

    def _object(self, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.name}
        return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}

    def _apply(self, body: dict[str, Any]) -> None:
        arguments = ("apply", "--server-side", "--force-conflicts", "--field-manager=user", "-f", "-")
        self.cluster.kubectl(*arguments, stdin=json.dumps(body))


def text_of(schema_version: dict[str, Any]) -> str:
    """The schema text in a SchemaVersion."""
    packed = schema_version["spec"]["payload"]
    return zlib.decompress(base64.b64decode(packed)).decode()


def until(holds: Callable[[], bool], what: str, seconds: float = _SECONDS) -> None:
    """Return once it holds; AssertionError that says what did not come true."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)
