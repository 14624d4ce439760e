"""Requests of a run to the admin REST API: whether the topic exists, and which entries it has.

All of them are GETs that create no topic, and the permission to consume from the topic suffices. `broker` sends the
requests and maps the errors.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self, TypeVar
from urllib.parse import urlencode

from topicschema.broker import wire
from topicschema.broker.clock import Clock
from topicschema.broker.credentials import ClientCertificate
from topicschema.broker.error_mapping import CallKind
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerUnauthorizedError,
    NamespaceNotFoundError,
    SchemaNotFoundError,
    TenantNotFoundError,
    TopicNotFoundError,
)
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.tls import context_of
from topicschema.broker.transport import BrokerLimits, BrokerRequest, ClientConfig, Transport
from topicschema.core import releases
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import PulsarNamespaceKey, Topic
from topicschema.validation.errors import SourceError
from topicschema.validation.request import PulsarSource
from topicschema.validation.sources.pulsar.connection import BrokerEndpoint
from topicschema.validation.sources.pulsar.errors import refused
from topicschema.validation.sources.pulsar.identity import credential_of
from topicschema.validation.sources.pulsar.ranges import EntryRange, Position, entry_ranges

_T = TypeVar("_T")
_MISSING: Final = (TopicNotFoundError, NamespaceNotFoundError, TenantNotFoundError, SchemaNotFoundError)
READERS: Final = "topicschema-"
"""Prefix of the name of each reader of a run."""
_MAX_BYTES: Final = 64 << 20
_LISTED_BYTES: Final = 1 << 20
_SECONDS: Final = 30.0
_PER_SECOND: Final = 200
"""Maximum requests of a client in a second. It sends one after the other, so that a busy broker gets fewer."""


class Cursor(NamedTuple):
    """Cursor of a reader: the position that it reads next, and its mark-delete position `mark`.

    While `is_reading` is True, the entries of this read are not sent, even if `reads_next` is after them: a read that
    finds too few entries continues in the next ledger. A read that only waits for new messages does not count.
    """

    reads_next: Position
    mark: Position
    is_reading: bool


@dataclass(frozen=True, slots=True)
class TopicStats:
    """Current content of a topic without partitions, or of one partition.

    `ledgers` are all existing ledgers, including empty ones. `cursors` are those of runs' readers, by name.
    `is_compacted` is True if a compacted ledger has messages, which these readers do not read.
    """

    known: tuple[EntryRange, ...]
    ledgers: frozenset[int]
    last: Position
    cursors: Mapping[str, Cursor]
    bytes: int
    is_compacted: bool = False

    @property
    def entries(self) -> int:
        """Number of entries."""
        return sum(each.entries for each in self.known)


class Admin:
    """Client of a broker's admin API. It is a context manager, and its errors are SourceErrors."""

    def __init__(self, pulsar: PulsarSource) -> None:
        self._pulsar = pulsar
        self._runner = asyncio.Runner()
        self._transport: Transport | None = None

    def __enter__(self) -> Self:
        """Prepare the client without a request. Raises SourceError if mounted files are missing or broken."""
        pulsar = self._pulsar
        ca = None if pulsar.ca is None else pulsar.ca.encode()
        issuer = () if pulsar.oauth2 is None else (pulsar.oauth2.issuer_url,)
        hosts = AllowedHosts.of((pulsar.admin_url, *issuer), pulsar.redirect_hosts)
        clock = Clock()
        limits = BrokerLimits(clock, _PER_SECOND)
        try:
            self._transport = Transport(ClientConfig(pulsar.admin_url, hosts, credential_of(pulsar), ca, limits), clock)
        except TopicSchemaError as error:
            raise SourceError(error.message, pulsar.admin_url) from None
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        if self._transport is not None:
            self._runner.run(self._transport.close())
        self._runner.close()

    def endpoint(self) -> BrokerEndpoint:
        """Return the endpoint for readers, with the admin API's credentials.

        Raises SourceError if no token is available.
        """
        pulsar = self._pulsar
        credential, ca = credential_of(pulsar), None if pulsar.ca is None else pulsar.ca.encode()
        is_encrypted = pulsar.service_url.startswith("pulsar+ssl:")
        try:
            tls = context_of(credential, ca, trusts_system=ca is None) if is_encrypted else None
            authorization = self._run(self._open().identity()).get("Authorization", "")
        except TopicSchemaError as error:
            raise SourceError(error.message, pulsar.service_url) from None
        if authorization:
            return BrokerEndpoint(pulsar.service_url, "token", authorization.removeprefix("Bearer ").encode(), tls)
        return BrokerEndpoint(pulsar.service_url, "tls" if isinstance(credential, ClientCertificate) else "", b"", tls)

    def topics(self, key: PulsarNamespaceKey) -> Mapping[str, bool]:
        """Return the local names of all persistent topics except system topics, and whether each is partitioned.

        Raises SourceError if the namespace does not exist.
        """
        listed: dict[str, bool] = {}
        for call in ("", "partitioned"):
            answer = self._get(wire.namespace_path(key, call, "persistent"), str(key))
            if answer is None:
                raise SourceError("the namespace does not exist", f"{key.tenant}/{key.namespace}")
            listed |= dict.fromkeys(wire.local_names(wire.names_of(answer)), bool(call))
        return listed

    def namespaces(self, tenant: str) -> tuple[str, ...]:
        """Return the Pulsar namespaces of a tenant as `tenant/namespace`, by name.

        Raises SourceError if the tenant does not exist.
        """
        answer = self._get(wire.tenant_path(tenant), tenant)
        if answer is None:
            raise SourceError("the tenant does not exist", tenant)
        return tuple(sorted(wire.names_of(answer)))

    def partitions(self, topic: Topic) -> int | None:
        """Return the number of partitions, 0 for a topic without partitions.

        Return None if the topic does not exist.
        """
        # The request disables the broker's automatic creation of topics.
        answer = self._read(topic, "partitions", {"checkAllowAutoCreation": "false"})
        count = answer.get("partitions") if isinstance(answer, dict) else None
        if answer is not None and not isinstance(count, int):
            raise SourceError("the broker's response has no partitions", str(topic))
        return count

    def schema(self, topic: Topic, number: int | None = None) -> RemoteVersion | None:
        """Return the schema version of that number, or the newest. Return None if it does not exist.

        Raises SourceError if it has an unknown type.
        """
        call = "schema" if number is None else f"schema/{number}"
        answer = self._get(wire.schemas_path(topic, call), f"persistent://{topic}")
        try:
            return None if answer is None else wire.version_of(answer)
        except TopicSchemaError as error:
            raise SourceError(error.message, f"persistent://{topic}") from None

    def schemas(self, topic: Topic) -> Mapping[int, SchemaInfo]:
        """Return the schema versions by number, from one request.

        It is empty if that fails, for example because they have more than 1 MiB. Then each needs a request of its own.
        """
        path = wire.schemas_path(topic, "schemas")
        try:
            answer = self._get(path, f"persistent://{topic}", _LISTED_BYTES)
            listed = [] if answer is None else [wire.version_of(each) for each in wire.listed_of(answer)]
        except TopicSchemaError:
            return {}
        return {each.schema_version: each.info for each in listed}

    def release(self) -> str | None:
        """Return the broker's release, or None if its response has none."""
        path = "/admin/v2/brokers/version"
        request = BrokerRequest("retained", CallKind.READ, "GET", path, seconds=_SECONDS, is_text=True)
        answer = self._send(request, self._pulsar.admin_url)
        return None if answer is None else releases.release_of(answer)

    def stats(self, partition: Topic) -> TopicStats | None:
        """Return the content of the partition.

        Return None if it does not exist: partitions are created at first use.
        """
        answer = self._read(partition, "internalStats", {"metadata": "false"})
        return None if answer is None else _stats(answer, partition)

    def created(self, partition: Topic) -> str:
        """Return the creation time of the partition, or "" if the broker reports none."""
        answer = self._read(partition, "internal-info", {})
        value = answer.get("creationDate") if isinstance(answer, dict) else None
        return value if isinstance(value, str) else ""

    def has_transactions(self, partition: Topic) -> bool:
        """Return True if an open transaction has messages in the partition."""
        answer = self._read(partition, "stats", {})
        return isinstance(answer, dict) and bool(answer.get("ongoingTxnCount"))

    def all_stats(self, topic: Topic) -> Mapping[str, TopicStats]:
        """Return the content of the partitions from one request, by name.

        It lacks partitions that do not exist and those that did not answer. Only a request for a single partition
        distinguishes these.
        """
        answer = self._partitions_of(topic, "partitioned-internalStats", {"metadata": "false"})
        return {name: _stats(each, topic) for name, each in answer.items()}

    def creations(self, topic: Topic) -> Mapping[str, str]:
        """Return the creation times of the partitions, by name. Raises SourceError if one of them does not exist."""
        answer = self._partitions_of(topic, "internal-info", {}).items()
        return {
            name: each["creationDate"] for name, each in answer if isinstance(each, dict) and "creationDate" in each
        }

    def at(self, partition: Topic, milliseconds: int) -> Position | None:
        """Return the position of the first message of that publish time, by Pulsar's own search.

        Return None for none.
        """
        answer = self._read(partition, f"messageid/{milliseconds}", {})
        return (
            None if not isinstance(answer, dict) else Position(_number(answer, "ledgerId"), _number(answer, "entryId"))
        )

    def _partitions_of(self, topic: Topic, call: str, query: Mapping[str, str]) -> Mapping[str, Any]:
        answer = self._read(topic, call, query)
        value = answer.get("partitions") if isinstance(answer, dict) else None
        return value if isinstance(value, dict) else {}

    def _read(self, topic: Topic, call: str, query: Mapping[str, str]) -> Any:
        path = wire.topic_path(topic, "persistent", call) + (f"?{urlencode(query)}" if query else "")
        return self._get(path, f"persistent://{topic}")

    def _get(self, path: str, place: str, max_bytes: int = _MAX_BYTES) -> Any:
        request = BrokerRequest("retained", CallKind.READ, "GET", path, seconds=_SECONDS, max_bytes=max_bytes)
        return self._send(request, place)

    def _send(self, request: BrokerRequest, place: str) -> Any:
        try:
            return self._run(self._open().send(request))
        except _MISSING:
            return None
        except (BrokerForbiddenError, BrokerUnauthorizedError) as error:
            is_known = credential_of(self._pulsar) is not None
            raise refused(error.message, place, shows_credentials=is_known) from None
        except TopicSchemaError as error:
            raise SourceError(error.message, place) from None

    def _open(self) -> Transport:
        if self._transport is None:
            raise SourceError("the admin API is not opened", self._pulsar.admin_url)
        return self._transport

    def _run(self, call: Coroutine[Any, Any, _T]) -> _T:
        # `Runner.run` would also replace the handler of SIGINT, which takes as long as the rest of a request.
        return self._runner.get_loop().run_until_complete(call)


def _stats(answer: Any, partition: Topic) -> TopicStats:
    try:
        last = Position.parse(answer["lastConfirmedEntry"])
        ledgers = [(int(each["ledgerId"]), int(each["entries"])) for each in answer["ledgers"]]
        cursors = {name: _cursor(each) for name, each in answer.get("cursors", {}).items() if name.startswith(READERS)}
        ledger_ids = frozenset(number for number, _ in ledgers)
        is_compacted = int((answer.get("compactedLedger") or {}).get("entries", 0)) > 0
        size = int(answer.get("totalSize", 0))
        return TopicStats(entry_ranges(ledgers, last), ledger_ids, last, cursors, size, is_compacted)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SourceError("the broker's response has no ledgers", f"persistent://{partition}") from None


def _cursor(answer: Mapping[str, Any]) -> Cursor:
    is_reading = int(answer["pendingReadOps"]) > 0
    return Cursor(Position.parse(answer["readPosition"]), Position.parse(answer["markDeletePosition"]), is_reading)


def _number(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int):
        raise SourceError(f"the broker's response has no {name}")
    return value
