"""A topic with a TopicSchema at a real broker behind a proxy: what both store, and the controller's requests."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from support.kubernetes.watched_namespace import conditions, record_key, text, wait_for
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.rest_topic import RestTopic
from testbed.calls import Call
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.cluster.errors import NotFoundError
from topicschema.core.history import History
from topicschema.storage.kubernetes.storage import KubernetesStorage

ONE, TWO, THREE = text("id"), text("id", "note?"), text("id", "note?", "more?")
CLASHING, OTHER = text("id", "total"), text("id", "other?")


@dataclass(frozen=True, slots=True)
class BrokeredTopic:
    """The TopicSchema `name`, for the topic of the same name unless it has another local name."""

    shop: BrokeredShop
    name: str = "created"
    local_name: str | None = None

    @property
    def rest(self) -> RestTopic:
        """The topic's schemas at the broker itself."""
        return RestTopic(self.shop.pulsar, self.shop.pulsar_namespace, self.local_name or self.name)

    async def govern(self, reason: str = "Active", **spec: Any) -> None:
        """Apply a policy, wait until it has that reason, and clear the proxy's calls."""
        self.shop.govern(**spec)
        await self.shop.policy_ready(reason)
        self.shop.proxy.clear()

    def create(self) -> None:
        self.shop.pulsar.call("PUT", self.rest.itself)

    def put(self, schema: str, **spec: Any) -> None:
        self.shop.watched.put(schema, self.name, **spec)

    async def edit(self, schema: str, **spec: Any) -> None:
        """Apply as `put` does, without the cost of kubectl: for hundreds of edits."""
        watched = self.shop.watched
        wire = watched.topic(schema, self.name, **spec)
        await watched.shop.client.apply(TOPIC_SCHEMA, watched.namespace, self.name, wire, field_manager="git")

    async def delete(self) -> None:
        """Delete the TopicSchema, which may be gone."""
        with suppress(NotFoundError):
            await self.shop.watched.shop.client.delete(TOPIC_SCHEMA, self.shop.watched.namespace, self.name)

    async def ready(self, reason: str = "Registered") -> dict[str, Any]:
        return await self.shop.watched.ready(reason, self.name)

    async def in_sync(self, reason: str) -> dict[str, Any]:
        """Return the status once InSync has that reason."""

        async def current() -> dict[str, Any]:
            wire = await self.shop.watched.get(self.name, TOPIC_SCHEMA)
            status: dict[str, Any] = wire.get("status", {})
            return status

        return await wait_for(current, lambda status: conditions(status).get("InSync", {}).get("reason") == reason)

    async def history(self) -> History:
        storage = KubernetesStorage(self.shop.watched.shop.client, SYSTEM)
        return (await storage.get_history(record_key(self.shop.watched, self.name))).history

    async def assert_recorded(self) -> list[int]:
        """Check that record and broker have the same versions, each content once, and return their numbers."""
        history = await self.history()
        versions = self.shop.pulsar.call("GET", f"{self.rest.schemas}/schemas")["getSchemaResponses"]
        numbers = [entry["version"] for entry in versions]
        assert [entry.schema_version for entry in history.active_versions] == numbers
        assert [entry.type.value for entry in history.active_versions] == [entry["type"] for entry in versions]
        contents = [(entry["type"], entry["data"]) for entry in versions]
        assert len(set(contents)) == len(contents), "a version is stored twice"
        return numbers

    @property
    def calls(self) -> list[Call]:
        """The calls about this topic at the broker since the proxy's last clear()."""
        paths = (self.rest.schemas, self.rest.itself)
        return [call for call in self.shop.proxy.calls if any(f"{path}/" in call.path for path in paths)]

    @property
    def broker_writes(self) -> list[str]:
        return [str(call) for call in self.calls if call.is_write]

    @property
    def namespace_writes(self) -> list[str]:
        """The writes to the settings of the topic's Pulsar namespace, which all of its topics share."""
        return [str(call) for call in self.shop.broker_writes if "/namespaces/" in call.path]

    async def writes_of_a_reconcile(self) -> list[str]:
        """Return the controller's writes to the API server and to the broker in one more reconcile.

        A reconcile begins with one read at the broker, unless settings of the topic itself are compared.
        """
        api_writes = await self.shop.api_writes_of_a_reconcile(
            lambda call: call.path.endswith(f"{self.rest.schemas}/schema") and not call.is_write, TOPIC_SCHEMA
        )
        return [*api_writes, *self.broker_writes]

    def events(self, reason: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """Return the Events with that reason about the resource, or in that namespace."""
        options = ("-n", namespace) if namespace else ()
        result = self.shop.watched.shop.run("get", "events.events.k8s.io", "-o", "json", *options)
        return [one for one in json.loads(result.stdout)["items"] if one["reason"] == reason]
