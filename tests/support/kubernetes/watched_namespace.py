"""A Kubernetes namespace on a real API server that the controller looks after, with no webhook in the way.

Waits for what a status is to say, and reads from the audit log what the controller wrote.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from support.kubernetes.argo_health import assert_tools_agree
from support.kubernetes.reviewed_namespace import Shop, opened
from testbed import audit
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, PULSAR_NAMESPACE_CLAIM, TOPIC_SCHEMA, Kind
from topicschema.api.record import claim_name
from topicschema.cluster.errors import NotFoundError
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage

T = TypeVar("T")

CONTROLLER = f"system:serviceaccount:{SYSTEM}:topicschema-controller"
_SECONDS = 120.0
_SHORT = {"tsc": TOPIC_SCHEMA.plural, "nsp": NAMESPACE_SCHEMA_POLICY.plural, "quota": "resourcequotas"}
_PLURALS = {
    "Secret": "secrets",
    "ResourceQuota": "resourcequotas",
    TOPIC_SCHEMA.name: TOPIC_SCHEMA.plural,
    NAMESPACE_SCHEMA_POLICY.name: NAMESPACE_SCHEMA_POLICY.plural,
}


def text(*fields: str, doc: str = "") -> str:
    """An AVRO record of text fields; one written `name?` has a default."""
    members = [
        {"name": field.rstrip("?"), "type": "string", **({"default": ""} if field.endswith("?") else {})}
        for field in fields
    ]
    return json.dumps({"type": "record", "name": "Created", "fields": members, **({"doc": doc} if doc else {})})


async def until(ask: Callable[[], Awaitable[T]], is_well: Callable[[T], bool]) -> T:
    """The first answer that is well; AssertionError with the last one when none ever is."""
    answer = None
    try:
        async with asyncio.timeout(_SECONDS):
            while True:
                answer = await ask()
                if is_well(answer):
                    return answer
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"it never came about; in the end: {json.dumps(answer, default=str)[:3000]}") from None


@dataclass(frozen=True, slots=True)
class WatchedShop:
    """A namespace, and what the controller makes of it."""

    shop: Shop

    @property
    def namespace(self) -> str:
        return self.shop.namespace

    def apply(self, *objects: dict[str, Any]) -> None:
        """Apply as kubectl does on the server's side."""
        for wire in objects:
            placed = wire | {"metadata": {"namespace": self.namespace, **wire["metadata"]}}
            self.shop.api.apply(_PLURALS[wire["kind"]], placed, manager="kubectl", wins=False)

    def govern(self, **spec: Any) -> None:
        """Leave to claim, and a policy."""
        self.shop.allow_claims()
        self.apply(self.shop.policy(**spec))

    async def waits_for_claim_of(self, holder: "WatchedShop") -> dict[str, Any]:
        """Apply a policy for the Pulsar namespace that another shop governs; the policy's status."""
        self.shop.allow_claims()
        self.apply(self.shop.policy(pulsarNamespace=holder.shop.pulsar_namespace))
        return await self.policy_ready("TopicAlreadyClaimed")

    def topic(self, schema: str, name: str = "created", **spec: Any) -> dict[str, Any]:
        return self.shop.topic_schema(schema, name, **spec)

    def put(self, schema: str, name: str = "created", **spec: Any) -> None:
        """Apply a TopicSchema."""
        self.apply(self.topic(schema, name, **spec))

    def delete(self, what: str, *arguments: str) -> None:
        """Delete `tsc/NAME`, `nsp/NAME` or `quota/NAME`, and wait until it is gone unless `--wait=false` is said."""
        short, _, name = what.partition("/")
        plural = _SHORT[short]
        assert self.shop.api.delete(plural, self.namespace, name), f"there was no {what}"
        deadline = time.monotonic() + _SECONDS
        while not arguments and self.shop.api.get(plural, self.namespace, name) is not None:
            assert time.monotonic() < deadline, f"{what} does not go"
            time.sleep(0.02)

    async def get(self, name: str = "created", kind: Kind = TOPIC_SCHEMA) -> dict[str, Any]:
        return await self.shop.client.get(kind, self.namespace, name)

    async def ready(self, reason: str, name: str = "created", kind: Kind = TOPIC_SCHEMA) -> dict[str, Any]:
        """The status once Ready has that reason for the newest generation."""

        def is_told(wire: dict[str, Any]) -> bool:
            told = conditions(wire.get("status", {})).get("Ready", {})
            is_newest = told.get("observedGeneration") == wire["metadata"]["generation"]
            return bool(is_newest and told["reason"] == reason)

        wire = await until(lambda: self.get(name, kind), is_told)
        assert_tools_agree(wire)
        status: dict[str, Any] = wire["status"]
        return status

    async def policy_ready(self, reason: str, name: str = "orders") -> dict[str, Any]:
        return await self.ready(reason, name, NAMESPACE_SCHEMA_POLICY)

    async def gone(self, name: str = "created", kind: Kind = TOPIC_SCHEMA) -> None:
        async def is_gone() -> bool:
            try:
                await self.get(name, kind)
            except NotFoundError:
                return True
            return False

        await until(is_gone, bool)

    def mark(self) -> int:
        """The audit log's end, once the controller does nothing for the shop any more."""
        return audit.settled(self._log, counts=self._is_about)

    def position(self) -> int:
        """The audit log's end as it is now."""
        return audit.position(self._log)

    def writes(self, since: int, kind: Kind = TOPIC_SCHEMA, after: str = "") -> list[str]:
        """What the controller wrote after `since`, and after the time `after`, each as `VERB RESOURCE[/SUBRESOURCE]`.

        Leases are left out, and of the two kinds that people write the other one: a policy counts its topics later.
        So are other shops' claims, which end while their namespaces do, and Events about records, of whichever shop.
        """
        self.mark()
        return self._written(since, kind, after)

    def written_since(self, since: int, kind: Kind, after: str) -> list[str]:
        """The same, where a pass is known to be over: its writes are in the log in a moment."""
        audit.settled(self._log, counts=lambda request: request.is_write and self._is_about(request))
        return self._written(since, kind, after)

    def _written(self, since: int, kind: Kind, after: str) -> list[str]:
        claim = claim_name(PulsarNamespaceKey("pulsar", "shop", self.namespace))
        others = {"leases", TOPIC_SCHEMA.plural, NAMESPACE_SCHEMA_POLICY.plural} - {kind.plural}
        return [
            f"{request.verb} {request.resource}{request.subresource and '/'}{request.subresource}"
            for request in audit.writes(self._log, since, CONTROLLER)
            if request.at > after
            and request.resource not in others
            and request.namespace in {self.namespace, SYSTEM}
            and (request.namespace, request.resource) != (SYSTEM, "events")
            and (request.resource != PULSAR_NAMESPACE_CLAIM.plural or request.name in {"", claim})
        ]

    def reads(self, since: int, kind: Kind = TOPIC_SCHEMA) -> int:
        """How many objects of a kind the controller read here after `since`: each pass reads its own once."""
        self.mark()
        seen = audit.requests(self._log, since, CONTROLLER)
        return sum((one.verb, one.resource, one.namespace) == ("get", kind.plural, self.namespace) for one in seen)

    async def looked_again(self, name: str = "created", kind: Kind = TOPIC_SCHEMA) -> list[str]:
        """What the controller writes in a pass that follows a new annotation of ours and nothing else.

        It counts from that pass's first read: the pass before may still have an Event to write.
        """
        since = self.mark()
        self.shop.api.merge(
            kind.plural, self.namespace, name, {"metadata": {"annotations": {"topicschema.io/looked": str(since)}}}
        )

        async def looks() -> list[str]:
            seen = audit.requests(self._log, since, CONTROLLER)
            return [one.at for one in seen if (one.verb, one.resource, one.name) == ("get", kind.plural, name)]

        began = await until(looks, bool)
        return self.writes(since, kind, began[0])

    def _is_about(self, request: audit.Request) -> bool:
        """Whether the controller asked it, of this shop or of what is on record."""
        is_here = request.namespace in {self.namespace, SYSTEM} and request.resource != "leases"
        return request.user == CONTROLLER and is_here

    @property
    def _log(self) -> Any:
        assert self.shop.cluster.audit_log is not None
        return self.shop.cluster.audit_log


def conditions(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The conditions by type."""
    return {condition["type"]: condition for condition in status.get("conditions", ())}


def says(status: dict[str, Any]) -> dict[str, str]:
    """The statuses of the conditions by type."""
    return {kind: condition["status"] for kind, condition in conditions(status).items()}


def record_key(shop: WatchedShop, topic: str = "created") -> TopicKey:
    """The key of a topic's record."""
    return TopicKey("pulsar", Topic("shop", shop.namespace, topic))


async def has_record(shop: WatchedShop) -> bool:
    return bool((await KubernetesStorage(shop.shop.client, SYSTEM).get_history(record_key(shop))).revision)


@asynccontextmanager
async def watched(cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    """The namespace, ready to be looked after."""
    async with opened(cluster, namespace) as shop:
        yield WatchedShop(shop)
