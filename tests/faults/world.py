"""The scope of a fault: the resources of one scenario, and the checks of them in the end."""

import base64
import json
import secrets
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.kubernetes.plain_api import Api
from support.kubernetes.registries import registry
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import VALIDATION
from topicschema.api.store import claim_name, history_name
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.validation.job.manifest import NAMESPACE_LABEL

_SECONDS = 180.0  # only a hang takes as long
_POLL_SECONDS = 0.1
_TOPICS, _POLICIES = "topicschemas", "namespaceschemapolicies"


def avro(*names: str) -> str:
    """Return an Avro record with optional text fields of those names, beside an id."""
    fields: list[dict[str, Any]] = [{"name": "id", "type": "string"}]
    fields += [{"name": name, "type": ["null", "string"], "default": None} for name in names]
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


@dataclass(frozen=True, slots=True)
class World:
    """One Kubernetes namespace with a policy of its own Pulsar namespace and one topic.

    `timeout` is the number of seconds of a wait.
    """

    api: Api
    name: str = field(default_factory=lambda: f"f-{secrets.token_hex(4)}")
    timeout: float = _SECONDS

    @property
    def topic(self) -> str:
        """The topic's name in Pulsar."""
        return f"persistent://faults/{self.name}/orders"

    def is_concerned(self, path: str, body: bytes) -> bool:
        """Return True if a request belongs to this world: its namespace, its topic's record or its claim."""
        key = TopicKey(self.name, Topic.parse(self.topic))
        claim = PulsarNamespaceKey.parse(self.name, key.topic.pulsar_namespace)
        names = (self.name, history_name(key), claim_name(claim))
        return any(name in path or name.encode() in body for name in names)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait as the function `until`, with this world's timeout."""
        until(holds, f"{what} in {self.name}", self.timeout)

    def create_namespace(self) -> None:
        """Create the namespace, and the registry of its name, which allows it to claim its Pulsar namespace."""
        self.api.apply("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}})
        allowed = {"namespaceSelector": {"matchNames": [self.name]}, "pulsarNamespaces": [f"faults/{self.name}"]}
        self.api.apply("schemaregistries", registry(self.name, allowedNamespaces=[allowed], validation={}))

    def create_policy(self) -> None:
        """Create the policy."""
        spec = {
            "registry": self.name,
            "pulsarNamespace": f"faults/{self.name}",
            "schemaCompatibilityStrategy": "BACKWARD_TRANSITIVE",
            "constraints": {"allowedDeletionPolicies": ["Retain", "Delete"]},
            "validation": {"source": {"files": {"uri": "s3://archive/{topic}"}}},
        }
        self.api.apply(_POLICIES, self._object("NamespaceSchemaPolicy", "policy", spec))

    def apply(self, schema: str, **more: Any) -> None:
        """Apply the topic's resource with that schema."""
        spec = {"topic": self.topic, "type": "AVRO", "schema": schema, **more}
        self.api.apply(_TOPICS, self._object("TopicSchema", self.name, spec))

    def delete_topic_schema(self) -> None:
        """Delete the resource, without waiting."""
        self.api.delete(_TOPICS, self.name, self.name)

    def remove(self) -> None:
        """Delete everything of this world, without waiting for it."""
        self.api.delete("schemaregistries", "", self.name)
        self.api.delete("namespaces", "", self.name)

    def read(self) -> dict[str, Any] | None:
        """Return the resource, or None."""
        return self.api.get(_TOPICS, self.name, self.name)

    def condition(self, kind: str) -> tuple[str, str] | None:
        """Return status and reason of a condition of the current generation."""
        return _condition(self.read(), kind)

    def policy_condition(self, kind: str) -> tuple[str, str] | None:
        """Return the same of the policy."""
        return _condition(self.api.get(_POLICIES, self.name, "policy"), kind)

    def jobs(self) -> list[dict[str, Any]]:
        """Return the Jobs of the topic."""
        return self.api.list("jobs", VALIDATION, f"labelSelector={NAMESPACE_LABEL}={self.name}")

    def has_counted(self) -> bool:
        """Return True if the policy's count of topics is current: it follows changes some seconds later."""
        resource, policy = self.read(), self.api.get(_POLICIES, self.name, "policy")
        count = ((policy or {}).get("status") or {}).get("topics") or {}
        ready = _condition(resource, "Ready") or ("", "")
        expected = {"total": int(resource is not None), "ready": int(ready[0] == "True")}
        return expected.items() <= count.items()

    def history(self) -> dict[str, Any] | None:
        """Return the topic's SchemaHistory, or None."""
        histories = self.api.list("schemahistories", SYSTEM)
        own = [one for one in histories if one["spec"]["pulsarNamespace"] == f"faults/{self.name}"]
        assert len(own) <= 1, f"{len(own)} histories of one topic"
        return own[0] if own else None

    def payloads(self) -> list[dict[str, Any]]:
        """Return the SchemaVersions of the topic, also those that no history names."""
        name = history_name(TopicKey(self.name, Topic.parse(self.topic))) + "-"
        versions = self.api.list("schemaversions", SYSTEM)
        return [one for one in versions if one["metadata"]["name"].startswith(name)]

    def recorded_texts(self) -> list[str]:
        """Return the recorded schema texts by version number. Assert that no number and no payload is missing."""
        history = self.history()
        if history is None:
            return []
        payloads = {one["spec"]["schemaVersion"]: one for one in self.payloads()}
        count = len(history["spec"].get("versions", []))
        assert set(range(count)) <= set(payloads), f"payloads {sorted(payloads)} of {count} versions"
        return [text_of(payloads[number]) for number in range(count)]

    def _object(self, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.name}
        return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def _condition(resource: dict[str, Any] | None, kind: str) -> tuple[str, str] | None:
    generation = (resource or {}).get("metadata", {}).get("generation")
    for condition in (resource or {}).get("status", {}).get("conditions", []):
        if condition["type"] == kind and condition.get("observedGeneration") == generation:
            return condition["status"], condition["reason"]
    return None


def text_of(schema_version: dict[str, Any]) -> str:
    """Return the schema text in a SchemaVersion."""
    packed = schema_version["spec"]["payload"]
    return zlib.decompress(base64.b64decode(packed)).decode()


def until(holds: Callable[[], bool], what: str, seconds: float = _SECONDS) -> None:
    """Return once it holds. Raise AssertionError after the timeout, with what was expected."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(_POLL_SECONDS)
