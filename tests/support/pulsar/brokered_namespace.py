"""A Kubernetes namespace whose policy names a real broker behind a proxy; its Pulsar namespace is `shop/NAMESPACE`."""

import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from support.kubernetes.watched_namespace import WatchedShop, conditions, until, watched
from testbed.calls import Call
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.product import NAMESPACE as SYSTEM
from testbed.pulsar import Pulsar
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, Kind
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import StoredClaim

RESYNC = {
    "TOPICSCHEMA_RESYNC_PERIOD": "0.4",
    "TOPICSCHEMA_BROKER_HOSTS": "127.0.0.1",
    "TOPICSCHEMA_BROKER_REQUESTS_PER_SECOND": "100",
}
"""The environment of a controller that may call the tests' brokers, looks again often, and need not spare them."""


@dataclass(frozen=True, slots=True)
class BrokeredShop:
    """The namespace, the broker, and the controller between them."""

    watched: WatchedShop
    proxy: FaultProxy

    @property
    def pulsar(self) -> Pulsar:
        return self.proxy.upstream

    @property
    def pulsar_namespace(self) -> str:
        return self.watched.shop.pulsar_namespace

    def make_namespace(self) -> None:
        """Have the Pulsar namespace at the broker."""
        self.pulsar.ask("PUT", "/tenants/shop", {"allowedClusters": self.pulsar.tell("GET", "/clusters")})
        self.pulsar.tell("PUT", f"/namespaces/{self.pulsar_namespace}")

    def make_topics(self, *names: str) -> None:
        for name in names:
            self.pulsar.tell("PUT", f"/persistent/{self.pulsar_namespace}/{name}")

    def set(self, method: str, setting: str, value: object) -> None:
        """As somebody else sets it at the broker."""
        self.pulsar.tell(method, f"/namespaces/{self.pulsar_namespace}/{setting}", value)

    def there(self) -> dict[str, Any]:
        """What the broker has, by the names of the resource's fields; what is not set is left out."""
        policies = self.pulsar.tell("GET", f"/namespaces/{self.pulsar_namespace}")
        names = {
            "schemaCompatibilityStrategy": "schema_compatibility_strategy",
            "isAllowAutoUpdateSchema": "is_allow_auto_update_schema",
            "schemaValidationEnforced": "schema_validation_enforced",
        }
        found = {field: policies.get(name) for field, name in names.items()}
        return {field: value for field, value in found.items() if value not in (None, "UNDEFINED")}

    def govern(self, pulsar: Mapping[str, Any] | None = None, **spec: Any) -> None:
        """Leave to claim, and a policy that names the broker."""
        self.watched.shop.allow_claims()
        self.apply(pulsar, **spec)

    def apply(self, pulsar: Mapping[str, Any] | None = None, **spec: Any) -> None:
        """The policy as it is to be from now on. It names no Pulsar version: the broker's own decides."""
        made = self.watched.shop.policy(pulsar={"adminURL": self.proxy.url, **(pulsar or {})}, **spec)
        if "brokerProfile" not in spec:
            del made["spec"]["brokerProfile"]
        self.watched.apply(made)

    def keep(self, name: str, **members: str | bytes) -> None:
        """Have a Secret; a member `tls_crt` is called tls.crt."""
        raw = {key: value.encode() if isinstance(value, str) else value for key, value in members.items()}
        encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in raw.items()}
        metadata = {"name": name, "namespace": self.watched.namespace}
        told = self.watched.shop.run(
            "apply", objects=({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded},)
        )
        assert told.returncode == 0, told.stderr

    async def policy_ready(self, reason: str) -> dict[str, Any]:
        """The policy's status once Ready has that reason for the newest generation."""
        return await self.watched.policy_ready(reason)

    async def in_sync(self, reason: str) -> dict[str, Any]:
        """The policy's status once InSync has that reason."""
        return await until(self._status, lambda status: conditions(status).get("InSync", {}).get("reason") == reason)

    async def counted(self, ready: int) -> None:
        """Return once the policy counts so many topics that are Ready."""
        await until(self._status, lambda status: status["topics"]["ready"] == ready)

    async def undeclared(self, count: int) -> None:
        """Return once the policy tells of so many topics without a TopicSchema."""
        await until(self._status, lambda status: status.get("undeclaredTopicCount") == count)

    async def strategy(self, value: str, source: str, name: str = "created") -> None:
        """Return once the topic is judged by that strategy."""

        async def told() -> dict[str, Any]:
            found: dict[str, Any] = (await self.watched.get(name)).get("status", {}).get("effectiveStrategy", {})
            return found

        await until(told, lambda found: found == {"value": value, "source": source})

    async def _status(self) -> dict[str, Any]:
        wire = await self.watched.get("orders", NAMESPACE_SCHEMA_POLICY)
        status: dict[str, Any] = wire.get("status", {})
        return status

    async def claim(self) -> StoredClaim:
        """What is on record of the Pulsar namespace."""
        storage = KubernetesStorage(self.watched.shop.client, SYSTEM)
        return await storage.get_claim(PulsarNamespaceKey("pulsar", "shop", self.watched.namespace))

    async def events(self, reason: str) -> list[dict[str, Any]]:
        """The Events about the policy with that reason."""
        told = self.watched.shop.run("get", "events.events.k8s.io", "-o", "json")
        return [one for one in json.loads(told.stdout)["items"] if one["reason"] == reason]

    async def looked_again(self) -> list[str]:
        """What the controller writes, at the API server and at the broker, in a pass that looks there once more."""
        told = await self.told_in_a_look(
            lambda call: call.method == "GET" and call.path.endswith(f"/{self.pulsar_namespace}"),
            NAMESPACE_SCHEMA_POLICY,
        )
        return [*told, *map(str, self.written)]

    async def told_in_a_look(self, is_look: Callable[[Call], bool], kind: Kind) -> list[str]:
        """What the controller writes at the API server from a look at the broker until it begins the next one.

        The pass before may still have an Event to write, so what is written before that look is not counted.
        """
        since = self.watched.position()
        self.proxy.forget()

        async def looks() -> list[Call]:
            return [call for call in self.proxy.calls if is_look(call)]

        began = (await until(looks, lambda found: len(found) >= 2))[0]
        return self.watched.written_since(since, kind, began.at)

    @property
    def written(self) -> list[Call]:
        """What was written at the broker to this Pulsar namespace since the proxy last forgot."""
        return [call for call in self.proxy.writes if f"/{self.pulsar_namespace}/" in call.path]


@asynccontextmanager
async def brokered(proxy: FaultProxy, cluster: Cluster, namespace: str) -> AsyncIterator[BrokeredShop]:
    """The namespace, ready to be looked after; nothing is at the broker yet."""
    async with watched(cluster, namespace) as shop:
        yield BrokeredShop(shop, proxy)
