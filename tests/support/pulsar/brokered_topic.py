"""A topic with a TopicSchema at a real broker behind a proxy: what both have, what the controller asks and writes."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from support.kubernetes.watched_namespace import conditions, record_key, text, until
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

    async def governed(self, reason: str = "Active", **spec: Any) -> None:
        """Have a policy, and what was asked until it was in force forgotten."""
        self.shop.govern(**spec)
        await self.shop.policy_ready(reason)
        self.shop.proxy.forget()

    def make(self) -> None:
        """Have the topic itself at the broker."""
        self.shop.pulsar.tell("PUT", self.rest.itself)

    def put(self, schema: str, **spec: Any) -> None:
        self.shop.watched.put(schema, self.name, **spec)

    async def edit(self, schema: str, **spec: Any) -> None:
        """As `put`, without kubectl, whose start costs more than all that follows; for who edits hundreds of times."""
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
        """The status once InSync has that reason."""

        async def told() -> dict[str, Any]:
            wire = await self.shop.watched.get(self.name, TOPIC_SCHEMA)
            status: dict[str, Any] = wire.get("status", {})
            return status

        return await until(told, lambda status: conditions(status).get("InSync", {}).get("reason") == reason)

    async def history(self) -> History:
        """The topic's record."""
        storage = KubernetesStorage(self.shop.watched.shop.client, SYSTEM)
        return (await storage.get_history(record_key(self.shop.watched, self.name))).history

    async def agree(self) -> list[int]:
        """The numbers of the versions that count, which record and broker must have alike, each content once."""
        history = await self.history()
        there = self.shop.pulsar.tell("GET", f"{self.rest.schemas}/schemas")["getSchemaResponses"]
        numbers = [entry["version"] for entry in there]
        assert [entry.schema_version for entry in history.active_versions] == numbers
        assert [entry.type.value for entry in history.active_versions] == [entry["type"] for entry in there]
        contents = [(entry["type"], entry["data"]) for entry in there]
        assert len(set(contents)) == len(contents), "a version is there twice"
        return numbers

    @property
    def calls(self) -> list[Call]:
        """What was asked of the broker about this topic since the proxy last forgot."""
        about = (self.rest.schemas, self.rest.itself)
        return [call for call in self.shop.proxy.calls if any(f"{path}/" in call.path for path in about)]

    @property
    def written(self) -> list[str]:
        """What was written at the broker, of this topic."""
        return [str(call) for call in self.calls if call.is_write]

    @property
    def namespace_written(self) -> list[str]:
        """What was written of the topic's Pulsar namespace, which all of its topics share."""
        return [str(call) for call in self.shop.written if "/namespaces/" in call.path]

    async def looked_again(self) -> list[str]:
        """What the controller writes, at the API server and at the broker, in a pass that looks there once more.

        In each of these looks it asks once, unless settings of the topic's own are to be compared.
        """
        told = await self.shop.told_in_a_look(
            lambda call: call.path.endswith(f"{self.rest.schemas}/schema") and not call.is_write, TOPIC_SCHEMA
        )
        return [*told, *self.written]

    def events(self, reason: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """The Events with that reason about the resource, or in that namespace."""
        where = ("-n", namespace) if namespace else ()
        told = self.shop.watched.shop.run("get", "events.events.k8s.io", "-o", "json", *where)
        return [one for one in json.loads(told.stdout)["items"] if one["reason"] == reason]
