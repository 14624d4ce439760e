"""Broker: what the product asks of one Pulsar cluster, as values of `core.remote`. `transport` knows how to ask."""

from typing import Any, Final

from topicschema.broker import wire
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    SchemaMissingError,
)
from topicschema.broker.foreign import Call
from topicschema.broker.transport import Access, Request, Transport
from topicschema.core.remote import BrokerSettings, NamespaceSettings, RemoteVersion, Setting, TopicSettings
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

_LIST_BYTES: Final = 32 << 20
_UPLOAD_SECONDS: Final = 30.0
_DOMAINS: Final = ("persistent", "non-persistent")


_Value = Strategy | bool | None


class Broker:
    """One Pulsar cluster as one policy reaches it. Errors are those of `broker.errors`, by `foreign`'s table."""

    def __init__(self, access: Access) -> None:
        self._transport = Transport(access)

    async def close(self) -> None:
        """End all connections; a call under way fails."""
        await self._transport.close()

    async def latest(self, topic: Topic) -> RemoteVersion | None:
        """The newest version; None only where the broker itself says that there is none, or that it is deleted."""
        return await self._schema(topic, "schema")

    async def version(self, topic: Topic, number: int) -> RemoteVersion | None:
        """The version of that number; None where it is none, a tombstone, or older than one."""
        return await self._schema(topic, f"schema/{number}")

    async def versions(self, topic: Topic) -> tuple[RemoteVersion, ...]:
        """The versions after the newest tombstone, oldest first."""
        return wire.versions_of(await self._read(wire.schemas_path(topic, "schemas"), max_bytes=_LIST_BYTES))

    async def index(self, topic: Topic) -> tuple[int, ...]:
        """All numbers that the topic's storage holds, tombstones too, in order; () where there is no storage."""
        return wire.index_of(await self._read(wire.schemas_path(topic, "metadata")))

    async def number_of(self, topic: Topic, info: SchemaInfo) -> int | None:
        """The number under which these very bytes are registered after the newest tombstone, if they are."""
        path = wire.schemas_path(topic, "version")
        request = Request(Call.READ, "POST", path, wire.written(info), has_body=True)
        number = wire.number_of(await self._transport.ask(request))
        return None if number < 0 else number

    async def upload(self, topic: Topic, info: SchemaInfo) -> int:
        """The number that the broker gives the schema: an old one where it has its equal already.

        RefusedByBrokerError where it will never take it. To be believed only after it was read back.
        """
        path = wire.schemas_path(topic, "schema")
        request = Request(Call.UPLOAD, "POST", path, wire.written(info), has_body=True, seconds=_UPLOAD_SECONDS)
        return wire.number_of(await self._transport.ask(request))

    async def soft_delete(self, topic: Topic) -> int:
        """The number of the tombstone that now hides all versions; asking again adds another."""
        path = wire.schemas_path(topic, "schema?force=false")
        return wire.number_of(await self._transport.ask(Request(Call.WRITE, "DELETE", path)))

    async def namespace_settings(self, key: PulsarNamespaceKey) -> NamespaceSettings:
        """What is set on the Pulsar namespace, in one request; NamespaceMissingError or TenantMissingError."""
        return wire.namespace_settings_of(await self._read(wire.namespace_path(key)))

    async def set_namespace(self, key: PulsarNamespaceKey, settings: NamespaceSettings) -> None:
        """Write the fields that are not None and read them back; BrokerInconsistentError where they differ."""
        for name, value in (
            (Setting.STRATEGY, settings.strategy),
            (Setting.AUTO_UPDATE, settings.allows_auto_update),
            (Setting.ENFORCEMENT, settings.enforces_validation),
        ):
            await self._set(wire.namespace_path(key, name), value)
        found = await self.namespace_settings(key)
        _compare(Setting.STRATEGY, settings.strategy, found.strategy)
        _compare(Setting.AUTO_UPDATE, settings.allows_auto_update, found.allows_auto_update)
        _compare(Setting.ENFORCEMENT, settings.enforces_validation, found.enforces_validation)

    async def broker_settings(self) -> BrokerSettings | None:
        """What the broker does where nothing is set; None where we may not read it."""
        try:
            configuration = await self._read("/admin/v2/brokers/configuration/runtime")
        except (BrokerForbiddenError, BrokerUnauthorizedError):
            return None
        return wire.broker_settings_of(configuration, await self._version())

    async def topic_settings(self, topic: Topic, domain: str) -> TopicSettings:
        """What is set on the topic itself; TopicMissingError when it does not exist."""
        return TopicSettings(
            strategy=wire.strategy_of(await self._read(wire.topic_path(topic, domain, Setting.STRATEGY))),
            enforces_validation=wire.flag_of(await self._read(wire.topic_path(topic, domain, Setting.ENFORCEMENT))),
        )

    async def set_topic(self, topic: Topic, domain: str, settings: TopicSettings) -> None:
        """Write the fields that are not None and read them back; BrokerInconsistentError where they differ."""
        await self._set(wire.topic_path(topic, domain, Setting.STRATEGY), settings.strategy)
        await self._set(wire.topic_path(topic, domain, Setting.ENFORCEMENT), settings.enforces_validation)
        found = await self.topic_settings(topic, domain)
        _compare(Setting.STRATEGY, settings.strategy, found.strategy)
        _compare(Setting.ENFORCEMENT, settings.enforces_validation, found.enforces_validation)

    async def topics(self, key: PulsarNamespaceKey) -> tuple[str, ...]:
        """The decoded local names of all topics of both domains, in order, without the broker's own."""
        found: set[str] = set()
        for domain in _DOMAINS:
            for call in ("", "partitioned"):
                answer = await self._read(wire.namespace_path(key, call, domain), max_bytes=_LIST_BYTES)
                found.update(wire.local_names(wire.names_of(answer)))
        return tuple(sorted(found))

    async def _schema(self, topic: Topic, call: str) -> RemoteVersion | None:
        try:
            return wire.version_of(await self._read(wire.schemas_path(topic, call)))
        except SchemaMissingError:
            return None

    async def _version(self) -> str | None:
        try:
            version = await self._read("/admin/v2/brokers/version")
        except BrokerUnavailableError:
            return None
        return version if isinstance(version, str) else None

    async def _read(self, path: str, max_bytes: int = 16 << 20) -> Any:
        return await self._transport.ask(Request(Call.READ, "GET", path, max_bytes=max_bytes))

    async def _set(self, path: str, value: _Value) -> None:
        if value is None:
            return
        method = "PUT" if isinstance(value, Strategy) else "POST"
        body = value.value if isinstance(value, Strategy) else value
        await self._transport.ask(Request(Call.WRITE, method, path, body, has_body=True))


def _compare(name: str, wanted: _Value, found: _Value) -> None:
    expected = None if wanted is Strategy.UNDEFINED else wanted
    if wanted is not None and expected != found:
        raise BrokerInconsistentError(f"the broker took {name} {wanted} and shows {found}")
