"""One breakage, the namespace that meets it, and all that was seen of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.kubernetes.watched_namespace import conditions
from support.pulsar.breakages import Breakage, Certificates
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import BrokeredTopic
from support.pulsar.refused_edits import Told
from testbed.calls import Call
from topicschema.api import PULSAR_NAMESPACES_ANNOTATION
from topicschema.core.history import History

KEPT, EDITED, FRESH, LEAVING = "kept", "edited", "fresh", "leaving"
ROLES = (KEPT, EDITED, FRESH, LEAVING)

Wire = dict[str, Any]


@dataclass(slots=True, repr=False)
class Scene:
    """One breakage, and all that was seen of it; maps are by the topics' roles."""

    breakage: Breakage
    shop: BrokeredShop
    before: dict[str, History] = field(default_factory=dict)
    during: dict[str, History] = field(default_factory=dict)
    stored: dict[str, list[int] | None] = field(default_factory=dict)
    told: dict[str, Wire] = field(default_factory=dict)
    policy: Wire = field(default_factory=dict)
    yes: set[str] = field(default_factory=set)
    edits: list[Told] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    connections: int = 0
    recovered: float | None = None
    after: dict[str, Wire] = field(default_factory=dict)
    rewritten: list[str] = field(default_factory=list)
    agreed: dict[str, list[int] | BaseException] = field(default_factory=dict)
    left: list[int] | None = None
    is_forgotten: bool = False

    @property
    def namespace(self) -> str:
        return self.shop.watched.namespace

    def asked_of(self, role: str) -> int:
        """How many requests were about that topic."""
        return sum(f"/{role}/" in call.path for call in self.calls)

    @property
    def is_told(self) -> bool:
        """Whether each resource says what its breakage has it say in the end."""
        reason = self.breakage.reason
        wanted = [(self.told.get(role, {}), "Ready", reason) for role in (EDITED, FRESH)]
        wanted.append((self.told.get(LEAVING, {}), "Ready", self.breakage.on_deletion or reason))
        wanted += [(self.told.get(KEPT, {}), "InSync", reason)] if self.breakage.hides else []
        wanted += [(self.policy, "InSync", reason)] if self.breakage.hides_policy else []
        return all(says_of(wire, kind, why) for wire, kind, why in wanted)

    def topic(self, role: str) -> BrokeredTopic:
        return BrokeredTopic(self.shop, role)

    def resource(self, role: str, schema: str, **labels: str) -> Wire:
        """The TopicSchema of that role."""
        spec = {"deletionPolicy": "Delete"} if role == LEAVING else {}
        wire = self.shop.watched.topic(schema, role, **spec)
        return {**wire, "metadata": {**wire["metadata"], "labels": labels}}

    def surroundings(self, certificates: Certificates) -> Iterator[Wire]:
        """The Kubernetes namespace, the policy, and what the policy reads."""
        shop = self.shop.watched.shop
        annotations = {PULSAR_NAMESPACES_ANNOTATION: "shop/*"}
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace, "annotations": annotations},
        }
        pulsar: Wire = {"adminURL": self.shop.proxy.url}
        if self.breakage.is_tls:
            metadata = {"name": "ca", "namespace": self.namespace}
            content = {"ca.crt": certificates.good.ca.read_text()}
            yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": content}
            pulsar["tls"] = {"caSecretKeyRef": {"name": "ca", "key": "ca.crt"}}
        yield shop.policy(schemaCompatibilityStrategy="BACKWARD", pulsar=pulsar)


def is_newest(wire: Wire, condition: Mapping[str, Any]) -> bool:
    return bool(condition.get("observedGeneration") == wire["metadata"]["generation"])


def says_of(wire: Wire, kind: str, reason: str) -> bool:
    """Whether the condition has that reason, for the newest generation."""
    told = conditions(wire.get("status", {})).get(kind, {"reason": ""})
    return told["reason"] == reason and is_newest(wire, told)


def are_well(found: Mapping[str, Wire], versions: Mapping[str, int]) -> bool:
    return all(
        role in found and says_yes(found[role]) and found[role]["status"].get("schemaVersion") == number
        for role, number in versions.items()
    )


def says_yes(wire: Wire) -> bool:
    """Whether all conditions are True, for the newest generation."""
    found = conditions(wire.get("status", {})).values()
    return bool(found) and all(each["status"] == "True" and is_newest(wire, each) for each in found)
