"""A Kubernetes namespace whose policy names a real broker behind a proxy; its Pulsar namespace is `shop/NAMESPACE`."""

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
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, Kind
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import StoredClaim

RESYNC = {
    "TOPICSCHEMA_RESYNC_PERIOD": "0.4",
    "TOPICSCHEMA_BROKER_HOSTS": "127.0.0.1",
    "TOPICSCHEMA_BROKER_REQUESTS_PER_SECOND": "100",
}
"""The environment of a controller that may call the tests' brokers, often and without a low rate limit."""


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
        """Allow claims and apply a policy that names the broker."""
        self.watched.shop.allow_claims()
        self.apply(pulsar, **spec)

    def apply(self, pulsar: Mapping[str, Any] | None = None, **spec: Any) -> None:
        """Apply the policy. It names no Pulsar version: the broker reports its own."""
        wire = self.watched.shop.policy(pulsar={"adminURL": self.proxy.url, **(pulsar or {})}, **spec)
        if "brokerProfile" not in spec:
            del wire["spec"]["brokerProfile"]
        self.watched.apply(wire)

    def apply_secret(self, name: str, **members: str | bytes) -> None:
        """Apply a Secret. The argument `tls_crt` is its member tls.crt."""
        raw = {key: value.encode() if isinstance(value, str) else value for key, value in members.items()}
        encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in raw.items()}
        metadata = {"name": name, "namespace": self.watched.namespace}
        result = self.watched.shop.run(
            "apply", objects=({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded},)
        )
        assert result.returncode == 0, result.stderr

    async def policy_ready(self, reason: str) -> dict[str, Any]:
        """Return the policy's status once Ready has that reason for the newest generation."""
        return await self.watched.policy_ready(reason)

    async def in_sync(self, reason: str) -> dict[str, Any]:
        """Return the policy's status once InSync has that reason."""
        return await wait_for(self._status, lambda status: conditions(status).get("InSync", {}).get("reason") == reason)

    async def wait_for_ready_count(self, ready: int) -> None:
        """Return once the policy counts that number of Ready topics."""
        await wait_for(self._status, lambda status: status["topics"]["ready"] == ready)

    async def wait_for_undeclared_count(self, count: int) -> None:
        """Return once the policy counts that number of topics without a TopicSchema."""
        await wait_for(self._status, lambda status: status.get("undeclaredTopicCount") == count)

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
        return await storage.get_claim(PulsarNamespaceKey("pulsar", "shop", self.watched.namespace))

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
