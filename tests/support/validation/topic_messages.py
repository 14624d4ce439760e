"""A topic with messages of real producers, and the product's source that reads it. The two share no code."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import _pulsar
import pulsar as python
from pulsar.schema import Schema

from testbed.pulsar import Pulsar
from topicschema.core.schemas import SchemaInfo
from topicschema.validation.request import PulsarSource
from topicschema.validation.sources import Expired, NotDelivered, Plan
from topicschema.validation.sources.pulsar.source import TopicMessages

Row = Mapping[str, Any]


@contextmanager
def open_client(pulsar: Pulsar) -> Iterator[python.Client]:
    """Yield a client that logs only errors."""
    client = python.Client(pulsar.service_url, logger=python.ConsoleLogger(python.LoggerLevel.Error))
    try:
        yield client
    finally:
        client.close()


class Sent(Schema):
    """Bytes that are sent as messages of a schema, but not of pairs: Python's client has no schema properties."""

    def __init__(self, info: SchemaInfo) -> None:
        kind = getattr(_pulsar.SchemaType, info.type.value)
        super().__init__(bytes, kind, {}, "R")
        self._schema_info = _pulsar.SchemaInfo(kind, "R", info.schema.decode())

    def encode(self, obj: bytes) -> bytes:
        return obj


@dataclass(frozen=True, slots=True)
class RetainedTopic:
    """A topic of a new namespace that retains all messages. `sent` counts payloads (None: null) with their keys.

    `receipts` are the positions by payload and key: ledger, entry, and the index in a batch.
    """

    pulsar: Pulsar
    namespace: str
    name: str
    partitions: int
    sent: Counter[tuple[bytes | None, str]] = field(default_factory=Counter)
    receipts: dict[tuple[bytes | None, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def create(cls, pulsar: Pulsar, name: str = "orders", partitions: int = 0) -> "RetainedTopic":
        namespace = pulsar.create_namespace()
        retention = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
        pulsar.call("POST", f"/namespaces/{namespace}/retention", retention)
        topic = cls(pulsar, namespace, name, partitions)
        if partitions:
            pulsar.call("PUT", f"{topic.path}/partitions", partitions)
        else:
            pulsar.call("PUT", topic.path)
        return topic

    @property
    def full_name(self) -> str:
        return f"persistent://{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        return f"/persistent/{self.namespace}/{self.name}"

    @property
    def pulsar_source(self) -> PulsarSource:
        return PulsarSource(self.pulsar.admin_url, self.pulsar.service_url)

    def source(self, **more: Any) -> TopicMessages:
        return TopicMessages(self.pulsar_source, self.full_name, **more)

    def send(self, client: python.Client, payloads: Sequence[bytes | None], key: str = "", **producer: Any) -> None:
        """Send the payloads with a new producer; with batching as one batch or several."""
        delay = {"batching_max_publish_delay_ms": 200} if producer.get("batching_enabled") else {}
        producer_client = client.create_producer(
            self.full_name, block_if_queue_full=True, **{"schema": _BYTES, **delay, **producer}
        )
        for payload in payloads:
            producer_client._producer.send_async(_message(payload, key), partial(_receive, self.receipts[payload, key]))
            self.sent[payload, key] += 1
        producer_client.flush()
        producer_client.close()

    def broker_state(self) -> dict[str, Any]:
        """Return the broker's state of the topic and its namespace, which reading must not change."""
        call = self.pulsar.call
        names = sorted(call("GET", f"/persistent/{self.namespace}"))
        own = [name.removeprefix("persistent://") for name in names]
        return {
            "topics": names,
            "partitioned": call("GET", f"/persistent/{self.namespace}/partitioned"),
            "schemas": {name: call("GET", f"/schemas/{name}/metadata") for name in own},
            "cursors": {name: call("GET", f"/persistent/{name}/internalStats")["cursors"] for name in own},
            "subscriptions": {name: call("GET", f"/persistent/{name}/subscriptions") for name in own},
        }


def _receive(receipts: set[str], _: Any, at: Any) -> None:
    index = [at.batch_index()] if at.batch_index() >= 0 else []
    receipts.add(":".join(map(str, [at.ledger_id(), at.entry_id(), *index])))


def _message(payload: bytes | None, key: str) -> Any:
    builder = _pulsar.MessageBuilder()
    if payload is None:
        builder.set_null_value()
    else:
        builder.content(payload)
    if key:
        builder.partition_key(key)
    return builder.build()


_BYTES = python.schema.BytesSchema()


def rows(source: TopicMessages, plan: Plan | None = None) -> list[Row]:
    """Return all messages that the source reads, split by split. None may have expired."""
    messages: list[Row] = []
    for split in (plan or source.plan()).splits:
        for batch in source.read(split):
            assert not isinstance(batch, Expired), batch
            messages.extend([] if isinstance(batch, NotDelivered) else batch.to_pylist())
    return messages


def places(messages: Sequence[Row]) -> list[tuple[int, ...]]:
    """Return the positions of the messages, in the order of reading."""
    return [(row["partition"], row["ledger"], row["entry"], row["batch_index"]) for row in messages]


def contents(messages: Sequence[Row]) -> Counter[tuple[bytes | None, str]]:
    """Count the messages by payload and key."""
    return Counter((row["payload"], (row["key"] or b"").decode()) for row in messages)
