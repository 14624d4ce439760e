"""Speed of Spark on retained messages: the data sources and audits, by two threads of Spark in a warm session.

The anchor of topics is Pulsar's Python client in two processes, whose messages are dropped at once. Each process has
one partition. That of files is spark-avro's from_avro with a count.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import orders, peak_memory, pipeline, processes
from benchmarks.retained import CACHES, drop
from benchmarks.rows import Goal, Row, beside, bounded, row
from support.pulsar.rest_topic import RestTopic
from support.validation.topic_filling import Message, fill
from support.validation.topic_messages import RetainedTopic
from testbed import brokers, pulsar
from testbed.fault_proxy import FaultProxy
from testbed.instances import Instance
from testbed.progress import Progress
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Setup
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType

_MESSAGES, _FILLED, _TOPICS = 8_000_000, 300, 1_000
_ROUNDS = 3
_WORKER = "pyspark.daemon"
_SETUP = Setup(CACHES, java=("-XX:TieredStopAtLevel=4",))
"""A broker with Java's own compiler, as users have it. With the tests' quick one it takes most of the time."""


def measure() -> Iterator[Row]:
    """Yield the rows."""
    with tempfile.TemporaryDirectory() as folder:
        yield from pipeline.verdicts(Path(folder))
    brokers.prepare(Progress())
    instance = Instance.owned()
    try:
        broker = pulsar.start(instance, "retained", _SETUP)
        with (
            tempfile.TemporaryDirectory() as folder,
            pipeline.serving([sys.executable, "-m", "benchmarks.run_spark"]) as ours,
        ):
            yield from _measured(_Shop.at(broker), _Session(ours, Path(folder)))
    finally:
        instance.end()


@dataclass(slots=True)
class _Session:
    """A session of Spark, which runs queries and audits. The folders of audits are in `folder`."""

    process: Any
    folder: Path
    audits: int = 0

    def count(self, **options: str) -> float:
        """Return the seconds of counting all messages by version."""
        return self._round(_MESSAGES, [options, None])

    def audit(self, expected: int, **options: str) -> float:
        """Return the seconds of an audit in a new folder."""
        self.audits += 1
        return self.audit_again(expected, **options)

    def audit_again(self, expected: int, **options: str) -> float:
        """Return the seconds of an audit in the folder of the last one."""
        return self._round(expected, [options, str(self.folder / str(self.audits))])

    def _round(self, expected: int, line: list[Any]) -> float:
        done = pipeline.run_round(self.process, json.dumps(line))
        if done.messages != expected:
            raise RuntimeError(f"{done.messages} messages were read of {expected}")
        return done.seconds

    def worker_peak(self) -> float:
        """Return the highest peak memory of a Python worker so far, in MiB."""
        family = processes.family(self.process.pid)
        workers = [each for each in family if _WORKER in Path(f"/proc/{each}/cmdline").read_text(encoding="latin-1")]
        return max(map(peak_memory.mark, workers)) / 1024


@dataclass(frozen=True, slots=True)
class _Shop:
    """A broker, and orders to fill its topics with. The last of the schemas is none of the writers'."""

    broker: Pulsar
    messages: Sequence[Message]
    schemas: Sequence[str]

    @classmethod
    def at(cls, broker: Pulsar) -> "_Shop":
        made = orders.made(2_000)
        infos = [SchemaInfo(SchemaType.AVRO, json.dumps(each).encode()) for each in (*made.writers, made.reader)]
        writers = [formats.parse(each) for each in infos]
        messages = [(number, payload.encode(writers[number], value).payload or b"") for number, value in made.messages]
        return cls(broker, messages, [each.schema.decode() for each in infos])

    @property
    def urls(self) -> dict[str, str]:
        return {"adminUrl": self.broker.admin_url, "serviceUrl": self.broker.service_url}

    def topics(self, count: int, partitions: int = 0) -> list[RetainedTopic]:
        """Return topics of a new namespace. Only the first one exists."""
        first = RetainedTopic.create(self.broker, "t0", partitions)
        self.broker.call("PUT", f"/namespaces/{first.namespace}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")
        return [first, *(RetainedTopic(self.broker, first.namespace, f"t{number}", 0) for number in range(1, count))]

    def fill(self, topic: RetainedTopic, count: int) -> None:
        """Register the schemas, and send that number of orders."""
        self.broker.request("PUT", topic.path)  # the first one exists
        rest = RestTopic(self.broker, topic.namespace, topic.name)
        for text in self.schemas:
            rest.upload_version(text)
        names = [f"{topic.full_name}-partition-{number}" for number in range(topic.partitions)] or [topic.full_name]
        for name in names:
            fill(self.broker.service_url, name, self.messages, count // len(names))

    def fill_all(self, topics: Sequence[RetainedTopic], count: int) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda topic: self.fill(topic, count), topics))


def _measured(shop: _Shop, session: _Session) -> Iterator[Row]:
    (topic,) = shop.topics(1, partitions=2)
    shop.fill(topic, _MESSAGES)
    yield from _beside_clients(topic, session, {**shop.urls, "topics": topic.full_name})
    yield bounded(
        f"memory at most of a Spark worker, audit of {_MESSAGES:,} messages", session.worker_peak(), "MiB", 1024
    )
    yield from _of_many(shop, session)


def _beside_clients(topic: RetainedTopic, session: _Session, options: dict[str, str]) -> Iterator[Row]:
    """Yield the rows of one topic, whose readers take turns."""
    rounds = []
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for _ in range(_ROUNDS + 1):
            times = (_seconds_of_clients(pool, topic), session.count(**options), session.audit(_MESSAGES, **options))
            rounds.append((*times, session.audit_again(_MESSAGES, **options)))
    client, count, audit, again = (statistics.median(each) for each in zip(*rounds[1:], strict=True))
    anchor = ("pulsar-client's readers, nothing decoded", _MESSAGES / client)
    yield beside(
        f"pulsar-messages, {_MESSAGES:,} messages counted by version",
        _MESSAGES / count,
        "messages/s",
        anchor,
        Goal(1, at_most=False),
    )
    name = f"audit of a topic with {_MESSAGES:,} messages, beyond an audit with nothing new"
    yield beside(name, _MESSAGES / (audit - again), "messages/s", anchor, Goal(1.2, at_most=False))
    yield row(f"audit of {_MESSAGES:,} messages of one topic", audit, "s")
    yield row("audit of one topic with nothing new", again, "s")


def _seconds_of_clients(pool: ProcessPoolExecutor, topic: RetainedTopic) -> float:
    started = time.monotonic()
    names = [f"{topic.full_name}-partition-{number}" for number in range(2)]
    list(pool.map(drop, [topic.pulsar.service_url] * 2, names, [_MESSAGES // 2] * 2))
    return time.monotonic() - started


def _of_many(shop: _Shop, session: _Session) -> Iterator[Row]:
    """Yield the rows of many topics."""
    (single,), filled, rest = shop.topics(1), shop.topics(_FILLED), shop.topics(_TOPICS - _FILLED)
    each, few = _MESSAGES // _FILLED, 10
    total = each * _FILLED
    shop.fill(single, total)
    shop.fill_all(filled, each)
    rounds = [
        (
            session.audit(total, **shop.urls, namespace=filled[0].namespace),
            session.audit(total, **shop.urls, topics=single.full_name),
        )
        for _ in range(_ROUNDS)
    ]
    many, one = (statistics.median(times) for times in zip(*rounds, strict=True))
    anchor = ("one topic with all of them", one)
    yield beside(f"audit of {_FILLED} topics with {each:,} messages each", many, "s", anchor, Goal(1.2, at_most=True))
    yield row("a further topic in an audit", (many - one) * 1000 / (_FILLED - 1), "ms")
    shop.fill_all(rest, few)
    total += few * len(rest)
    with FaultProxy.before(shop.broker) as proxy:
        options = {**shop.urls, "adminUrl": proxy.url, "namespace": f"{filled[0].namespace},{rest[0].namespace}"}
        session.audit(total, **options)
        proxy.clear()
        seconds = session.audit_again(total, **options)
        requests = sum(call.path.partition("?")[0].endswith("/internalStats") for call in proxy.calls)
    yield bounded(f"audit of {_TOPICS:,} topics with nothing new", seconds, "s", 60)
    yield bounded("requests for the content of a topic, with nothing new", requests / _TOPICS, "", 1)
