"""A Kubernetes namespace on a real API server that the controller reconciles, without a webhook.

It waits for a status and reads the controller's writes from the audit log.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from support.kubernetes.argo_health import assert_tools_agree
from support.kubernetes.reviewed_namespace import Shop, open_shop
from support.schemas.examples import record
from testbed import audit
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import VALIDATION
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, PULSAR_NAMESPACE_CLAIM, TOPIC_SCHEMA, Kind
from topicschema.api.store import claim_name
from topicschema.cluster.errors import NotFoundError
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
    """Return an AVRO record of text fields. A field `name?` has a default."""
    return record(*fields, doc=doc).info.schema.decode()


async def wait_for(fetch: Callable[[], Awaitable[T]], matches: Callable[[T], bool]) -> T:
    """Return the first value that matches. Raise AssertionError with the last one if none does in time."""
    value = None
    try:
        async with asyncio.timeout(_SECONDS):
            while True:
                value = await fetch()
                if matches(value):
                    return value
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"no value matched; the last one: {json.dumps(value, default=str)[:3000]}") from None


@dataclass(frozen=True, slots=True)
class WatchedShop:
    """A namespace, and the controller's work in it."""

    shop: Shop

    @property
    def namespace(self) -> str:
        return self.shop.namespace

    def apply(self, *objects: dict[str, Any]) -> None:
        """Apply as kubectl does on the server's side."""
        for wire in objects:
            namespaced = wire | {"metadata": {"namespace": self.namespace, **wire["metadata"]}}
            self.shop.api.apply(_PLURALS[wire["kind"]], namespaced, manager="kubectl", force=False)

    def govern(self, **spec: Any) -> None:
        """Apply the registry, without a broker, and a policy."""
        self.shop.apply_registry()
        self.apply(self.shop.policy(**spec))

    async def apply_losing_policy(self, holder: "WatchedShop") -> dict[str, Any]:
        """Apply a policy for the Pulsar namespace that another shop governs, and return its status."""
        self.apply(self.shop.policy(registry=holder.namespace, pulsarNamespace=holder.shop.pulsar_namespace))
        return await self.policy_ready("TopicAlreadyClaimed")

    def topic(self, schema: str, name: str = "created", **spec: Any) -> dict[str, Any]:
        return self.shop.topic_schema(schema, name, **spec)

    def put(self, schema: str, name: str = "created", **spec: Any) -> None:
        self.apply(self.topic(schema, name, **spec))

    def delete(self, resource: str, *arguments: str) -> None:
        """Delete `tsc/NAME`, `nsp/NAME` or `quota/NAME`. Wait until it is gone, unless `--wait=false` is given."""
        short, _, name = resource.partition("/")
        plural = _SHORT[short]
        assert self.shop.api.delete(plural, self.namespace, name), f"there was no {resource}"
        deadline = time.monotonic() + _SECONDS
        while not arguments and self.shop.api.get(plural, self.namespace, name) is not None:
            assert time.monotonic() < deadline, f"{resource} is not deleted"
            time.sleep(0.02)

    async def get(self, name: str = "created", kind: Kind = TOPIC_SCHEMA) -> dict[str, Any]:
        return await self.shop.client.get(kind, self.namespace, name)

    async def ready(self, reason: str, name: str = "created", kind: Kind = TOPIC_SCHEMA) -> dict[str, Any]:
        """Return the status once Ready has that reason for the newest generation."""

        def matches(wire: dict[str, Any]) -> bool:
            condition = conditions(wire.get("status", {})).get("Ready", {})
            is_newest = condition.get("observedGeneration") == wire["metadata"]["generation"]
            return bool(is_newest and condition["reason"] == reason)

        wire = await wait_for(lambda: self.get(name, kind), matches)
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

        await wait_for(is_gone, bool)

    def mark(self) -> int:
        """Return the end of the audit log once the controller is idle."""
        return audit.settled(self._log, counts=self._is_about)

    def position(self) -> int:
        return audit.position(self._log)

    def writes(self, since: int, kind: Kind = TOPIC_SCHEMA, after: str = "") -> list[str]:
        """Return the controller's writes after `since` and after the time `after`, as `VERB RESOURCE[/SUBRESOURCE]`.

        Not returned are leases, and writes to the other of the two public kinds: a policy counts its topics later.
        Nor are the claims and Jobs of other shops, which end with their namespaces, and Events about records.
        """
        self.mark()
        return self._written(since, kind, after)

    def written_since(self, since: int, kind: Kind, after: str) -> list[str]:
        """Return as `writes`, after a reconcile that has ended: its writes are in the log in a moment."""
        audit.settled(self._log, counts=lambda request: request.is_write and self._is_about(request))
        return self._written(since, kind, after)

    def _written(self, since: int, kind: Kind, after: str) -> list[str]:
        claim = claim_name(self.shop.pulsar_namespace_key)
        others = {"leases", TOPIC_SCHEMA.plural, NAMESPACE_SCHEMA_POLICY.plural} - {kind.plural}
        return [
            f"{request.verb} {request.resource}{request.subresource and '/'}{request.subresource}"
            for request in audit.writes(self._log, since, CONTROLLER)
            if request.at > after
            and request.resource not in others
            and request.namespace in {self.namespace, SYSTEM, VALIDATION}
            and (request.namespace, request.resource) != (SYSTEM, "events")
            and (request.namespace, request.verb) != (VALIDATION, "delete")
            and (request.resource != PULSAR_NAMESPACE_CLAIM.plural or request.name in {"", claim})
        ]

    def reads(self, since: int, kind: Kind = TOPIC_SCHEMA) -> int:
        """Return the number of reads of a kind after `since`: each reconcile reads its own object once."""
        self.mark()
        requests = audit.requests(self._log, since, CONTROLLER)
        return sum((one.verb, one.resource, one.namespace) == ("get", kind.plural, self.namespace) for one in requests)

    async def writes_of_a_reconcile(self, name: str = "created", kind: Kind = TOPIC_SCHEMA) -> list[str]:
        """Return the controller's writes in a reconcile that only a new annotation causes.

        It counts from the first read of that reconcile: the previous one may still have an Event to write.
        """
        since = self.mark()
        self.shop.api.merge(
            kind.plural, self.namespace, name, {"metadata": {"annotations": {"topicschema.io/test": str(since)}}}
        )

        async def reads() -> list[str]:
            requests = audit.requests(self._log, since, CONTROLLER)
            return [one.at for one in requests if (one.verb, one.resource, one.name) == ("get", kind.plural, name)]

        times = await wait_for(reads, bool)
        return self.writes(since, kind, times[0])

    def _is_about(self, request: audit.Request) -> bool:
        """Return True if the request is the controller's, for this shop or for the record."""
        is_here = request.namespace in {self.namespace, SYSTEM, VALIDATION} and request.resource != "leases"
        return request.user == CONTROLLER and is_here

    @property
    def _log(self) -> Any:
        assert self.shop.cluster.audit_log is not None
        return self.shop.cluster.audit_log


def conditions(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {condition["type"]: condition for condition in status.get("conditions", ())}


def statuses(status: dict[str, Any]) -> dict[str, str]:
    """Return the statuses of the conditions by type."""
    return {kind: condition["status"] for kind, condition in conditions(status).items()}


async def has_record(shop: WatchedShop) -> bool:
    return bool((await KubernetesStorage(shop.shop.client, SYSTEM).get_history(shop.shop.key())).history.entries)


@asynccontextmanager
async def watch_shop(cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    async with open_shop(cluster, namespace) as shop:
        yield WatchedShop(shop)
