"""The calls to one Pulsar cluster, with values of `core.remote`. `transport` sends the requests."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

from topicschema.broker import wire
from topicschema.broker.clock import Clock
from topicschema.broker.error_mapping import CallKind
from topicschema.broker.errors import (
    AnswerTooLargeError,
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerSilentError,
    NamespaceNotFoundError,
    SchemaNotFoundError,
    TopicNotFoundError,
)
from topicschema.broker.transport import BrokerRequest, ClientConfig, RequestBody, Transport
from topicschema.core import releases
from topicschema.core.remote import (
    BrokerSettings,
    ListedTopic,
    NamespaceSettings,
    Producer,
    RemoteVersion,
    Setting,
    TopicSettings,
)
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

_LIST_BYTES: Final = 32 << 20
_VERSIONS_BYTES: Final = 8 << 20
_LIST_SECONDS: Final = 30.0
_UPLOAD_SECONDS: Final = 30.0
_DOMAINS: Final = ("persistent", "non-persistent")
_CLOCK: Final = Clock()

_Value = Strategy | bool | None


class Broker:
    """One Pulsar cluster with the access of one policy. Calls raise `broker.errors`, by the table of `error_mapping`.

    While a broker does not answer, calls fail at once; docs/broker.md has the schedule of the probes. The constructor
    sends no request. It raises SecretInvalidError or BrokerNotAllowedError for an invalid `access`.
    """

    def __init__(self, access: ClientConfig, clock: Clock = _CLOCK) -> None:
        self._transport = Transport(access, clock)

    async def close(self) -> None:
        """Close all connections. Pending and later calls fail."""
        await self._transport.close()

    async def latest(self, topic: Topic) -> RemoteVersion | None:
        """Return the newest version, or None only if the broker itself reports that it does not exist or is deleted."""
        return await self._schema("latest", topic, "schema")

    async def version(self, topic: Topic, number: int) -> RemoteVersion | None:
        """Return the version of that number, or None if it does not exist, is a tombstone or precedes one."""
        return await self._schema("version", topic, f"schema/{number}")

    async def versions(self, topic: Topic, since: int = 0) -> AsyncIterator[RemoteVersion]:
        """Yield the versions after the newest tombstone from the number `since` on, in no order.

        If one answer with all of them is too large or takes too long, fetch each by itself, newest first. Then only one
        is in memory at a time.
        """
        try:
            listed = await self._list("versions", wire.schemas_path(topic, "schemas"), _VERSIONS_BYTES)
        except (AnswerTooLargeError, BrokerSilentError):
            async for version in self._one_by_one(topic, since):
                yield version
            return
        for each in wire.listed_of(listed):
            version = wire.version_of(each)
            if version.schema_version >= since:
                yield version

    async def index(self, topic: Topic) -> tuple[int, ...]:
        """Return all numbers in the topic's storage, with tombstones, in ascending order; () without storage."""
        return wire.index_of(await self._read("index", wire.schemas_path(topic, "metadata")))

    async def number_of(self, topic: Topic, info: SchemaInfo) -> int | None:
        """Return the number of exactly this schema after the newest tombstone, or None if it is not registered."""
        path = wire.schemas_path(topic, "version")
        request = BrokerRequest("number_of", CallKind.READ, "POST", path, RequestBody(wire.written(info)))
        number = wire.number_of(await self._transport.send(request))
        return None if number < 0 else number

    async def stored(self, topic: Topic, shown: RemoteVersion, likely: SchemaInfo | None = None) -> RemoteVersion:
        """Return the version `shown` by a GET with the schema that the broker compares.

        Where a GET is ambiguous, request the number of each possible spelling. `likely` is the first one, if a GET
        would show it like `shown`.
        """
        first = likely if likely is not None and wire.same_content(likely, shown.info) else shown.info
        spellings = wire.spellings(first)
        if len(spellings) == 1:
            return replace(shown, info=first)
        others = (info for info in wire.spellings(shown.info) if info not in spellings)
        for info in (*spellings, *others):
            if await self.number_of(topic, info) == shown.schema_version:
                return replace(shown, info=info)
        return shown

    async def upload(self, topic: Topic, info: SchemaInfo) -> int:
        """Upload the schema and return its number: that of an equal version, if the broker has one.

        The caller must read the version back. Raise RefusedByBrokerError if the broker will never accept the schema.
        Raise InvalidSchemaError or RefusedByBrokerError, and send nothing, for a schema that a broker must never get.
        """
        path = wire.schemas_path(topic, "schema")
        body = RequestBody(wire.written(info))
        request = BrokerRequest("upload", CallKind.UPLOAD, "POST", path, body, seconds=_UPLOAD_SECONDS)
        return wire.number_of(await self._send_within(topic.tenant, request))

    async def soft_delete(self, topic: Topic) -> int:
        """Add a tombstone, which hides all versions, and return its number. Each call adds another: check first."""
        path = wire.schemas_path(topic, "schema?force=false")
        return wire.number_of(await self._transport.send(BrokerRequest("soft_delete", CallKind.DELETE, "DELETE", path)))

    async def namespace_settings(self, key: PulsarNamespaceKey) -> NamespaceSettings:
        """Return the settings of the Pulsar namespace, by one request.

        Raise NamespaceNotFoundError or TenantNotFoundError.
        """
        request = BrokerRequest("namespace_settings", CallKind.READ, "GET", wire.namespace_path(key))
        return wire.namespace_settings_of(await self._send_within(key.tenant, request))

    async def set_namespace(self, key: PulsarNamespaceKey, settings: NamespaceSettings) -> None:
        """Write the settings that are not None and read them back. Raise BrokerInconsistentError if they differ."""
        allows_auto_update = settings.allows_auto_update
        if settings.allows_replicators is not None and allows_auto_update is None:  # one call writes both
            allows_auto_update = (await self.namespace_settings(key)).allows_auto_update
        for call, value in (
            (Setting.STRATEGY, settings.strategy),
            (wire.auto_update_call(allows_replicators=settings.allows_replicators), allows_auto_update),
            (Setting.ENFORCEMENT, settings.enforces_validation),
        ):
            if value is not None:
                await self._send_within(key.tenant, _setting("set_namespace", wire.namespace_path(key, call), value))
        current = await self.namespace_settings(key)
        _compare(Setting.STRATEGY, settings.strategy, current.strategy)
        _compare(Setting.AUTO_UPDATE, settings.allows_auto_update, current.allows_auto_update)
        _compare(Setting.REPLICATORS, settings.allows_replicators, current.allows_replicators)
        _compare(Setting.ENFORCEMENT, settings.enforces_validation, current.enforces_validation)

    async def broker_settings(self) -> BrokerSettings | None:
        """Return the broker's defaults, or None if the operator may not read them (only a superuser may)."""
        try:
            configuration = await self._read("broker_settings", "/admin/v2/brokers/configuration/runtime")
        except BrokerForbiddenError:
            return None
        return wire.broker_settings_of(configuration)

    async def release(self) -> str | None:
        """Return the broker's release, or None if its answer has none. Any role may read it."""
        path = "/admin/v2/brokers/version"
        answer = await self._transport.send(BrokerRequest("release", CallKind.READ, "GET", path, is_text=True))
        return None if answer is None else releases.release_of(answer)

    async def manages(self, tenant: str) -> bool:
        """Return True if the operator's role is an admin of the tenant, by listing its namespaces."""
        try:
            await self._list("namespaces", wire.tenant_path(tenant))
        except BrokerForbiddenError:
            return False
        return True

    async def topic_settings(self, topic: Topic, domain: str) -> TopicSettings:
        """Return the settings of the topic itself, by two requests. Raise TopicNotFoundError if it does not exist.

        `domain` is `persistent` or `non-persistent`.
        """
        strategy = await self.topic_strategy(topic, domain)
        enforced = await self._read("topic_settings", wire.topic_path(topic, domain, Setting.ENFORCEMENT))
        return TopicSettings(strategy, wire.flag_of(enforced))

    async def topic_strategy(self, topic: Topic, domain: str) -> Strategy | None:
        """Return the strategy of the topic itself, by one request. Raise TopicNotFoundError if it does not exist."""
        return wire.strategy_of(await self._read("topic_settings", wire.topic_path(topic, domain, Setting.STRATEGY)))

    async def exists(self, topic: Topic, domain: str) -> bool:
        """Return True if the topic exists, partitioned or not. The one request does not create it.

        Raise BrokerForbiddenError.
        """
        try:
            await self._read("exists", wire.topic_path(topic, domain, "partitions?checkAllowAutoCreation=false"))
        except TopicNotFoundError:
            return False
        return True

    async def set_topic(self, topic: Topic, domain: str, settings: TopicSettings) -> None:
        """Write the settings that are not None and read them back. Raise BrokerInconsistentError if they differ."""
        for setting, value in (
            (Setting.STRATEGY, settings.strategy),
            (Setting.ENFORCEMENT, settings.enforces_validation),
        ):
            if value is not None:
                await self._transport.send(_setting("set_topic", wire.topic_path(topic, domain, setting), value))
        current = await self.topic_settings(topic, domain)
        _compare(Setting.STRATEGY, settings.strategy, current.strategy)
        _compare(Setting.ENFORCEMENT, settings.enforces_validation, current.enforces_validation)

    async def topics(self, key: PulsarNamespaceKey) -> tuple[ListedTopic, ...]:
        """Return all topics of both domains by name, without partitions and system topics.

        A name of both domains is one topic, because its schemas are the same.
        """
        listed: dict[str, ListedTopic] = {}
        for domain in reversed(_DOMAINS):
            for call in ("", "partitioned"):
                answer = await self._list("topics", wire.namespace_path(key, call, domain))
                for name in wire.local_names(wire.names_of(answer)):
                    listed[name] = ListedTopic(name, domain, is_partitioned=bool(call))
        return tuple(listed[name] for name in sorted(listed))

    async def producers(self, key: PulsarNamespaceKey, listed: ListedTopic) -> tuple[Producer, ...]:
        """Return the producers that are connected now, by one request. Raise TopicNotFoundError."""
        topic = Topic(key.tenant, key.namespace, listed.local_name)
        # The sums of a partitioned topic have no names of producers.
        stats = "partitioned-stats?perPartition=true&" if listed.is_partitioned else "stats?"
        call = f"{stats}excludeConsumers=true"
        return wire.producers_of(await self._read("producers", wire.topic_path(topic, listed.domain, call)))

    async def _schema(self, name: str, topic: Topic, call: str) -> RemoteVersion | None:
        try:
            return wire.version_of(await self._read(name, wire.schemas_path(topic, call)))
        except SchemaNotFoundError:
            return None

    async def _one_by_one(self, topic: Topic, since: int) -> AsyncIterator[RemoteVersion]:
        for number in reversed(await self.index(topic)):
            version = None if number < since else await self.version(topic, number)
            if version is None:
                return
            yield version

    async def _send_within(self, tenant: str, request: BrokerRequest) -> Any:
        """Return the answer. Raise TenantNotFoundError or NamespaceNotFoundError.

        Without authorization, brokers report a missing tenant as a missing namespace, so the tenant is read, too.
        """
        try:
            return await self._transport.send(request)
        except NamespaceNotFoundError:
            with contextlib.suppress(BrokerForbiddenError):
                await self._read(request.name, wire.tenant_path(tenant))
            raise

    async def _read(self, name: str, path: str) -> Any:
        return await self._transport.send(BrokerRequest(name, CallKind.READ, "GET", path))

    async def _list(self, name: str, path: str, max_bytes: int = _LIST_BYTES) -> Any:
        request = BrokerRequest(name, CallKind.LISTING, "GET", path, seconds=_LIST_SECONDS, max_bytes=max_bytes)
        return await self._transport.send(request)


def _setting(name: str, path: str, value: Strategy | bool) -> BrokerRequest:  # noqa: FBT001 - the value of the setting
    # A strategy is a name of our enum, never free text: the broker accepts an unknown one and unsets the setting.
    if isinstance(value, Strategy):
        return BrokerRequest(name, CallKind.WRITE, "PUT", path, RequestBody(value.value))
    return BrokerRequest(name, CallKind.WRITE, "POST", path, RequestBody(value))


def _compare(setting: Setting, desired: _Value, current: _Value) -> None:
    expected = None if desired is Strategy.UNDEFINED else desired
    if desired is not None and expected != current:
        raise BrokerInconsistentError(f"the broker accepted {setting} {desired} and returns {current}")
