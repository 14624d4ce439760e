"""Broker: what the product asks of one Pulsar cluster, as values of `core.remote`. `transport` knows how to ask."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

from topicschema.broker import wire
from topicschema.broker.clock import Clock
from topicschema.broker.error_mapping import Call
from topicschema.broker.errors import (
    AnswerTooLargeError,
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerSilentError,
    NamespaceNotFoundError,
    SchemaNotFoundError,
    TopicNotFoundError,
)
from topicschema.broker.transport import Access, Body, Request, Transport
from topicschema.core.remote import BrokerSettings, NamespaceSettings, RemoteVersion, Setting, TopicSettings
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
    """One Pulsar cluster as one policy reaches it. Errors are those of `broker.errors`, by `foreign`'s table.

    While a broker does not answer, calls fail at once: docs/broker.md has how often it is asked.
    To make one asks nobody, and raises only SecretInvalidError and BrokerNotAllowedError, for what it is made from.
    """

    def __init__(self, access: Access, clock: Clock = _CLOCK) -> None:
        self._transport = Transport(access, clock)

    async def close(self) -> None:
        """End all connections; a call that is under way, or comes later, fails."""
        await self._transport.close()

    async def latest(self, topic: Topic) -> RemoteVersion | None:
        """The newest version; None only where the broker itself says that there is none, or that it is deleted."""
        return await self._schema("latest", topic, "schema")

    async def version(self, topic: Topic, number: int) -> RemoteVersion | None:
        """The version of that number; None where there is none, or a tombstone at it or after it."""
        return await self._schema("version", topic, f"schema/{number}")

    async def versions(self, topic: Topic, since: int = 0) -> AsyncIterator[RemoteVersion]:
        """The versions after the newest tombstone from the number `since` on, in no order, one at a time in memory.

        Where they are too large for one answer, or it takes too long, they are asked for one by one, newest first.
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
        """All numbers that the topic's storage holds, tombstones too, in order; () where there is no storage."""
        return wire.index_of(await self._read("index", wire.schemas_path(topic, "metadata")))

    async def number_of(self, topic: Topic, info: SchemaInfo) -> int | None:
        """The number under which these very bytes are registered after the newest tombstone; None if they are not."""
        path = wire.schemas_path(topic, "version")
        request = Request("number_of", Call.READ, "POST", path, Body(wire.written(info)))
        number = wire.number_of(await self._transport.ask(request))
        return None if number < 0 else number

    async def stored(self, topic: Topic, shown: RemoteVersion, likely: SchemaInfo | None = None) -> RemoteVersion:
        """The version with the schema that the broker compares, where a GET does not tell it: it is asked which it has.

        A schema that is `likely` counts where a GET would show it so, and is asked for first.
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
        """The number that the broker gives the schema: an old one where it has its equal already.

        To be believed only when it was read back. RefusedByBrokerError where the broker will never take it;
        InvalidSchemaError or RefusedByBrokerError, and nothing sent, for a type that must never reach one.
        """
        path = wire.schemas_path(topic, "schema")
        body = Body(wire.written(info))
        request = Request("upload", Call.UPLOAD, "POST", path, body, seconds=_UPLOAD_SECONDS)
        return wire.number_of(await self._ask_within(topic.tenant, request))

    async def soft_delete(self, topic: Topic) -> int:
        """The number of the tombstone that now hides all versions. Each call adds another: look first."""
        path = wire.schemas_path(topic, "schema?force=false")
        return wire.number_of(await self._transport.ask(Request("soft_delete", Call.DELETE, "DELETE", path)))

    async def namespace_settings(self, key: PulsarNamespaceKey) -> NamespaceSettings:
        """What is set on the Pulsar namespace, in one request; NamespaceNotFoundError or TenantNotFoundError."""
        request = Request("namespace_settings", Call.READ, "GET", wire.namespace_path(key))
        return wire.namespace_settings_of(await self._ask_within(key.tenant, request))

    async def set_namespace(self, key: PulsarNamespaceKey, settings: NamespaceSettings) -> None:
        """Write the settings that are not None and read them back; BrokerInconsistentError where they differ."""
        for setting, wanted in (
            (Setting.STRATEGY, settings.strategy),
            (Setting.AUTO_UPDATE, settings.allows_auto_update),
            (Setting.ENFORCEMENT, settings.enforces_validation),
        ):
            if wanted is not None:
                await self._ask_within(key.tenant, _setting("set_namespace", wire.namespace_path(key, setting), wanted))
        found = await self.namespace_settings(key)
        _compare(Setting.STRATEGY, settings.strategy, found.strategy)
        _compare(Setting.AUTO_UPDATE, settings.allows_auto_update, found.allows_auto_update)
        _compare(Setting.ENFORCEMENT, settings.enforces_validation, found.enforces_validation)

    async def broker_settings(self) -> BrokerSettings | None:
        """What the broker does where nothing is set; None where we may not read it (it takes a superuser)."""
        try:
            configuration = await self._read("broker_settings", "/admin/v2/brokers/configuration/runtime")
        except BrokerForbiddenError:
            return None
        path = "/admin/v2/brokers/version"
        version = await self._transport.ask(Request("broker_settings", Call.READ, "GET", path, is_text=True))
        return wire.broker_settings_of(configuration, version)

    async def topic_settings(self, topic: Topic, domain: str) -> TopicSettings:
        """What is set on the topic itself, in two requests; TopicNotFoundError when it does not exist.

        `domain` is `persistent` or `non-persistent`.
        """
        strategy = await self.topic_strategy(topic, domain)
        enforced = await self._read("topic_settings", wire.topic_path(topic, domain, Setting.ENFORCEMENT))
        return TopicSettings(strategy, wire.flag_of(enforced))

    async def topic_strategy(self, topic: Topic, domain: str) -> Strategy | None:
        """The strategy that is set on the topic itself, in one request; TopicNotFoundError when it does not exist."""
        return wire.strategy_of(await self._read("topic_settings", wire.topic_path(topic, domain, Setting.STRATEGY)))

    async def exists(self, topic: Topic, domain: str) -> bool:
        """Whether the topic exists, partitioned or not, in one request that makes none; BrokerForbiddenError."""
        try:
            await self._read("exists", wire.topic_path(topic, domain, "partitions?checkAllowAutoCreation=false"))
        except TopicNotFoundError:
            return False
        return True

    async def set_topic(self, topic: Topic, domain: str, settings: TopicSettings) -> None:
        """Write the settings that are not None and read them back; BrokerInconsistentError where they differ."""
        for setting, wanted in (
            (Setting.STRATEGY, settings.strategy),
            (Setting.ENFORCEMENT, settings.enforces_validation),
        ):
            if wanted is not None:
                await self._transport.ask(_setting("set_topic", wire.topic_path(topic, domain, setting), wanted))
        found = await self.topic_settings(topic, domain)
        _compare(Setting.STRATEGY, settings.strategy, found.strategy)
        _compare(Setting.ENFORCEMENT, settings.enforces_validation, found.enforces_validation)

    async def topics(self, key: PulsarNamespaceKey) -> tuple[str, ...]:
        """The local names of all topics of both domains, in order, without partitions and the broker's own topics."""
        found: set[str] = set()
        for domain in _DOMAINS:
            for call in ("", "partitioned"):
                answer = await self._list("topics", wire.namespace_path(key, call, domain))
                found.update(wire.local_names(wire.names_of(answer)))
        return tuple(sorted(found))

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

    async def _ask_within(self, tenant: str, request: Request) -> Any:
        """The answer; without authorization, brokers say of a missing tenant that its namespace is missing."""
        try:
            return await self._transport.ask(request)
        except NamespaceNotFoundError:
            with contextlib.suppress(BrokerForbiddenError):
                await self._read(request.name, wire.tenant_path(tenant))
            raise

    async def _read(self, name: str, path: str) -> Any:
        return await self._transport.ask(Request(name, Call.READ, "GET", path))

    async def _list(self, name: str, path: str, max_bytes: int = _LIST_BYTES) -> Any:
        request = Request(name, Call.LISTING, "GET", path, seconds=_LIST_SECONDS, max_bytes=max_bytes)
        return await self._transport.ask(request)


def _setting(name: str, path: str, wanted: Strategy | bool) -> Request:  # noqa: FBT001 - it is what is to be set
    # A strategy is one of our enum's names, never any text: the broker answers yes to an unknown one, and unsets.
    if isinstance(wanted, Strategy):
        return Request(name, Call.WRITE, "PUT", path, Body(wanted.value))
    return Request(name, Call.WRITE, "POST", path, Body(wanted))


def _compare(setting: Setting, wanted: _Value, found: _Value) -> None:
    expected = None if wanted is Strategy.UNDEFINED else wanted
    if wanted is not None and expected != found:
        raise BrokerInconsistentError(f"the broker said yes to {setting} {wanted} and shows {found}")
