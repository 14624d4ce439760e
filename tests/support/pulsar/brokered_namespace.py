"""A Kubernetes namespace whose registry names a real broker behind a proxy.

Its Pulsar namespace is `shop/NAMESPACE`, and its registry has its name.
"""

import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from support.kubernetes.watched_namespace import WatchedShop, conditions, wait_for, watch_shop
from testbed.calls import Call
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.product import NAMESPACE as SYSTEM
from testbed.pulsar import Pulsar
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, Kind
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import StoredClaim

RESYNC = {
    "TOPICSCHEMA_RESYNC_PERIOD": "0.4",
    "TOPICSCHEMA_BROKER_REQUESTS_PER_SECOND": "100",
}
"""The environment of a controller that calls the tests' brokers often and without a low rate limit."""


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

    def create_namespace(self) -> None:
        """Create the Pulsar namespace at the broker."""
        self.pulsar.request("PUT", "/tenants/shop", {"allowedClusters": self.pulsar.call("GET", "/clusters")})
        self.pulsar.call("PUT", f"/namespaces/{self.pulsar_namespace}")

    def create_topics(self, *names: str) -> None:
        for name in names:
            self.pulsar.call("PUT", f"/persistent/{self.pulsar_namespace}/{name}")

    def set(self, method: str, setting: str, value: object) -> None:
        """Write the setting at the broker, as another client does."""
        self.pulsar.call(method, f"/namespaces/{self.pulsar_namespace}/{setting}", value)

    def broker_settings(self) -> dict[str, Any]:
        """Return the broker's settings by the names of the resource's fields, without those that are not set."""
        policies = self.pulsar.call("GET", f"/namespaces/{self.pulsar_namespace}")
        names = {
            "schemaCompatibilityStrategy": "schema_compatibility_strategy",
            "isAllowAutoUpdateSchema": "is_allow_auto_update_schema",
            "schemaValidationEnforced": "schema_validation_enforced",
        }
        settings = {field: policies.get(name) for field, name in names.items()}
        return {field: value for field, value in settings.items() if value not in (None, "UNDEFINED")}

    def govern(self, pulsar: Mapping[str, Any] | None = None, **spec: Any) -> None:
        """Apply the registry with these further fields of `pulsar`, and a policy."""
        self.apply_registry(pulsar)
        self.apply(**spec)

    def apply_registry(self, pulsar: Mapping[str, Any] | None = None) -> None:
        """Apply the registry with the broker. It names no Pulsar version: the broker reports its own."""
        self.watched.shop.apply_registry({"adminURL": self.proxy.url, **(pulsar or {})})

    def apply(self, **spec: Any) -> None:
        """Apply the policy."""
        self.watched.apply(self.watched.shop.policy(**spec))

    def secret(self, name: str) -> str:
        """Return the name of that Secret of this shop in the operator's namespace."""
        return f"{self.watched.namespace}-{name}"

    def apply_secret(self, name: str, **members: str | bytes) -> None:
        """Apply a Secret in the operator's namespace. The argument `tls_crt` is its member tls.crt."""
        raw = {key: value.encode() if isinstance(value, str) else value for key, value in members.items()}
        encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in raw.items()}
        metadata = {"name": self.secret(name), "namespace": SYSTEM}
        wire = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}
        self.watched.shop.api.apply("secrets", wire)

    async def policy_ready(self, reason: str) -> dict[str, Any]:
        """Return the policy's status once Ready has that reason for the newest generation."""
        return await self.watched.policy_ready(reason)

    async def registry_condition(self, kind: str, reason: str) -> dict[str, Any]:
        """Return the registry's condition of that type once it has that reason."""
        name = self.watched.namespace

        async def current() -> dict[str, Any]:
            wire = await self.watched.shop.client.get(SCHEMA_REGISTRY, "", name)
            return conditions(wire.get("status", {})).get(kind, {})

        return await wait_for(current, lambda condition: condition.get("reason") == reason)

    async def in_sync(self, reason: str) -> dict[str, Any]:
        """Return the policy's status once InSync has that reason."""
        return await wait_for(self._status, lambda status: conditions(status).get("InSync", {}).get("reason") == reason)

    async def wait_for_ready_count(self, ready: int) -> None:
        """Return once the policy counts that number of Ready topics."""
        await wait_for(self._status, lambda status: status["topics"]["ready"] == ready)

    async def wait_for_unmanaged_count(self, count: int) -> None:
        """Return once the policy's lock waits for that number of topics."""
        await wait_for(self._status, lambda status: status.get("unmanagedTopicCount") == count)

    async def wait_for_strategy(self, value: str, source: str, name: str = "created") -> None:
        """Return once the topic is judged by that strategy."""

        async def effective() -> dict[str, Any]:
            strategy: dict[str, Any] = (await self.watched.get(name)).get("status", {}).get("effectiveStrategy", {})
            return strategy

        await wait_for(effective, lambda strategy: strategy == {"value": value, "source": source})

    async def _status(self) -> dict[str, Any]:
        wire = await self.watched.get("orders", NAMESPACE_SCHEMA_POLICY)
        status: dict[str, Any] = wire.get("status", {})
        return status

    async def claim(self) -> StoredClaim:
        """Return the stored claim of the Pulsar namespace."""
        storage = KubernetesStorage(self.watched.shop.client, SYSTEM)
        return await storage.get_claim(self.watched.shop.pulsar_namespace_key)

    async def events(self, reason: str) -> list[dict[str, Any]]:
        """Return the Events about the policy with that reason."""
        result = self.watched.shop.run("get", "events.events.k8s.io", "-o", "json")
        return [one for one in json.loads(result.stdout)["items"] if one["reason"] == reason]

    async def writes_of_a_reconcile(self) -> list[str]:
        """Return the controller's writes to the API server and to the broker in one more reconcile."""
        api_writes = await self.api_writes_of_a_reconcile(
            lambda call: call.method == "GET" and call.path.endswith(f"/{self.pulsar_namespace}"),
            NAMESPACE_SCHEMA_POLICY,
        )
        return [*api_writes, *map(str, self.broker_writes)]

    async def api_writes_of_a_reconcile(self, is_first_read: Callable[[Call], bool], kind: Kind) -> list[str]:
        """Return the controller's writes to the API server from one first read at the broker until the next.

        Writes before that read are not returned: the previous reconcile may still have an Event to write.
        """
        since = self.watched.position()
        self.proxy.clear()

        async def first_reads() -> list[Call]:
            return [call for call in self.proxy.calls if is_first_read(call)]

        first = (await wait_for(first_reads, lambda calls: len(calls) >= 2))[0]
        return self.watched.written_since(since, kind, first.at)

    @property
    def broker_writes(self) -> list[Call]:
        """The writes to this Pulsar namespace at the broker since the proxy's last clear()."""
        return [call for call in self.proxy.writes if f"/{self.pulsar_namespace}/" in call.path]


@asynccontextmanager
async def broker_shop(proxy: FaultProxy, cluster: Cluster, namespace: str) -> AsyncIterator[BrokeredShop]:
    """Yield the namespace. The broker has nothing of it yet."""
    async with watch_shop(cluster, namespace) as shop:
        yield BrokeredShop(shop, proxy)


@asynccontextmanager
async def proxied_shop(pulsar: Pulsar, cluster: Cluster, namespace: str) -> AsyncIterator[BrokeredShop]:
    """Yield a namespace with a proxy of its own, whose Pulsar namespace exists; it has no policy yet."""
    with FaultProxy.before(pulsar) as proxy:
        async with broker_shop(proxy, cluster, namespace) as shop:
            shop.create_namespace()
            yield shop
