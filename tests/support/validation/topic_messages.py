"""A topic that real producers filled, and what the product's source reads of it. Nothing is shared between the two."""

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
from topicschema.validation.sources.pulsar.source import PulsarMessages

Row = Mapping[str, Any]


@contextmanager
def client_of(pulsar: Pulsar) -> Iterator[python.Client]:
    """A client that says nothing of what it does."""
    client = python.Client(pulsar.service_url, logger=python.ConsoleLogger(python.LoggerLevel.Error))
    try:
        yield client
    finally:
        client.close()


class Sent(Schema):
    """Bytes that are sent as messages of a schema. Python's client knows no properties: none of pairs."""

    def __init__(self, info: SchemaInfo) -> None:
        kind = getattr(_pulsar.SchemaType, info.type.value)
        super().__init__(bytes, kind, {}, "R")
        self._schema_info = _pulsar.SchemaInfo(kind, "R", info.schema.decode())

    def encode(self, obj: bytes) -> bytes:
        return obj


@dataclass(frozen=True, slots=True)
class RetainedTopic:
    """A topic of a fresh namespace that keeps all messages. `sent` counts payloads (None: null) with their keys.

    `receipts` are where the broker put them, by the same: ledger, entry, and the index in the batch if there is one.
    """

    pulsar: Pulsar
    namespace: str
    name: str
    partitions: int
    sent: Counter[tuple[bytes | None, str]] = field(default_factory=Counter)
    receipts: dict[tuple[bytes | None, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def made(cls, pulsar: Pulsar, name: str = "orders", partitions: int = 0) -> "RetainedTopic":
        """A new one, empty."""
        namespace = pulsar.fresh_namespace()
        keep = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
        pulsar.tell("POST", f"/namespaces/{namespace}/retention", keep)
        topic = cls(pulsar, namespace, name, partitions)
        if partitions:
            pulsar.tell("PUT", f"{topic.path}/partitions", partitions)
        else:
            pulsar.tell("PUT", topic.path)
        return topic

    @property
    def full_name(self) -> str:
        return f"persistent://{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        return f"/persistent/{self.namespace}/{self.name}"

    @property
    def asked(self) -> PulsarSource:
        return PulsarSource(self.pulsar.admin_url, self.pulsar.service_url)

    def source(self, **more: Any) -> PulsarMessages:
        """The product's source of it."""
        return PulsarMessages(self.asked, self.full_name, **more)

    def send(self, client: python.Client, payloads: Sequence[bytes | None], key: str = "", **producer: Any) -> None:
        """Send them with a producer of their own; with batching they are one batch or several."""
        delay = {"batching_max_publish_delay_ms": 200} if producer.get("batching_enabled") else {}
        made = client.create_producer(
            self.full_name, block_if_queue_full=True, **{"schema": _BYTES, **delay, **producer}
        )
        for payload in payloads:
            made._producer.send_async(_message(payload, key), partial(_receive, self.receipts[payload, key]))
            self.sent[payload, key] += 1
        made.flush()
        made.close()

    def around(self) -> dict[str, Any]:
        """What there is at the broker of the topic and around it, which reading must not change."""
        ask = self.pulsar.tell
        names = sorted(ask("GET", f"/persistent/{self.namespace}"))
        own = [name.removeprefix("persistent://") for name in names]
        return {
            "topics": names,
            "partitioned": ask("GET", f"/persistent/{self.namespace}/partitioned"),
            "schemas": {name: ask("GET", f"/schemas/{name}/metadata") for name in own},
            "cursors": {name: ask("GET", f"/persistent/{name}/internalStats")["cursors"] for name in own},
            "subscriptions": {name: ask("GET", f"/persistent/{name}/subscriptions") for name in own},
        }


def _receive(receipts: set[str], _: Any, at: Any) -> None:
    """Keeps where the broker put a message."""
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


def rows(source: PulsarMessages, plan: Plan | None = None) -> list[Row]:
    """All that the source reads, split by split; nothing of it may be gone."""
    found: list[Row] = []
    for split in (plan or source.plan()).splits:
        for batch in source.read(split):
            assert not isinstance(batch, Expired), batch
            found.extend([] if isinstance(batch, NotDelivered) else batch.to_pylist())
    return found


def places(found: Sequence[Row]) -> list[tuple[int, ...]]:
    """Where the messages are, in the order in which they were read."""
    return [(row["partition"], row["ledger"], row["entry"], row["batch_index"]) for row in found]


def contents(found: Sequence[Row]) -> Counter[tuple[bytes | None, str]]:
    """What the messages hold, and how often."""
    return Counter((row["payload"], (row["key"] or b"").decode()) for row in found)
